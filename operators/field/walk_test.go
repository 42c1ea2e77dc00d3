package field

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// The walk by sets is the one by lists.
func TestWalkBySets(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	var sets, lists Assembler
	for range 600 {
		n := 1 + rng.IntN(maxWords)
		var edges []graph.Edge
		for range rng.IntN(6 * n) {
			edges = append(edges, graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))})
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		ix := NewIndex(g, Both)
		if ix.rows == nil {
			t.Fatalf("no rows of %d nodes", n)
		}
		for range 8 {
			root, k := int32(rng.IntN(n)), 1+rng.IntN(70)
			hood, dist := sets.Assemble(ix, root, k)
			wantHood, wantDist := lists.lists(ix, root, k)
			if !slices.Equal(hood, wantHood) || !slices.Equal(dist, wantDist) {
				t.Fatalf("k=%d, root %d of %v: %v at %v, want %v at %v", k, root, g.Neighbors, hood, dist, wantHood, wantDist)
			}
		}
	}
}
