package record

import (
	"math"
	"testing"

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
	if g := (&graph.Graph{Neighbors: make([]int32, 1)}); !b.Fits(g) {
		t.Error("the last value does not fit")
	}
	if g := (&graph.Graph{Neighbors: make([]int32, 2)}); b.Fits(g) {
		t.Error("one more fits")
	}
}
