package choose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// The rows of a target are those that have it, in their order, also where whole records have none.
func TestHaving(t *testing.T) {
	defer leak.VerifyNone(t)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	g, nan := sources.Families{Graphs: 6}, float32(math.NaN())
	var graphs sinks.Collect
	defer graphs.Release()
	if err := flow.From(g).To(&graphs).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	gs, err := record.GraphsOf(graphs.Records()[0])
	if err != nil {
		t.Fatal(err)
	}
	values := [][]float32{{1, nan}, {nan, 0.5}, {0, 2}, {nan, nan}, {1, nan}, {nan, -3}}
	l := gs.Layout
	l.Classes, l.Targets = nil, []record.TargetChannel{{Name: "c", Classes: []string{"a", "b"}}, {Name: "x"}}
	var recs []arrow.Record
	b := record.NewBuilder(mem, l)
	defer b.Release()
	for i, v := range values {
		var of graph.Graph
		gs.At(i, &of)
		if err := b.Append(&of, record.Row{ID: int64(i), Targets: v}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 || i == 4 {
			recs = append(recs, b.Record())
		}
	}
	recs = append(recs, b.Record())
	defer releaseAll(recs)
	for target, want := range [][]int64{{0, 2, 4}, {1, 2, 5}} {
		var ids []int64
		for _, of := range recs {
			rec, err := having(mem, of, target)
			if err != nil {
				t.Fatal(err)
			}
			if rec == nil {
				continue
			}
			defer rec.Release()
			id, err := record.Values[int64](rec, record.GraphID)
			if err != nil {
				t.Fatal(err)
			}
			for row := range id {
				x := values[id[row]][target]
				class, _ := record.Values[int32](rec, record.Target)
				value, _ := record.Values[float32](rec, record.Target)
				if target == 0 && class[row] != int32(x) || target == 1 && value[row] != x {
					t.Errorf("target %d of row %d is %v or %v, want %v", target, id[row], class, value, x)
				}
			}
			ids = append(ids, id...)
			if rec.Schema().HasField(record.Targets) {
				t.Error("the column of all targets is there")
			}
		}
		if !slices.Equal(ids, want) {
			t.Errorf("target %d: rows %v, want %v", target, ids, want)
		}
	}
	if _, err := having(mem, recs[0], 2); err == nil || !strings.Contains(err.Error(), "2 targets") {
		t.Errorf("a third target: %v", err)
	}
}

func releaseAll(recs []arrow.Record) {
	for _, rec := range recs {
		rec.Release()
	}
}
