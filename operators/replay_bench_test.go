package operators_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
)

// BenchmarkReplay plays 64 000 rows of 30 fields of 10 nodes, 77 MB in 1000
// records, in three epochs.
//
//	go test ./operators -run '^$' -bench BenchmarkReplay -benchtime 3x
func BenchmarkReplay(b *testing.B) {
	const records, rows, width = 1000, 64, 300
	var recs []arrow.Record
	schema := arrow.NewSchema([]arrow.Field{
		{Name: record.GraphID, Type: arrow.PrimitiveTypes.Int64},
		record.TensorField[int32](record.NodesCat, []int{30, 10, 1}, []record.Channel{{Name: "x", Card: rows * width}}),
	}, nil)
	for r := range records {
		ids, cells := record.NewColumn[int64](memory.DefaultAllocator), record.NewFixed[int32](memory.DefaultAllocator, width)
		for i := range cells.Grow(rows) {
			if i%width == 0 {
				ids.Append(int64(r*rows + i/width))
			}
		}
		cols := []arrow.Array{ids.Finish(), cells.Finish()}
		recs = append(recs, array.NewRecord(schema, cols, rows))
	}
	play := func(r operators.Replay) time.Duration {
		start := time.Now()
		if err := flow.From(sources.Records{Records: recs}).Via(r).Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	held := time.Hour
	for b.Loop() {
		held = min(held, play(operators.Replay{Epochs: 3}))
	}
	b.ReportMetric(3*records*rows/held.Seconds(), "rows/s")
}
