package labeling_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// On a ring, where nothing else tells nodes apart, sets of words order them as a
// discrete attribute does whose values are in the order of the sets.
func TestSparseAttributesOrderNodes(t *testing.T) {
	var edges []graph.Edge
	for v := range int32(8) {
		edges = append(edges, graph.Edge{U: v, V: (v + 1) % 8})
	}
	ring, err := graph.New(8, false, edges)
	if err != nil {
		t.Fatal(err)
	}
	sets := [][]int32{{2, 9}, {2}, nil, {3}, {2, 9}, {2, 10}, nil, {3}}
	plain, sparse := *ring, *ring
	plain.NodeCats, plain.NodeCat = 1, []int32{2, 1, 0, 4, 2, 3, 0, 4}
	sparse.SparseCard, sparse.SparseOffsets = 11, []int32{0}
	for _, set := range sets {
		sparse.NodeSparse = append(sparse.NodeSparse, set...)
		sparse.SparseOffsets = append(sparse.SparseOffsets, int32(len(sparse.NodeSparse)))
	}
	if err := sparse.Check(); err != nil {
		t.Fatal(err)
	}
	want, got := make([]float64, 8), make([]float64, 8)
	for _, by := range []labeling.Labeling{labeling.WeisfeilerLehman{Attributes: true}, labeling.Canonical} {
		for g, labels := range map[*graph.Graph][]float64{&plain: want, &sparse: got} {
			if err := labeling.Compute(by, labeling.Input{Graph: g}, labels); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) || slices.Max(got) == slices.Min(got) {
			t.Errorf("%v: %v, want %v", by, got, want)
		}
	}
	a, _, err := labeling.Rank(context.Background(), &plain, make([]float64, 8))
	if err != nil {
		t.Fatal(err)
	}
	b, canonical, err := labeling.Rank(context.Background(), &sparse, make([]float64, 8))
	if err != nil || !canonical || !slices.Equal(a, b) {
		t.Errorf("%v, %t: ranked as %v, want %v", err, canonical, b, a)
	}
}
