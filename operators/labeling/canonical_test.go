package labeling_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Renumbered graphs have the same matrix in the order of their labels, which are
// n … 1; in a neighbourhood nearer nodes come first.
func TestCanonical(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	for i := range 60 {
		n := 1 + rng.IntN(30)
		g := build(t, n, i%2 == 1, randomEdges(rng, n, rng.IntN(3*n)))
		h := g.Renumber(permutation(rng, n))
		place := func(g *graph.Graph) []int32 {
			order := make([]int32, n)
			for v, x := range label(t, labeling.Canonical, g) {
				order[n-int(x)] = int32(v)
			}
			return order
		}
		a, b := place(g), place(h)
		for x := range n {
			for y := range n {
				if (g.Entry(a[x], a[y]) >= 0) != (h.Entry(b[x], b[y]) >= 0) {
					t.Fatalf("graph %d: matrices differ at %d, %d", i, x, y)
				}
			}
		}
	}
}

func TestCanonicalOfNeighbourhoods(t *testing.T) {
	// A path from its end: the middle has higher degree, but is farther away.
	g := build(t, 4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
	labels := make([]float64, 4)
	in := labeling.Input{Graph: g, Dist: []uint8{0, 1, 2, 3}}
	if err := labeling.Compute(labeling.Canonical, in, labels); err != nil {
		t.Fatal(err)
	}
	for v, x := range labels {
		if x != float64(4-v) {
			t.Errorf("node %d has label %v", v, x)
		}
	}
}

func TestCanonicalErrors(t *testing.T) {
	g := build(t, labeling.MaxCanonical+1, false, nil)
	if err := labeling.Compute(labeling.Canonical, labeling.Input{Graph: g}, make([]float64, g.N())); err == nil || !strings.Contains(err.Error(), "at most 1024") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := labeling.Compute(labeling.Canonical, labeling.Input{Graph: build(t, 3, false, nil), Context: ctx}, make([]float64, 3)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
