package record

import (
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
)

// TestLimits stays below Arrow's 32-bit offsets without allocating up to them.
func TestLimits(t *testing.T) {
	if listEnd(math.MaxInt32) != math.MaxInt32 {
		t.Error("the last offset is not one")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an offset beyond 32 bits does not panic")
			}
		}()
		listEnd(math.MaxInt32 + 1)
	}()
	b := NewBuilder(nil, Layout{})
	b.neighbors.v.n = math.MaxInt32 - 1
	if g := (&graph.Graph{Neighbors: make([]int32, 1)}); !b.Fits(g, Row{}) {
		t.Error("the last value does not fit")
	}
	g := &graph.Graph{Neighbors: make([]int32, 2)}
	if b.Fits(g, Row{}) {
		t.Error("one more fits")
	}
	want := "record: graph 7: a column of lists would have more than 2147483647 values, of 1 graphs"
	if err := b.Append(g, Row{ID: 7}); err == nil || err.Error() != want {
		t.Errorf("Append: %v, want %s", err, want)
	}
	if _, err := b.Lend(g, Row{ID: 7}); err == nil || err.Error() != want {
		t.Errorf("Lend: %v, want %s", err, want)
	}
}

// Rows that leave Arrow's 32-bit offsets together are an error before one of them is
// copied: 33 times a list of 64 MiB, and a list of lists of them.
func TestTakeBeyondOffsets(t *testing.T) {
	var refs []Ref
	for range 33 {
		refs = append(refs, Ref{})
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	lists, nested := NewLists[uint8](mem), NewNested[uint8](mem)
	lists.Grow(1 << 26)
	nested.inner.Grow(1 << 26)
	nested.n++
	nested.EndRow()
	for _, col := range []arrow.Array{lists.Finish(), nested.Finish()} {
		rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "x", Type: col.DataType()}}, nil), []arrow.Array{col}, 1)
		before := mem.CurrentAlloc()
		_, err := Take(mem, []arrow.Record{rec}, refs)
		want := `record: take: column "x": 2214592512 values in a column of lists, want at most 2147483647: use records of fewer rows`
		if err == nil || err.Error() != want {
			t.Errorf("%s: the error is %v, want %s", col.DataType(), err, want)
		}
		if mem.CurrentAlloc() != before {
			t.Errorf("%s: %d bytes are left", col.DataType(), mem.CurrentAlloc()-before)
		}
		rec.Release()
		col.Release()
	}
}
