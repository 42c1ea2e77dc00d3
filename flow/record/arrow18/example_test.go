package arrow18_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record/arrow18"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
)

// The fields of a path of six nodes, as records of arrow-go v18.
func ExampleRecords() {
	p := flow.From(sources.EdgeList{Path: "path", Reader: strings.NewReader("0 1\n1 2\n2 3\n3 4\n4 5\n")}).
		Via(operators.Select{W: 3}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{})
	for rec, err := range arrow18.Records(context.Background(), p) {
		if err != nil {
			log.Fatal(err)
		}
		at := rec.Schema().FieldIndices("members")[0]
		fmt.Println(rec.Column(at))
	}
	// Output:
	// [[2 1 3 3 2 4 1 0 2]]
}
