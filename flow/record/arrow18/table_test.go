package arrow18_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sanflow/sanflow/flow/record/arrow18"
	"github.com/sanflow/sanflow/sources"
)

// TestTables: a reader of today's Arrow is a table of edges.
func TestTables(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	s := arrow.NewSchema([]arrow.Field{
		{Name: "source", Type: arrow.BinaryTypes.String}, {Name: "target", Type: arrow.BinaryTypes.String},
		{Name: "amount", Type: arrow.PrimitiveTypes.Float64}, {Name: "kind", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	var recs []arrow.RecordBatch
	for i := range 3 {
		b.Field(0).(*array.StringBuilder).AppendValues([]string{"ada", "bob"}, nil)
		b.Field(1).(*array.StringBuilder).AppendValues([]string{"bob", fmt.Sprint("c", i)}, nil)
		b.Field(2).(*array.Float64Builder).AppendValues([]float64{2, float64(i) / 2}, nil)
		b.Field(3).(*array.StringBuilder).AppendValues([]string{"x", "y"}, []bool{true, i > 0})
		rec := b.NewRecordBatch()
		defer rec.Release()
		recs = append(recs, rec)
	}
	in, err := array.NewRecordReader(s, recs)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	rows, err := arrow18.Rows(in)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	set, err := sources.Tables{Edges: sources.EdgeTable{Table: sources.RecordTable{Reader: rows}}}.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	it := set.Items[0] // amount, count of rows and sum of amount of each edge: that of ada and bob has three rows
	if got := fmt.Sprint(it.NodeID.Name(4), it.Graph.Offsets, it.Graph.Neighbors, it.Graph.EdgeAttr, it.Graph.EdgeCat); got != "c2[0 1 5 6 7 8] [1 0 2 3 4 1 1 1] [2 3 6 2 3 6 0 1 0 0.5 1 0.5 1 1 1 0 1 0 0.5 1 0.5 1 1 1] [0 0 2 1 1 2 1 1]" {
		t.Error(got)
	}
	if _, err := arrow18.Rows(nil); err == nil || errors.Unwrap(err) != nil {
		t.Error(err)
	}
}
