package operators_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Two hubs with leaves, joined by a path, and an edge apart:
//
//	1 2 3        6 7
//	 ╲│╱         │╱
//	  0 ── 4 ── 5      8 ── 9
//
// By degree 0 comes first and 5 second; a walk goes by 4 to 5, and to what
// belongs to 5, before it comes back to the leaves of 0.
func TestSelectDepthFirst(t *testing.T) {
	g, err := graph.New(10, false, []graph.Edge{
		{U: 0, V: 1}, {U: 0, V: 2}, {U: 0, V: 3}, {U: 0, V: 4}, {U: 4, V: 5}, {U: 5, V: 6}, {U: 5, V: 7}, {U: 8, V: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    operators.Select
		want []int32
	}{
		{operators.Select{W: 3}, []int32{0, 5, 4}},
		{operators.Select{W: 12, DepthFirst: true}, []int32{0, 4, 5, 6, 7, 1, 2, 3, 8, 9, -1, -1}},
		{operators.Select{W: 4, DepthFirst: true, Stride: 3}, []int32{0, 6, 2, 9}},
		{operators.Select{W: 4, DepthFirst: true, Stride: 3, Strict: true}, []int32{0, 6, -1, -1}},
	} {
		c.s.By = labeling.Degree
		var out sinks.Collect
		src := sources.Graphs{Items: []sources.Item{{Graph: g}}}
		if err := flow.From(src).Via(c.s).To(&out).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		roots, err := record.ListsOf[int32](out.Records()[0], record.Roots)
		if err != nil {
			t.Fatal(err)
		}
		if got := roots.Row(0); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.s, got, c.want)
		}
		out.Release()
	}
}
