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
}

// On undirected graphs, which take another iteration, against the definition.
func TestPageRankOfUndirectedGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for i := range 40 {
		n := 1 + rng.IntN(60)
		g := build(t, n, false, randomEdges(rng, n, rng.IntN(2*n)))
		l := labeling.PageRankCentrality{Damping: []float64{0, 0.01, 0.5, 0.99}[i%4]}
		d := l.Damping
		if d == 0 {
			d = 0.85
		}
		x, sum := label(t, l, g), 0.0
		for _, r := range x {
			sum += r
		}
		near(t, "sum", []float64{sum}, []float64{1}, 1e-12)
		want, stuck := make([]float64, n), 0.0
		for u := range int32(n) {
			for _, v := range g.Adj(u) {
				want[v] += d * x[u] / float64(g.Degree(u))
			}
			if g.Degree(u) == 0 {
				stuck += x[u]
			}
		}
		for v := range want {
			want[v] += (1 - d + d*stuck) / float64(n)
		}
		near(t, l.String(), x, want, 2e-9)
	}
}

func TestPageRankErrors(t *testing.T) {
	g := build(t, 3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	for _, d := range []float64{1, -0.1, 2, math.NaN(), math.Inf(1)} {
		if err := (labeling.PageRankCentrality{Damping: d}).Label(labeling.Input{Graph: g}, make([]float64, 3)); err == nil {
			t.Errorf("damping %v passes", d)
		}
	}
	// A walk that goes to and fro and hardly ever jumps.
	slow := build(t, 3, true, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 0}, {U: 2, V: 0}})
	l := labeling.PageRankCentrality{Damping: 1 - 1e-12}
	if err := l.Label(labeling.Input{Graph: slow}, make([]float64, 3)); !errors.Is(err, labeling.ErrNotConverged) {
		t.Errorf("%v, want %v", err, labeling.ErrNotConverged)
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
