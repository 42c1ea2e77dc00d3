package graph6_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/sources/graph6"
)

// Two graphs as geng writes them, and a line that is cut short.
func ExampleSource() {
	ctx := context.Background()
	reader, err := graph6.Source{Path: "three.g6", Reader: strings.NewReader("Bw\nBW\nB\n"), Rows: 1}.Open(ctx, memory.DefaultAllocator)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()
	for {
		rec, err := reader.Next(ctx)
		if err == io.EOF {
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("neighbors", rec.Column(3))
		rec.Release()
	}
	// Output:
	// neighbors [[1 2 0 2 0 1]]
	// neighbors [[2 2 0 1]]
	// sources: three.g6:3: 0 bytes of edges, want 1 for 3 nodes
}
