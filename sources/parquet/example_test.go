package parquet_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// Fields are written, and read again.
func ExampleSource() {
	dir, err := os.MkdirTemp("", "parquet")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "fields.parquet")
	edges := strings.NewReader("0 1\n1 2\n2 3\n3 4\n4 5\n")
	err = flow.From(sources.EdgeList{Path: "path.edges", Reader: edges}).
		Via(operators.Select{W: 2}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{}).
		To(sink.Sink{Path: file}).
		Run(ctx)
	if err != nil {
		log.Fatal(err)
	}

	r, err := parquet.Source{Path: file, Columns: []string{"graph_id", "members"}}.Open(ctx, memory.DefaultAllocator)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	rec, err := r.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer rec.Release()
	members, width, err := record.FixedValues[int32](rec, record.Members)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.NumRows(), width, members)
	// Output: 1 6 [2 1 3 3 2 4]
}

// A file that another program wrote from the fields of fields.parquet has lists
// without a shape; Like gives them back.
func ExampleSource_like() {
	ctx := context.Background()
	original := flow.From(sources.Families{Graphs: 6}).Via(operators.Select{W: 3}).Via(operators.Assemble{K: 3}).Via(operators.Normalize{})
	file, err := os.CreateTemp("", "fields-*.parquet")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(file.Name())
	if err := original.To(sink.Sink{W: file}).Run(ctx); err != nil {
		log.Fatal(err)
	}
	r, err := parquet.Source{Path: file.Name()}.Open(ctx, memory.DefaultAllocator)
	if err != nil {
		log.Fatal(err)
	}
	like := r.Schema()
	if err := r.Close(); err != nil {
		log.Fatal(err)
	}

	again, err := parquet.Source{Path: "testdata/duckdb.parquet", Like: like}.Open(ctx, memory.DefaultAllocator)
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	f, _ := again.Schema().FieldsByName(record.Members)
	fmt.Println(f[0].Type, f[0].Metadata)
	// Output: fixed_size_list<item: int32, nullable>[9] ["shape": "[3,3]"]
}
