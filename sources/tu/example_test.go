package tu_test

import (
	"context"
	"fmt"
	"io"
	"testing/fstest"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/tu"
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
func ExampleSource() {
	files := fstest.MapFS{
		"MOL_A.txt":               {Data: []byte("1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n5, 6\n6, 5\n6, 7\n7, 6\n")},
		"MOL_graph_indicator.txt": {Data: []byte("1\n1\n1\n2\n2\n2\n2\n")},
		"MOL_graph_labels.txt":    {Data: []byte("-1\n1\n")},
		"MOL_node_labels.txt":     {Data: []byte("1\n8\n1\n1\n8\n8\n1\n")},
	}
	if err := show(tu.Source{FS: files}); err != nil {
		fmt.Println(err)
	}
	files["MOL_A.txt"] = &fstest.MapFile{Data: []byte("1, 2\n3, 4\n")}
	fmt.Println(show(tu.Source{FS: files}))
	// Output:
	// graph 0 of class -1 has 3 nodes, 2 edges; labels [0 1 0]
	// graph 1 of class 1 has 4 nodes, 3 edges; labels [0 1 1 0]
	// sources: MOL_A.txt:2: edge joins node 3 of graph 1 and node 4 of graph 2
}
