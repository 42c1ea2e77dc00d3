package labeling_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/labeling"
)

func build(tb testing.TB, n int, directed bool, edges []graph.Edge) *graph.Graph {
	tb.Helper()
	g, err := graph.New(n, directed, edges)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func randomEdges(rng *rand.Rand, n, m int) []graph.Edge {
	edges := make([]graph.Edge, m)
	for i := range edges {
		edges[i] = graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))}
	}
	return edges
}

func permutation(rng *rand.Rand, n int) []int32 {
	perm := make([]int32, n)
	for i, p := range rng.Perm(n) {
		perm[i] = int32(p)
	}
	return perm
}

func label(tb testing.TB, l labeling.Labeling, g *graph.Graph) []float64 {
	tb.Helper()
	labels := make([]float64, g.N())
	if err := labeling.Compute(l, labeling.Input{Graph: g}, labels); err != nil {
		tb.Fatal(err)
	}
	return labels
}

// all returns every labeling, in several settings.
func all(tb testing.TB) []labeling.Labeling {
	list := []labeling.Labeling{
		labeling.WeisfeilerLehman{Rounds: 2},
		labeling.WeisfeilerLehman{Uniform: true},
		labeling.WeisfeilerLehman{Attributes: true},
		labeling.Betweenness,
	}
	for _, name := range labeling.Names() {
		if name == "smooth" {
			continue // of a test
		}
		l, err := labeling.Parse(name)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// Labels do not depend on node numbers, to the last bit.
func TestRenumberingRenumbersLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		n := 1 + rng.IntN(60)
		g := build(t, n, i%2 == 1, randomEdges(rng, n, rng.IntN(3*n)))
		g.NodeCats, g.NodeCat = 1, make([]int32, n)
		for v := range g.NodeCat {
			g.NodeCat[v] = int32(rng.IntN(2))
		}
		perm := permutation(rng, n)
		h := g.Renumber(perm)
		for _, l := range all(t) {
			if l == labeling.Eigenvector && g.Directed {
				continue // need not converge
			}
			if l == labeling.Canonical {
				continue // automorphic nodes have different labels; see TestCanonical
			}
			a, b := label(t, l, g), label(t, l, h)
			for v := range a {
				if math.Float64bits(a[v]) != math.Float64bits(b[perm[v]]) {
					t.Fatalf("%s: graph %d: node %d has label %v, renumbered %v", l, i, v, a[v], b[perm[v]])
				}
			}
		}
	}
}

func TestEmptyGraph(t *testing.T) {
	for _, l := range all(t) {
		label(t, l, build(t, 0, false, nil))
		label(t, l, build(t, 1, true, nil))
		label(t, l, build(t, 3, false, nil))
	}
	order, canonical, err := labeling.Rank(context.Background(), build(t, 0, false, nil), nil)
	if len(order) != 0 || !canonical || err != nil {
		t.Errorf("%v %v %v", order, canonical, err)
	}
}

func TestBetweennessEqualsGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range race.Share(40) {
		n := 2 + rng.IntN(300)
		directed := i%2 == 1
		g := build(t, n, directed, randomEdges(rng, n, rng.IntN(3*n)))
		var want map[int64]float64
		if directed {
			d := simple.NewDirectedGraph()
			for v := range int64(n) {
				d.AddNode(simple.Node(v))
			}
			for u := range int32(n) {
				for _, v := range g.Adj(u) {
					d.SetEdge(simple.Edge{F: simple.Node(u), T: simple.Node(v)})
				}
			}
			want = network.Betweenness(d)
		} else {
			d := simple.NewUndirectedGraph()
			for v := range int64(n) {
				d.AddNode(simple.Node(v))
			}
			for u := range int32(n) {
				for _, v := range g.Adj(u) {
					d.SetEdge(simple.Edge{F: simple.Node(u), T: simple.Node(v)})
				}
			}
			want = network.Betweenness(d)
		}
		scale := 1.0
		if !directed {
			scale = 2 // gonum counts both directions of a pair
		}
		got := label(t, labeling.Betweenness, g)
		for v, x := range got {
			if w := want[int64(v)]; math.Abs(scale*x-w) > 1e-6*(1+w) {
				t.Fatalf("graph %d: node %d has %v, want %v", i, v, scale*x, w)
			}
		}
	}
}

// A chain of 1200 diamonds has 2^1200 shortest paths from end to end: more than
// a float64 holds. Every joint of the chain is on all of them, each side of a
// diamond on half.
func TestBetweennessOfManyPaths(t *testing.T) {
	const diamonds = 1200
	var edges []graph.Edge
	for i := range int32(diamonds) {
		a, b := 3*i, 3*i+3
		edges = append(edges, graph.Edge{U: a, V: a + 1}, graph.Edge{U: a, V: a + 2}, graph.Edge{U: a + 1, V: b}, graph.Edge{U: a + 2, V: b})
	}
	n := 3*diamonds + 1
	g := build(t, n, false, edges)
	labels := label(t, labeling.Betweenness, g)
	// Joint i cuts the chain in two; besides, the sides of a diamond reach each
	// other by either joint.
	for _, i := range []int{1, 600, 1199} {
		want := float64(3*i*(n-1-3*i)) + 0.5*2
		if math.Abs(labels[3*i]-want) > 1e-3 {
			t.Errorf("joint %d has betweenness %v, want %v", i, labels[3*i], want)
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	perm := permutation(rng, n)
	moved := label(t, labeling.Betweenness, g.Renumber(perm))
	for v := range labels {
		if labels[v] != moved[perm[v]] {
			t.Fatalf("node %d has %v, renumbered %v", v, labels[v], moved[perm[v]])
		}
	}
}

type broken struct{ err error }

func (broken) String() string { return "broken" }
func (b broken) Label(_ labeling.Input, labels []float64) error {
	labels[1] = math.NaN()
	return b.err
}

func TestComputeChecks(t *testing.T) {
	g := build(t, 3, false, nil)
	labels := make([]float64, 3)
	err := labeling.Compute(broken{}, labeling.Input{Graph: g}, labels)
	if err == nil || err.Error() != "labeling: broken: the label of node 1 is not a number" {
		t.Errorf("NaN: %v", err)
	}
	cause := errors.New("out of luck")
	if err := labeling.Compute(broken{cause}, labeling.Input{Graph: g}, labels); !errors.Is(err, cause) {
		t.Errorf("error: %v", err)
	}
	if _, _, err := labeling.Rank(context.Background(), g, []float64{0, math.NaN(), 0}); err == nil {
		t.Error("Rank accepts NaN")
	}
}
