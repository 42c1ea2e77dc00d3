package sources_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/sources"
)

// Two graphs as geng writes them, and a line that is cut short.
func ExampleGraph6() {
	ctx := context.Background()
	reader, err := sources.Graph6{Path: "three.g6", Reader: strings.NewReader("Bw\nBW\nB\n"), Rows: 1}.Open(ctx, memory.DefaultAllocator)
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

func ExampleDOT() {
	text := `graph { water -- ice; water -- {steam ice} ; rock }`
	graphs, err := sources.DOT{Reader: strings.NewReader(text)}.Read(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	g := graphs[0]
	for v, name := range g.Names {
		fmt.Println(name, g.Graph.Adj(int32(v)))
	}
	// Output:
	// water [1 2]
	// ice [0]
	// steam [0]
	// rock []
}
