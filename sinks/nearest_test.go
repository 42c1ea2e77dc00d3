package sinks_test

import (
	"math"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// The nearest rows are those of a plain comparison of all.
func TestNearest(t *testing.T) {
	items, layout := explainedGraphs(40)
	counts := func(items []sources.Item) *sinks.CollectCounts {
		c := new(sinks.CollectCounts)
		p := flow.From(sources.Graphs{Items: items, Layout: layout}).Via(operators.Count{Of: []count.Counter{count.WL{Height: 2}}}).With(flow.Options{Workers: 1})
		if err := p.To(c).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	all := counts(items)
	for i := range items[:8] {
		one := counts(items[i : i+1]).Counts[0]
		near, err := all.Nearest(t.Context(), one, nn.UnitMin, 5)
		if err != nil || len(near) != 5 {
			t.Fatal(near, err)
		}
		if near[0].Similarity < 1-1e-12 {
			t.Errorf("graph %d is not the nearest to itself: %v", i, near)
		}
		least := near[4].Similarity
		found := map[int]bool{}
		for j, n := range near {
			found[n.Row] = true
			if j > 0 && n.Similarity > near[j-1].Similarity {
				t.Errorf("%v does not descend", near)
			}
		}
		xi, xv := one.Row(0)
		for row := range items {
			yi, yv := all.Counts[0].Row(row)
			y, both, a, b := map[uint64]float64{}, 0., 0., 0.
			for j, id := range yi {
				y[id] = yv[j]
				b += yv[j]
			}
			for j, id := range xi {
				both += min(xv[j], y[id])
				a += xv[j]
			}
			if k := both / math.Sqrt(a*b); !found[row] && k > least+1e-12 {
				t.Errorf("graph %d: row %d is as near as %v, and is left out: %v", i, row, k, near)
			}
		}
	}
	one := counts(items[:1]).Counts[0]
	if near, err := all.Nearest(t.Context(), one, nn.Cosine, 1000); err != nil || len(near) != 40 {
		t.Error(len(near), err)
	}
	for _, bad := range []func() error{
		func() error { _, err := all.Nearest(t.Context(), one, nn.UnitMin, 0); return err },
		func() error { _, err := all.Nearest(t.Context(), all.Counts[0], nn.UnitMin, 1); return err },
		func() error { _, err := new(sinks.CollectCounts).Nearest(t.Context(), one, nn.UnitMin, 1); return err },
		func() error { _, err := all.Nearest(t.Context(), one, "near", 1); return err },
	} {
		if bad() == nil {
			t.Error("want an error")
		}
	}
}
