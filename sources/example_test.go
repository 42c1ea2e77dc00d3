package sources_test

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// show prints the graphs of a source.
func show(s flow.Source) error {
	ctx := context.Background()
	reader, err := s.Open(ctx, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		rec, err := reader.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		graphs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		targets, err := record.Values[int32](rec, record.Target)
		if err != nil {
			return err
		}
		var g graph.Graph
		for i := range graphs.Len() {
			graphs.At(i, &g)
			fmt.Println("graph", graphs.ID(i), "of class", graphs.Layout.Classes[targets[i]], "has", g.N(), "nodes,", g.M(), "edges; labels", g.NodeCat)
		}
		rec.Release()
	}
}

func ExampleGraphs() {
	triangle, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 0}})
	if err != nil {
		fmt.Println(err)
	}
	path, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	if err != nil {
		fmt.Println(err)
	}
	s := sources.Graphs{
		Items:  []sources.Item{{Graph: triangle, Class: 1}, {Graph: path}},
		Layout: record.Layout{Classes: []string{"open", "closed"}},
	}
	if err := show(s); err != nil {
		fmt.Println(err)
	}
	// Output:
	// graph 0 of class closed has 3 nodes, 3 edges; labels []
	// graph 1 of class open has 3 nodes, 2 edges; labels []
}

func ExampleFamilies() {
	s := sources.Families{Graphs: 6, Seed: 1}
	fmt.Println(s)
	if err := show(s); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Families(6 graphs, seed 1)
	// graph 0 of class torus has 30 nodes, 60 edges; labels []
	// graph 1 of class random regular has 40 nodes, 80 edges; labels []
	// graph 2 of class Erdős–Rényi has 20 nodes, 40 edges; labels []
	// graph 3 of class preferential attachment has 45 nodes, 93 edges; labels []
	// graph 4 of class small world has 60 nodes, 114 edges; labels []
	// graph 5 of class ring of cliques has 50 nodes, 99 edges; labels []
}
