package labeling_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/labeling"
)

func cycle(first, n int32) []graph.Edge {
	var edges []graph.Edge
	for v := range n {
		edges = append(edges, graph.Edge{U: first + v, V: first + (v+1)%n})
	}
	return edges
}

// sameAfter reports whether two orders of the nodes give the same adjacency
// matrix, so that the orders differ by an automorphism at most.
func sameAfter(g, h *graph.Graph, a, b []int32) bool {
	for i := range a {
		if g.NodeCats > 0 && g.NodeCat[a[i]] != h.NodeCat[b[i]] {
			return false
		}
		for j := range a {
			x, y := g.Entry(a[i], a[j]), h.Entry(b[i], b[j])
			if (x >= 0) != (y >= 0) || x >= 0 && g.EdgeCats > 0 && g.EdgeCat[x] != h.EdgeCat[y] {
				return false
			}
		}
	}
	return true
}

// With all labels equal, structure alone decides: the graph in rank order is the
// same for every numbering.
func TestRankIgnoresNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	graphs := map[string]*graph.Graph{
		"C6 and two C3":  build(t, 12, false, append(append(cycle(0, 6), cycle(6, 3)...), cycle(9, 3)...)),
		"C12, C5, C7":    build(t, 24, false, append(append(cycle(0, 12), cycle(12, 5)...), cycle(17, 7)...)),
		"directed C6 C3": build(t, 12, true, append(append(cycle(0, 6), cycle(6, 3)...), cycle(9, 3)...)),
	}
	for i := range 40 {
		n := int32(4 + rng.IntN(16))
		graphs[fmt.Sprint("sparse ", i)] = build(t, int(n), i%2 == 1, randomEdges(rng, int(n), int(n)))
		// Two random cycles over each other: often regular.
		p := permutation(rng, int(n))
		edges := cycle(0, n)
		for j := range n {
			edges = append(edges, graph.Edge{U: p[j], V: p[(j+1)%n]})
		}
		graphs[fmt.Sprint("regular ", i)] = build(t, int(n), false, edges)
		typed := *build(t, int(n), false, edges)
		typed.EdgeCats, typed.EdgeCat = 1, make([]int32, len(typed.Neighbors))
		for u := range n {
			for _, v := range typed.Adj(u) {
				c := int32(rng.IntN(2))
				typed.EdgeCat[typed.Entry(u, v)], typed.EdgeCat[typed.Entry(v, u)] = c, c
			}
		}
		typed.NodeCats, typed.NodeCat = 1, make([]int32, n)
		for v := range typed.NodeCat {
			typed.NodeCat[v] = int32(rng.IntN(2))
		}
		graphs[fmt.Sprint("attributed ", i)] = &typed
	}
	for name, g := range graphs {
		labels := make([]float64, g.N())
		want, canonical, err := labeling.Rank(context.Background(), g, labels)
		if err != nil || !canonical {
			t.Errorf("%s: canonical %v, %v", name, canonical, err)
		}
		for range 5 {
			h := g.Renumber(permutation(rng, g.N()))
			got, _, err := labeling.Rank(context.Background(), h, labels)
			if err != nil || !sameAfter(g, h, want, got) {
				t.Fatalf("%s: renumbered graph in another order", name)
			}
		}
	}
}

// Many copies of parts that refinement does not take apart: each is an image of
// the others, which is to be found without trying all orders of them.
func TestRankOfCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	parts := map[string][]graph.Edge{
		"six-cycles":  cycle(0, 6),
		"C6, C3 + C3": append(append(cycle(0, 6), cycle(6, 3)...), cycle(9, 3)...),
	}
	for v := range int32(5) {
		parts["Petersen"] = append(parts["Petersen"], graph.Edge{U: v, V: (v + 1) % 5}, graph.Edge{U: v, V: v + 5}, graph.Edge{U: v + 5, V: (v+2)%5 + 5})
		for u := range v {
			parts["K5 with pendants"] = append(parts["K5 with pendants"], graph.Edge{U: u, V: v})
		}
		parts["K5 with pendants"] = append(parts["K5 with pendants"], graph.Edge{U: v, V: v + 5})
	}
	for name, part := range parts {
		var edges []graph.Edge
		const copies, size = 30, 12
		for i := range int32(copies) {
			for _, e := range part {
				edges = append(edges, graph.Edge{U: 1 + size*i + e.U, V: 1 + size*i + e.V})
			}
			edges = append(edges, graph.Edge{U: 0, V: 1 + size*i}) // tied to one node
		}
		g := build(t, 1+size*copies, false, edges)
		labels := make([]float64, g.N())
		want, canonical, err := labeling.Rank(context.Background(), g, labels)
		if err != nil || !canonical {
			t.Errorf("%s: canonical %v, %v", name, canonical, err)
		}
		for range race.Share(3) {
			h := g.Renumber(permutation(rng, g.N()))
			got, canonical, err := labeling.Rank(context.Background(), h, labels)
			if err != nil || !canonical || !sameAfter(g, h, want, got) {
				t.Fatalf("%s: renumbered graph in another order, canonical %v, %v", name, canonical, err)
			}
		}
	}
}

// Real graphs have hundreds of such copies.
func TestRankOfRealGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, name := range []string{"power", "astro-ph", "email-Enron"} {
		g := dataGraph(t, name)
		n := g.N()
		perm := permutation(rng, n)
		h := g.Renumber(perm)
		var places [2][]int32
		for i, x := range []*graph.Graph{g, h} {
			order, canonical, err := labeling.Rank(context.Background(), x, label(t, labeling.Degree, x))
			if err != nil || !canonical {
				t.Errorf("%s: canonical %v, %v", name, canonical, err)
			}
			places[i] = make([]int32, n)
			for at, v := range order {
				places[i][v] = int32(at)
			}
		}
		a, b := g.Renumber(places[0]), h.Renumber(places[1])
		if !slices.Equal(a.Neighbors, b.Neighbors) || !slices.Equal(a.Offsets, b.Offsets) {
			t.Errorf("%s: renumbered graph in another order", name)
		}
	}
}

func TestRankFollowsLabels(t *testing.T) {
	g := build(t, 4, false, cycle(0, 4))
	order, _, err := labeling.Rank(context.Background(), g, []float64{1, 5, 3, 5})
	if err != nil || fmt.Sprint(order) != "[1 3 2 0]" {
		t.Errorf("%v %v, want [1 3 2 0]", order, err)
	}
}

// Structure comes before attributes: in a path the ends follow the middle
// whatever their attributes, which only then tell the ends apart.
func TestRankPutsStructureBeforeAttributes(t *testing.T) {
	g := build(t, 4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
	g.NodeCats, g.NodeCat = 1, []int32{1, 3, 2, 0}
	order, canonical, err := labeling.Rank(context.Background(), g, make([]float64, 4))
	if err != nil || !canonical || fmt.Sprint(order) != "[2 1 3 0]" {
		t.Errorf("%v %v %v, want [2 1 3 0]", order, canonical, err)
	}
}

func BenchmarkRank(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{30, 1000, 10000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			g := build(b, n, false, randomEdges(rng, n, 3*n/2))
			labels := make([]float64, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := labeling.Rank(context.Background(), g, labels); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
