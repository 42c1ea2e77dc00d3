package labeling_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// denseEigenvector projects equal entries on the space of the greatest
// eigenvalue, by the dense decomposition of gonum. gap is how far the next
// eigenvalue is.
func denseEigenvector(t *testing.T, g *graph.Graph) (x []float64, gap float64) {
	t.Helper()
	n := g.N()
	a := mat.NewSymDense(n, nil)
	for u := range int32(n) {
		for _, v := range g.Adj(u) {
			a.SetSym(int(u), int(v), 1)
		}
	}
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		t.Fatal("gonum finds no eigenvalues")
	}
	values := e.Values(nil) // ascending
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	x = make([]float64, n)
	gap = math.Inf(1)
	for i, value := range values {
		if d := values[n-1] - value; d > 1e-9 {
			gap = min(gap, d)
			continue
		}
		dot := mat.Sum(vectors.ColView(i))
		for v := range x {
			x[v] += dot * vectors.At(v, i)
		}
	}
	top := slices.Max(x)
	for v := range x {
		x[v] /= top
	}
	return x, gap
}

// Every graph of two to five nodes with an edge, and random ones: connected or
// not, bipartite or not.
func TestEigenvectorEqualsDense(t *testing.T) {
	check := func(name string, g *graph.Graph) {
		t.Helper()
		want, gap := denseEigenvector(t, g)
		got := make([]float64, g.N())
		err := labeling.Compute(labeling.Eigenvector, labeling.Input{Graph: g}, got)
		if errors.Is(err, labeling.ErrNotConverged) && gap < 1e-2 {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v; the gap is %v", name, err, gap)
		}
		near(t, name, got, want, 1e-6)
	}
	for n := 2; n <= 5; n++ {
		for mask := uint(1); mask < 1<<(n*(n-1)/2); mask++ {
			var edges []graph.Edge
			bit := mask
			for u := range int32(n) {
				for v := range u {
					if bit&1 == 1 {
						edges = append(edges, graph.Edge{U: u, V: v})
					}
					bit >>= 1
				}
			}
			check(fmt.Sprintf("n=%d mask=%b", n, mask), build(t, n, false, edges))
		}
	}
	for leaves := range int32(60) {
		check("star", build(t, int(leaves)+2, false, star(leaves+1)))
		check("wheel", build(t, int(leaves)+4, false, append(star(leaves+3), cycle(1, leaves+3)...)))
		check("path", build(t, int(leaves)+3, false, cycle(0, leaves+3)[:leaves+2]))
	}
	rng := rand.New(rand.NewPCG(51, 1))
	for i := range 120 {
		n := 2 + rng.IntN(70)
		edges := randomEdges(rng, n, n/2+1+rng.IntN(2*n))
		edges = append(edges, graph.Edge{U: 0, V: 1})
		if i%3 == 0 { // bipartite
			for j := range edges {
				edges[j].U, edges[j].V = edges[j].U&^1, edges[j].V|1
			}
			n++
		}
		check(fmt.Sprint("random graph ", i), build(t, n, false, edges))
	}
}

// Strongly connected graphs have one positive eigenvector (Perron and
// Frobenius); a node collects from the arcs that arrive.
func TestEigenvectorOfDirectedGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 2))
	for i := range 60 {
		n := 3 + rng.IntN(40)
		g := build(t, n, true, append(cycle(0, int32(n)), randomEdges(rng, n, rng.IntN(2*n))...))
		a := mat.NewDense(n, n, nil)
		for u := range int32(n) {
			for _, v := range g.Adj(u) {
				a.Set(int(v), int(u), 1)
			}
		}
		var e mat.Eigen
		if !e.Factorize(a, mat.EigenRight) {
			t.Fatal("gonum finds no eigenvalues")
		}
		best := 0
		values := e.Values(nil)
		for j, v := range values {
			if real(v) > real(values[best]) {
				best = j
			}
		}
		var vectors mat.CDense
		e.VectorsTo(&vectors)
		want := make([]float64, n)
		for v := range want {
			want[v] = math.Abs(real(vectors.At(v, best)))
		}
		top := slices.Max(want)
		for v := range want {
			want[v] /= top
		}
		near(t, fmt.Sprint("graph ", i), label(t, labeling.Eigenvector, g), want, 1e-5)
	}
}

func star(leaves int32) []graph.Edge {
	var edges []graph.Edge
	for v := range leaves {
		edges = append(edges, graph.Edge{U: 0, V: v + 1})
	}
	return edges
}

func TestEigenvectorByHand(t *testing.T) {
	leaf := 1 / math.Sqrt(11)
	for _, c := range []struct {
		name     string
		n        int
		directed bool
		edges    []graph.Edge
		want     []float64 // nil: no convergence
	}{
		{"no nodes", 0, false, nil, []float64{}},
		{"no edges", 3, false, nil, []float64{0, 0, 0}},
		{"star", 5, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 0, V: 3}, {U: 0, V: 4}}, []float64{1, 0.5, 0.5, 0.5, 0.5}},
		{"star of eleven", 12, false, star(11), []float64{1, leaf, leaf, leaf, leaf, leaf, leaf, leaf, leaf, leaf, leaf, leaf}},
		{"two triangles", 6, false, append(cycle(0, 3), cycle(3, 3)...), []float64{1, 1, 1, 1, 1, 1}},
		{"a triangle and an edge", 5, false, append(cycle(0, 3), graph.Edge{U: 3, V: 4}), []float64{1, 1, 1, 0, 0}},
		{"no cycle of arcs", 4, true, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 3}, {U: 2, V: 3}}, []float64{0, 0, 0, 0}},
		{"cycle of arcs", 5, true, cycle(0, 5), []float64{1, 1, 1, 1, 1}},
		// Only what the cycle reaches has a label.
		{"cycle with a way in and out", 5, true, append(cycle(0, 3), graph.Edge{U: 3, V: 0}, graph.Edge{U: 2, V: 4}), []float64{1, 1, 1, 0, 1}},
		// The greatest eigenvalues are closer than one in ten thousand.
		{"long path", 400, false, cycle(0, 400)[:399], nil},
	} {
		g := build(t, c.n, c.directed, c.edges)
		got := make([]float64, c.n)
		err := labeling.Compute(labeling.Eigenvector, labeling.Input{Graph: g}, got)
		if c.want == nil {
			if !errors.Is(err, labeling.ErrNotConverged) {
				t.Errorf("%s: %v, want %v", c.name, err, labeling.ErrNotConverged)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		near(t, c.name, got, c.want, 1e-6)
	}
	// The eigenvalue 1 counts twice and has one eigenvector, that of the second
	// cycle.
	defective := build(t, 6, true, append(append(cycle(0, 3), cycle(3, 3)...), graph.Edge{U: 0, V: 3}))
	near(t, "two cycles, one behind the other", label(t, labeling.Eigenvector, defective), []float64{0, 0, 0, 1, 1, 1}, 5e-3)
}
