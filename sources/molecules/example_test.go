package molecules_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
)

// printGraphs prints the sizes and the classes of the graphs of a source.
func printGraphs(src flow.Source) {
	var out collect.Sink
	defer out.Release()
	if err := flow.From(src).To(&out).Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, rec := range out.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			fmt.Println(err)
			return
		}
		for row := range gs.Len() {
			var g graph.Graph
			gs.At(row, &g)
			fmt.Println(g.N(), "nodes,", len(g.Neighbors)/2, "edges,", gs.Layout.Classes[gs.Row(row).Class])
		}
	}
}

// Molecules in a column of a table: benzoic acid and aniline.
func ExampleSource() {
	file := "smiles,kind\nOC(=O)c1ccccc1,acid\nNc1ccccc1,base\n"
	printGraphs(molecules.Source{
		Table:   sources.CSV{Path: "molecules.csv", FS: fstest.MapFS{"molecules.csv": {Data: []byte(file)}}},
		Targets: sources.Targets("kind"),
	})
	// Output:
	// 9 nodes, 9 edges, acid
	// 7 nodes, 7 edges, base
}
