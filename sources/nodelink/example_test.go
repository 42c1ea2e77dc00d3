package nodelink_test

import (
	"context"
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sources/nodelink"
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

// One graph a line, as json.dumps(networkx.node_link_data(g)) writes it.
func ExampleSource() {
	line := `{"graph": {"kind": "path"}, "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
		"links": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]}`
	file := strings.ReplaceAll(line, "\n", "") + "\n"
	printGraphs(nodelink.Source{
		Path: "graphs.jsonl", FS: fstest.MapFS{"graphs.jsonl": {Data: []byte(file)}},
		Class: "kind",
	})
	// Output: 3 nodes, 2 edges, path
}
