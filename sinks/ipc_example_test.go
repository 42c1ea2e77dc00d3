package sinks_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Fields go out as an Arrow stream, and come back as they were.
func ExampleIPC() {
	var stream bytes.Buffer
	err := flow.From(sources.Families{Graphs: 3}).
		Via(operators.Select{W: 2}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{}).
		To(sinks.IPC{W: &stream, Stream: true}).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var out sinks.Collect
	defer out.Release()
	if err := flow.From(sources.IPC{Reader: &stream}).To(&out).Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	rec := out.Records()[0]
	members, _ := rec.Schema().FieldsByName("members")
	fmt.Println(rec.NumRows(), "rows,", members[0].Type, members[0].Metadata)
	// Output: 3 rows, fixed_size_list<item: int32, nullable>[6] ["shape": "[2,3]"]
}
