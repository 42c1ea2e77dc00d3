package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn/graphkernel"
)

// randomLabelled is a graph of up to most nodes.
func randomLabelled(rng *rand.Rand, most int, nodes, edges bool) *graph.Graph {
	n := rng.IntN(most + 1)
	var list []graph.Edge
	p := rng.Float64()
	for v := range int32(n) {
		for u := range v {
			if rng.Float64() < p {
				list = append(list, graph.Edge{U: u, V: v})
			}
		}
	}
	g, err := graph.New(n, false, list)
	if err != nil {
		panic(err)
	}
	if edges {
		g.EdgeCats, g.EdgeCat = 1, make([]int32, len(g.Neighbors))
		for v := range int32(n) {
			for i, u := range g.Adj(v) {
				if u < v {
					g.EdgeCat[int(g.Offsets[v])+i] = rng.Int32N(2)
					g.EdgeCat[g.Entry(u, v)] = g.EdgeCat[int(g.Offsets[v])+i]
				}
			}
		}
	}
	if nodes {
		g.NodeCats = 1
		for range n {
			g.NodeCat = append(g.NodeCat, rng.Int32N(3))
		}
	}
	return g
}

// productGraph is the matrix of the product graph, in full.
func productGraph(a, b *graph.Graph) [][]float64 {
	var pairs [][2]int
	for i := range a.N() {
		for j := range b.N() {
			if a.NodeCats == 0 || a.NodeCat[i] == b.NodeCat[j] {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	entry := func(g *graph.Graph, v, u int) (label int32, ok bool) {
		e := g.Entry(int32(v), int32(u))
		if e >= 0 && g.EdgeCats > 0 {
			label = g.EdgeCat[e]
		}
		return label, e >= 0
	}
	m := make([][]float64, len(pairs))
	for x, p := range pairs {
		m[x] = make([]float64, len(pairs))
		for y, q := range pairs {
			l, ok := entry(a, p[0], q[0])
			k, ok2 := entry(b, p[1], q[1])
			if ok && ok2 && l == k {
				m[x][y] = 1
			}
		}
	}
	return m
}

// sumOfInverse is Σ (I − decay·m)⁻¹, by elimination.
func sumOfInverse(m [][]float64, decay float64) float64 {
	n := len(m)
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n+1)
		a[i][n] = 1
		for j, x := range m[i] {
			a[i][j] = -decay * x
		}
		a[i][i]++
	}
	for i := range n {
		best := i
		for k := i; k < n; k++ {
			if math.Abs(a[k][i]) > math.Abs(a[best][i]) {
				best = k
			}
		}
		a[i], a[best] = a[best], a[i]
		for k := i + 1; k < n; k++ {
			f := a[k][i] / a[i][i]
			for j := i; j <= n; j++ {
				a[k][j] -= f * a[i][j]
			}
		}
	}
	x, sum := make([]float64, n), 0.0
	for i := n - 1; i >= 0; i-- {
		x[i] = a[i][n]
		for j := i + 1; j < n; j++ {
			x[i] -= a[i][j] * x[j]
		}
		x[i] /= a[i][i]
		sum += x[i]
	}
	return sum
}

// largest is the largest eigenvalue, by powers of I + m.
func largest(m [][]float64) float64 {
	v, at := make([]float64, len(m)), 0.0
	for i := range v {
		v[i] = 1
	}
	for range 1000 {
		w, top := make([]float64, len(m)), 0.0
		for i := range m {
			w[i] = v[i]
			for j, x := range m[i] {
				w[i] += x * v[j]
			}
			top = max(top, w[i])
		}
		for i := range w {
			w[i] /= top
		}
		v, at = w, top
	}
	return at - 1
}

func TestWalksAreTheInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	ended, endless := 0, 0
	for round := range 320 {
		nodes, edges := round&1 != 0, round&2 != 0
		a, b := randomLabelled(rng, 7, nodes, edges), randomLabelled(rng, 6, nodes, edges)
		decay := math.Pow(10, -1.6*rng.Float64())
		m := productGraph(a, b)
		edge := 0.0
		if len(m) > 0 && round%4 == 0 { // slow: only now and then
			edge = decay * largest(m)
		}
		got, err := compareWalks(t, decay, a, b)
		if err != nil && !errors.Is(err, errDiverges) {
			t.Fatal(err)
		}
		if edge > 1.01 && err == nil || edge > 0 && edge < 0.95 && err != nil {
			t.Fatalf("decay times eigenvalue is %v: %v, %v", edge, got, err)
		}
		if err != nil {
			endless++
			continue
		}
		ended++
		want := sumOfInverse(m, decay)
		if math.Abs(got-want) > 1e-6*want {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if ended < 40 || endless < 8 {
		t.Fatalf("%d sums end and %d do not: the test shows little", ended, endless)
	}
}

// A Gram matrix of walks is symmetric, positive semi-definite, the same at any
// number of workers, and what two graphs alone have.
func TestWalksGram(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	for kind := range 4 {
		var graphs []*graph.Graph
		var sorted []*walkGraph
		for range 25 {
			g := randomLabelled(rng, 8, kind&1 != 0, kind&2 != 0)
			w, err := newWalkGraph(g)
			if err != nil {
				t.Fatal(err)
			}
			graphs, sorted = append(graphs, g), append(sorted, w)
		}
		g, err := walkGram(t.Context(), sorted, 0.01, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		semidefinite(t, g)
		again, err := walkGram(t.Context(), sorted, 0.01, 3)
		if err != nil || !slices.Equal(again.K, g.K) {
			t.Fatalf("3 workers give another matrix, %v", err)
		}
		for i := range graphs[:5] {
			for j := range graphs {
				x, err := compareWalks(t, 0.01, graphs[i], graphs[j])
				if err != nil || math.Abs(x-g.K[i*g.N+j]) > 1e-6*(1+x) {
					t.Fatalf("graphs %d and %d: %v alone, %v in the matrix, %v", i, j, x, g.K[i*g.N+j], err)
				}
			}
		}
	}
}

// compareWalks compares two graphs without each with itself, as walkGram does.
func compareWalks(t *testing.T, decay float64, a, b *graph.Graph) (float64, error) {
	t.Helper()
	x, err := newWalkGraph(a)
	y, err2 := newWalkGraph(b)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return (&walkSolver{decay: decay}).solve(t.Context(), x, y)
}

// semidefinite looks for a vector with x·K·x < 0 by factoring K, with a little on
// its diagonal.
func semidefinite(t *testing.T, g *graphkernel.Gram) {
	t.Helper()
	n, a := g.N, slices.Clone(g.K)
	top := 0.0
	for i := range n {
		top = max(top, a[i*n+i])
	}
	for i := range n {
		a[i*n+i] += 1e-9 * (1 + top)
	}
	for i := range n {
		if !(a[i*n+i] > 0) {
			t.Fatalf("the matrix is not positive semi-definite: %v at row %d", a[i*n+i], i)
		}
		for k := i + 1; k < n; k++ {
			f := a[k*n+i] / a[i*n+i]
			for j := i; j < n; j++ {
				a[k*n+j] -= f * a[i*n+j]
			}
		}
	}
}

func TestWalksErrors(t *testing.T) {
	pair, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWalkGraph(pair)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := walkGram(t.Context(), []*walkGraph{w}, 1, 1); !errors.Is(err, errDiverges) || !strings.Contains(err.Error(), "graphs 0 and 0: the sum over walks diverges at a decay of 1; take a smaller one") {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := walkGram(ended, []*walkGraph{w}, 0.1, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if g, err := walkGram(t.Context(), nil, 0.1, 1); err != nil || g.N != 0 {
		t.Error(g, err)
	}
	pair.Directed = true
	if _, err := newWalkGraph(pair); err == nil {
		t.Error("arcs are walked")
	}
}
