package sources_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/sanflow/sanflow/sources"
)

func ExampleNodes() {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	set, err := sources.Nodes{FS: fstest.MapFS{
		"cites/edges.txt":    file("0 1\n1 2\n"),
		"cites/labels.txt":   file("theory\nsystems\n-1\n"),
		"cites/features.txt": file("0:1 4:1\n\n2:1\n"),
		"cites/split.txt":    file("train\ntest\nnone\n"),
	}}.Read(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Graph.N(), "nodes,", set.Graph.M(), "edges, classes", set.Classes)
	fmt.Println("learn from", set.Subset(sources.Train), "and test on", set.Subset(sources.Test))
	fmt.Println("node 0 has the words", set.Graph.Sparse(0), "of", set.Graph.SparseCard)
	// Output:
	// 3 nodes, 2 edges, classes [systems theory]
	// learn from [0] and test on [1]
	// node 0 has the words [0 4] of 5
}
