package field_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
)

// What an EdgeFinder walks and searches is what Edges looks up, on graphs with
// hubs and without, directed and not, with dummies anywhere.
func TestEdgeFinder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var f field.EdgeFinder // one for all: what it keeps must not show
	for round := range 200 {
		n := 1 + rng.IntN(120)
		var edges []graph.Edge
		for range rng.IntN(4 * n) {
			u, v := rng.Int32N(int32(n)), rng.Int32N(int32(n))
			if rng.IntN(3) == 0 {
				u = 0 // a hub
			}
			if u != v {
				edges = append(edges, graph.Edge{U: u, V: v})
			}
		}
		g, err := graph.New(n, round%2 == 0, edges)
		if err != nil {
			t.Fatal(err)
		}
		members := make([]int32, 1+rng.IntN(12))
		for i, v := range rng.Perm(n + len(members))[:len(members)] {
			if members[i] = int32(v); v >= n {
				members[i] = -1
			}
		}
		k := len(members)
		got, want := make([]int32, k*k), make([]int32, k*k)
		f.Edges(g, members, got)
		field.Edges(g, members, want)
		if !slices.Equal(got, want) {
			t.Fatalf("round %d, members %v: %v, want %v", round, members, got, want)
		}
	}
}
