package labeling_test

import (
	"testing"
	"slices"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

func TestSmoke(t *testing.T) {
	g, _ := graph.New(4, false, []graph.Edge{{0, 1}, {0, 2}, {1, 2}, {2, 3}})
	for _, l := range []labeling.Labeling{labeling.Degree, labeling.WL, labeling.Betweenness} {
		x := make([]float64, 4)
		if err := labeling.Compute(l, labeling.Input{Graph: g}, x); err != nil {
			t.Fatal(err)
		}
		o, c, err := labeling.Rank(g, x)
		t.Log(l, x, o, c, err)
	}
	// C6 + 2 C3
	e := []graph.Edge{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}, {6, 7}, {7, 8}, {8, 6}, {9, 10}, {10, 11}, {11, 9}}
	h, _ := graph.New(12, false, e)
	x := make([]float64, 12)
	o, c, _ := labeling.Rank(h, x)
	t.Log(o, c)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		perm := make([]int32, 12)
		for i, p := range rng.Perm(12) { perm[i] = int32(p) }
		h2 := h.Renumber(perm)
		o2, _, _ := labeling.Rank(h2, x)
		inv := make([]int32, 12)
		for i, p := range perm { inv[p] = int32(i) }
		var six []bool
		for _, v := range o2 { six = append(six, inv[v] < 6) }
		var want []bool
		for _, v := range o { want = append(want, v < 6) }
		if !slices.Equal(six, want) { t.Error(six, want) }
	}
}
