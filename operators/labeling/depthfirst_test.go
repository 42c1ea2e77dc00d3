package labeling_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// plainDepthFirst looks through all nodes at every step.
func plainDepthFirst(g *graph.Graph, order []int32) []int32 {
	var walk []int32
	met := map[int32]bool{}
	var visit func(v int32)
	visit = func(v int32) {
		met[v] = true
		walk = append(walk, v)
		for _, u := range order {
			if !met[u] && (g.Entry(v, u) >= 0 || g.Entry(u, v) >= 0) {
				visit(u)
			}
		}
	}
	for _, v := range order {
		if !met[v] {
			visit(v)
		}
	}
	return walk
}

func TestDepthFirstEqualsPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for i := range 200 {
		n := rng.IntN(40)
		g := build(t, n, i%2 == 1, randomEdges(rng, max(n, 1), min(n, 1)*rng.IntN(2*n+1)))
		order := permutation(rng, n)
		if got, want := labeling.DepthFirst(g, order), plainDepthFirst(g, order); !slices.Equal(got, want) {
			t.Fatalf("graph %d: %v, want %v", i, got, want)
		}
	}
}

// Renumbering renumbers the traversal, up to automorphism: degrees and edges
// between nodes at any two places of it stay as they are.
func TestDepthFirstRenumbered(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	for i := range 60 {
		n := 1 + rng.IntN(30)
		g := build(t, n, i%2 == 1, randomEdges(rng, n, rng.IntN(2*n)))
		h := g.Renumber(permutation(rng, n))
		var walks [2][]int32
		for j, g := range []*graph.Graph{g, h} {
			order, canonical, err := labeling.Rank(context.Background(), g, label(t, labeling.Degree, g))
			if err != nil || !canonical {
				t.Fatal(canonical, err)
			}
			walks[j] = labeling.DepthFirst(g, order)
		}
		for a := range walks[0] {
			for b := range walks[0] {
				if (g.Entry(walks[0][a], walks[0][b]) >= 0) != (h.Entry(walks[1][a], walks[1][b]) >= 0) {
					t.Fatalf("graph %d: places %d and %d are joined in one numbering only", i, a, b)
				}
			}
		}
	}
}

// A path of a million nodes is no matter for the call stack.
func TestDepthFirstOfALongPath(t *testing.T) {
	const n = 1_000_000
	edges := make([]graph.Edge, n-1)
	order := make([]int32, n)
	for v := range int32(n - 1) {
		edges[v] = graph.Edge{U: v, V: v + 1}
		order[v+1] = v + 1
	}
	if walk := labeling.DepthFirst(build(t, n, false, edges), order); !slices.Equal(walk, order) {
		t.Error("a path is not walked from end to end")
	}
}

func TestDepthFirstChecksTheOrder(t *testing.T) {
	g := build(t, 3, false, nil)
	for _, order := range [][]int32{nil, {0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}, {0, 1, 2, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is accepted", order)
				}
			}()
			labeling.DepthFirst(g, order)
		}()
	}
}

// From the node of highest degree into the triangle, then to the tail.
func ExampleDepthFirst() {
	g := kite()
	labels := make([]float64, g.N())
	if err := labeling.Compute(labeling.Degree, labeling.Input{Graph: g}, labels); err != nil {
		log.Fatal(err)
	}
	order, _, err := labeling.Rank(context.Background(), g, labels)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(labeling.DepthFirst(g, order))
	// Output:
	// [2 0 1 3]
}
