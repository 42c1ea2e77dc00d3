package sources_test

import (
	"context"
	"fmt"
	"io"
	"testing/fstest"

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

// Water and hydrogen peroxide, with the element as the label of a node.
func ExampleTU() {
	files := fstest.MapFS{
		"MOL_A.txt":               {Data: []byte("1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n5, 6\n6, 5\n6, 7\n7, 6\n")},
		"MOL_graph_indicator.txt": {Data: []byte("1\n1\n1\n2\n2\n2\n2\n")},
		"MOL_graph_labels.txt":    {Data: []byte("-1\n1\n")},
		"MOL_node_labels.txt":     {Data: []byte("1\n8\n1\n1\n8\n8\n1\n")},
	}
	if err := show(sources.TU{FS: files}); err != nil {
		fmt.Println(err)
	}
	files["MOL_A.txt"] = &fstest.MapFile{Data: []byte("1, 2\n3, 4\n")}
	fmt.Println(show(sources.TU{FS: files}))
	// Output:
	// graph 0 of class -1 has 3 nodes, 2 edges; labels [0 1 0]
	// graph 1 of class 1 has 4 nodes, 3 edges; labels [0 1 1 0]
	// sources: MOL_A.txt:2: edge joins node 3 of graph 1 and node 4 of graph 2
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
