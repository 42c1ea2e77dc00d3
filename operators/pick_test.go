package operators_test

import (
	"context"
	"math/rand/v2"
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

// TestSelectPicks compares with the loop of the paper's Algorithm 1, over the
// order that package labeling gives.
func TestSelectPicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		n := rng.IntN(12)
		var edges []graph.Edge
		for range rng.IntN(20) {
			if n > 0 {
				edges = append(edges, graph.Edge{U: rng.Int32N(int32(n)), V: rng.Int32N(int32(n))})
			}
		}
		g, err := graph.New(n, rng.IntN(2) == 0, edges)
		if err != nil {
			t.Fatal(err)
		}
		s := operators.Select{W: 1 + rng.IntN(8), Stride: rng.IntN(4), Strict: rng.IntN(2) == 0, By: labeling.PageRank}

		labels := make([]float64, n)
		if err := labeling.Compute(s.By, labeling.Input{Graph: g}, labels); err != nil {
			t.Fatal(err)
		}
		queue, _, err := labeling.Rank(context.Background(), g, labels)
		if err != nil {
			t.Fatal(err)
		}
		if s.Strict && len(queue) > s.W {
			queue = queue[:s.W]
		}
		var want []int32
		for len(want) < s.W {
			if len(queue) == 0 {
				want = append(want, -1)
				continue
			}
			want = append(want, queue[0])
			queue = queue[min(max(1, s.Stride), len(queue)):]
		}

		var out sinks.Collect
		if err := flow.From(sources.Graphs{Items: []sources.Item{{Graph: g}}, Layout: record.Layout{Directed: g.Directed}}).Via(s).To(&out).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		roots, err := record.ListsOf[int32](out.Records()[0], record.Roots)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(roots.Row(0), want) {
			t.Errorf("%+v of %d nodes: %v, want %v", s, n, roots.Row(0), want)
		}
		var shape []int
		if err := record.Meta(out.Records()[0].Schema(), record.Roots, record.MetaShape, &shape); err != nil || !slices.Equal(shape, []int{s.W}) {
			t.Errorf("%v, the shape is %v", err, shape)
		}
		out.Release()
	}
}
