package sources_test

import (
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
)

// Chunks of graphs have positions of their own, in order, whatever those of the graphs.
func TestChunks(t *testing.T) {
	src := sources.Chunks{
		Source: sources.Families{Graphs: 10, Rows: 4},
		Via:    []flow.Operator{operators.Select{}, operators.Chunk{Size: 7}},
	}
	flowtest.RunSource(t, src)
	r, err := src.Open(t.Context(), flowtest.Mem(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []int64
	for {
		rec, err := r.Next(t.Context())
		if err != nil {
			break
		}
		pos, err := record.Values[int64](rec, record.Pos)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pos...)
		rec.Release()
	}
	for i, p := range all {
		if p != int64(i) {
			t.Fatalf("positions %v", all)
		}
	}
	if len(all) < 30 || slices.Max(all) != int64(len(all)-1) {
		t.Errorf("%d chunks", len(all))
	}
}
