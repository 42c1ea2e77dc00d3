package labeling_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

func near(tb testing.TB, name string, got, want []float64, tolerance float64) {
	tb.Helper()
	for v := range want {
		if math.Abs(got[v]-want[v]) > tolerance {
			tb.Fatalf("%s: node %d has %v, want %v", name, v, got[v], want[v])
		}
	}
}

// A triangle 0, 1, 2 with a tail 2–3–4 and node 5 alone: by hand.
func TestByHand(t *testing.T) {
	g := build(t, 6, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 4}})
	g.NodeAttrs, g.NodeAttr = 2, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	g.NodeCats, g.NodeCat = 1, []int32{5, 4, 3, 2, 1, 0}
	third := 1.0 / 3
	for _, c := range []struct {
		by   labeling.Labeling
		want []float64
	}{
		{labeling.NormalizedDegree, []float64{2. / 6, 2. / 6, 3. / 6, 2. / 6, 1. / 6, 0}},
		{labeling.Closeness, []float64{16. / 35, 16. / 35, 16. / 25, 16. / 30, 16. / 45, 0}},
		{labeling.Harmonic, []float64{2.5 + third, 2.5 + third, 3.5, 3, 1 + 0.5 + 2*third, 0}},
		{labeling.Core, []float64{2, 2, 2, 1, 1, 0}},
		{labeling.Clustering, []float64{1, 1, third, 0, 0, 0}},
		{labeling.Attribute{Column: 1}, []float64{1, 3, 5, 7, 9, 11}},
		{labeling.Attribute{Discrete: true}, []float64{5, 4, 3, 2, 1, 0}},
	} {
		near(t, c.by.String(), label(t, c.by, g), c.want, 1e-12)
	}
	err := labeling.Compute(labeling.Attribute{Column: 2}, labeling.Input{Graph: g}, make([]float64, 6))
	if err == nil || err.Error() != "labeling: attribute-2: no such attribute: nodes have 2" {
		t.Errorf("missing attribute: %v", err)
	}
}

func TestPageRankEqualsGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		n := 5 + rng.IntN(100)
		g := build(t, n, true, randomEdges(rng, n, 2*n))
		d := simple.NewDirectedGraph()
		for v := range int64(n) {
			d.AddNode(simple.Node(v))
		}
		for u := range int32(n) {
			for _, v := range g.Adj(u) {
				d.SetEdge(simple.Edge{F: simple.Node(u), T: simple.Node(v)})
			}
		}
		ranks := network.PageRank(d, 0.85, 1e-12)
		want := make([]float64, n)
		for v := range want {
			want[v] = ranks[int64(v)]
		}
		near(t, "pagerank", label(t, labeling.PageRank, g), want, 1e-8)
	}
	err := labeling.PageRankCentrality{Damping: 1}.Label(labeling.Input{Graph: build(t, 1, true, nil)}, make([]float64, 1))
	if err == nil {
		t.Error("damping 1 passes")
	}
}

func TestEigenvector(t *testing.T) {
	// A star of four leaves: the eigenvalue is 2, the leaves have half the hub.
	g := build(t, 5, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 0, V: 3}, {U: 0, V: 4}})
	near(t, "eigenvector", label(t, labeling.Eigenvector, g), []float64{1, 0.5, 0.5, 0.5, 0.5}, 1e-6)
	// Ax = λx with one λ, on a random connected graph.
	rng := rand.New(rand.NewPCG(3, 4))
	edges := append(cycle(0, 60), randomEdges(rng, 60, 120)...)
	g = build(t, 60, false, edges)
	x := label(t, labeling.Eigenvector, g)
	lambda := 0.0
	for v := range int32(60) {
		sum := 0.0
		for _, u := range g.Adj(v) {
			sum += x[u]
		}
		if v == 0 {
			lambda = sum / x[v]
		}
		if math.Abs(sum-lambda*x[v]) > 1e-4 {
			t.Errorf("node %d: %v, want %v", v, sum, lambda*x[v])
		}
	}
}

// Arcs: core and clustering look at both ways, closeness follows.
func TestDirectedCentralities(t *testing.T) {
	g := build(t, 3, true, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 0}, {U: 1, V: 2}, {U: 0, V: 2}})
	near(t, "core", label(t, labeling.Core, g), []float64{2, 2, 2}, 0)
	near(t, "clustering", label(t, labeling.Clustering, g), []float64{1, 1, 1}, 0)
	near(t, "closeness", label(t, labeling.Closeness, g), []float64{1, 1, 0}, 0)
	near(t, "harmonic", label(t, labeling.Harmonic, g), []float64{2, 2, 0}, 0)
}

// Core numbers against the definition: take off nodes below c again and again.
func TestCoreEqualsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		n := 1 + rng.IntN(40)
		g := build(t, n, false, randomEdges(rng, n, 3*n))
		want := make([]float64, n)
		for c := 1; c <= n; c++ {
			in := make([]bool, n)
			for v := range in {
				in[v] = true
			}
			for again := true; again; {
				again = false
				for v := range in {
					d := 0
					for _, u := range g.Adj(int32(v)) {
						if in[u] {
							d++
						}
					}
					if in[v] && d < c {
						in[v], again = false, true
					}
				}
			}
			for v := range in {
				if in[v] {
					want[v] = float64(c)
				}
			}
		}
		near(t, "core", label(t, labeling.Core, g), want, 0)
	}
}

// Where power iteration does not settle the error says so: the two greatest
// eigenvalues of a path of 400 nodes differ by one in ten thousand.
func TestEigenvectorNeedsAGap(t *testing.T) {
	g := build(t, 400, false, cycle(0, 400)[:399])
	err := labeling.Compute(labeling.Eigenvector, labeling.Input{Graph: g}, make([]float64, 400))
	if !errors.Is(err, labeling.ErrNotConverged) {
		t.Errorf("%v, want %v", err, labeling.ErrNotConverged)
	}
}
