package sources_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A graph is converted once, and opened in place from then on.
func ExampleMapped() {
	dir, err := os.MkdirTemp("", "mapped")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "path.arrow")
	edges := strings.NewReader("0 1\n1 2\n2 3\n3 4\n4 5\n")
	if err := flow.From(sources.EdgeList{Path: "path.edges", Reader: edges}).To(sinks.IPC{Path: file}).Run(ctx); err != nil {
		log.Fatal(err)
	}

	var out sinks.Collect
	defer out.Release()
	err = flow.From(sources.Mapped{Path: file}).
		Via(operators.Select{}).
		Via(operators.Chunk{Size: 4}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{}).
		To(&out).
		Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, rec := range out.Records() {
		members, _, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(members)
	}
	// Output:
	// [0 1 2 1 0 2 2 1 3 3 2 4]
	// [4 3 5 5 4 3 -1 -1 -1 -1 -1 -1]
}
