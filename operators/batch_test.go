package operators_test

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func TestBatchSizes(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32, 33, 100} {
		for _, rows := range []int{1, 7, 32, 50, 1000} {
			for _, size := range []int{0, 1, 5, 32, 64} {
				b := size
				if b == 0 {
					b = 32
				}
				ids, sizes := play(t, numbered(n, rows), operators.Batch{Size: size})
				want := slices.Repeat([]int{b}, n/b)
				if n%b > 0 {
					want = append(want, n%b)
				}
				if !slices.Equal(sizes, want) || !slices.Equal(ids, upTo(n)) {
					t.Errorf("%d rows in records of %d, Size %d: records of %v rows", n, rows, size, sizes)
				}
			}
		}
	}
}

// TestBatchShares looks where the rows of a batch lie in memory: they are those
// of the record they came in, unless they came in several.
func TestBatchShares(t *testing.T) {
	mem := flowtest.Mem(t)
	var in sinks.Collect
	defer in.Release()
	if err := flow.From(numbered(24, 8)).To(&in).With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	first := func(rec arrow.Record) *int64 {
		v, err := record.Values[int64](rec, record.Pos)
		if err != nil {
			t.Fatal(err)
		}
		return &v[0]
	}
	for _, c := range []struct {
		size   int
		shared []bool
	}{
		{8, []bool{true, true, true}},
		{4, []bool{true, true, true, true, true, true}},
		{6, []bool{true, false, false, true}}, // those in the middle have rows of two records
		{24, []bool{false}},
	} {
		var out sinks.Collect
		if err := flow.From(sources.Records{Records: in.Records()}).Via(operators.Batch{Size: c.size}).To(&out).With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		var shared []bool
		row := 0
		for _, rec := range out.Records() {
			v, err := record.Values[int64](in.Records()[row/8], record.Pos)
			if err != nil {
				t.Fatal(err)
			}
			shared = append(shared, first(rec) == &v[row%8])
			row += int(rec.NumRows())
		}
		if !slices.Equal(shared, c.shared) {
			t.Errorf("Size %d: shared are %v, want %v", c.size, shared, c.shared)
		}
		out.Release()
	}
}
