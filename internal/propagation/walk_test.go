package propagation

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
)

func random(t testing.TB, r *rand.Rand, n, m int, directed bool) *graph.Graph {
	t.Helper()
	var edges []graph.Edge
	seen := map[graph.Edge]bool{}
	for range m {
		e := graph.Edge{U: int32(r.IntN(n)), V: int32(r.IntN(n))}
		if e.U == e.V || seen[e] || !directed && seen[graph.Edge{U: e.V, V: e.U}] {
			continue
		}
		seen[e] = true
		edges = append(edges, e)
	}
	g, err := graph.New(n, directed, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func values(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = r.Float32() - 0.25
	}
	return x
}

// propagateBySolving solves z = (1-a)·x + a·P·z by elimination, column by column.
func propagateBySolving(g *graph.Graph, x []float32, width int, a float64, symmetric bool) []float64 {
	n := g.N()
	z := make([]float64, n*width)
	for c := range width {
		m := make([][]float64, n)
		for v := range m {
			m[v] = make([]float64, n+1)
			m[v][v]++
			m[v][n] = float64(x[v*width+c])
			if adj := g.Adj(int32(v)); len(adj) > 0 {
				m[v][n] *= 1 - a
				for _, u := range adj {
					weight := 1 / float64(len(adj))
					if symmetric {
						weight = 1 / math.Sqrt(float64(len(adj)*g.Degree(u)))
					}
					m[v][u] -= a * weight
				}
			}
		}
		for i := range n { // similar to a diagonally dominant one: no pivots
			for j := range n {
				if f := m[j][i] / m[i][i]; j != i && f != 0 {
					for k := i; k <= n; k++ {
						m[j][k] -= f * m[i][k]
					}
				}
			}
		}
		for v := range n {
			z[v*width+c] = m[v][n] / m[v][v]
		}
	}
	return z
}

// After many rounds the rows are the solution of the linear equations.
func TestRowsSolve(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		n, width, a := 1+r.IntN(25), 1+r.IntN(4), []float64{0.5, 0.8, 0.95}[r.IntN(3)]
		directed, symmetric := i%3 == 0, i%3 == 1
		g := random(t, r, n, r.IntN(3*n), directed)
		x := values(r, n*width)
		want := propagateBySolving(g, x, width, a, symmetric)
		if err := (Walk{Share: a, Symmetric: symmetric, Rounds: 400}).Rows(t.Context(), g, x, width); err != nil {
			t.Fatal(err)
		}
		for j, y := range x {
			if math.Abs(float64(y)-want[j]) > 1e-5 {
				t.Fatalf("graph %d, share %v, value %d: %v, want %v", i, a, j, y, want[j])
			}
		}
	}
}

// Some rounds are the walks of so many steps: each is followed.
func TestRowsFollowWalks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		n := 1 + r.IntN(7)
		g := random(t, r, n, 2*n, false)
		x := values(r, n)
		var ends func(v int32, left int) float64
		ends = func(v int32, left int) float64 {
			adj := g.Adj(v)
			if left == 0 || len(adj) == 0 {
				return float64(x[v])
			}
			sum := 0.
			for _, u := range adj {
				sum += ends(u, left-1)
			}
			return 0.3*float64(x[v]) + 0.7*sum/float64(len(adj))
		}
		want := make([]float64, n)
		for v := range want {
			want[v] = ends(int32(v), 4)
		}
		if err := (Walk{Share: 0.7, Rounds: 4}).Rows(t.Context(), g, x, 1); err != nil {
			t.Fatal(err)
		}
		for v, y := range x {
			if math.Abs(float64(y)-want[v]) > 1e-5 {
				t.Fatalf("node %d: %v, want %v", v, y, want[v])
			}
		}
	}
}

// Another numbering gives the same rows, but for rounding, and more workers the
// same bytes.
func TestRowsByAnotherName(t *testing.T) {
	defer leak.VerifyNone(t)
	r := rand.New(rand.NewPCG(5, 6))
	const n, width = 3000, 20
	g := random(t, r, n, 9000, false)
	x := values(r, n*width)
	perm := r.Perm(n)
	var edges []graph.Edge
	y := make([]float32, len(x))
	for v := range int32(n) {
		copy(y[perm[v]*width:][:width], x[int(v)*width:][:width])
		for _, u := range g.Adj(v) {
			if v < u {
				edges = append(edges, graph.Edge{U: int32(perm[v]), V: int32(perm[u])})
			}
		}
	}
	h, err := graph.New(n, false, edges)
	if err != nil {
		t.Fatal(err)
	}
	one := slices.Clone(x)
	for i, run := range []struct {
		g       *graph.Graph
		rows    []float32
		workers int
	}{{g, one, 1}, {g, x, 3}, {h, y, 2}} {
		if err := (Walk{Workers: run.workers}).Rows(t.Context(), run.g, run.rows, width); err != nil {
			t.Fatal(i, err)
		}
	}
	if !slices.Equal(one, x) {
		t.Error("three workers give other bytes than one")
	}
	for v := range n {
		for c := range width {
			if a, b := x[v*width+c], y[perm[v]*width+c]; math.Abs(float64(a-b)) > 1e-5 {
				t.Fatalf("node %d: %v, by another number %v", v, a, b)
			}
		}
	}
}

func TestRowsErrors(t *testing.T) {
	g := random(t, rand.New(rand.NewPCG(7, 8)), 10, 20, false)
	for want, do := range map[string]func([]float32) error{
		"Share is 1":   func(x []float32) error { return Walk{Share: 1}.Rows(t.Context(), g, x, 2) },
		"Share is NaN": func(x []float32) error { return Walk{Share: math.NaN()}.Rows(t.Context(), g, x, 2) },
		"Rounds is -1": func(x []float32) error { return Walk{Rounds: -1}.Rows(t.Context(), g, x, 2) },
		"the graph is directed": func(x []float32) error {
			return Walk{Symmetric: true}.Rows(t.Context(), random(t, rand.New(rand.NewPCG(7, 8)), 10, 20, true), x, 2)
		},
		"no rows of 3": func(x []float32) error { return Walk{}.Rows(t.Context(), g, x, 3) },
		"enough of this": func(x []float32) error {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("enough of this"))
			return Walk{}.Rows(ctx, g, x, 2)
		},
	} {
		x := values(rand.New(rand.NewPCG(9, 9)), 20)
		before := slices.Clone(x)
		if err := do(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
		if !slices.Equal(x, before) {
			t.Errorf("%s: the rows have changed", want)
		}
	}
}
