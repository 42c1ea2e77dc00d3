package coloring

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// coloringGraphs are graphs whose cells split in every way: soon, late, one node
// at a time, not at all.
func coloringGraphs(rng *rand.Rand) []*graph.Graph {
	var list []*graph.Graph
	add := func(n int, edges []graph.Edge) {
		g, err := graph.New(n, false, edges)
		if err != nil {
			panic(err)
		}
		list = append(list, g)
	}
	for i := range 60 {
		n := 1 + rng.IntN(200)
		var edges []graph.Edge
		for range rng.IntN(3 * n) {
			edges = append(edges, graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))})
		}
		if i%3 == 0 { // hubs, and leaves of them
			for v := range n {
				edges = append(edges, graph.Edge{U: int32(v), V: int32(rng.IntN(1 + n/40))})
			}
		}
		add(n, edges)
	}
	for _, n := range []int{1, 2, 3, 64, 65, 301} {
		var path, ring, tree []graph.Edge
		for v := 1; v < n; v++ {
			path = append(path, graph.Edge{U: int32(v - 1), V: int32(v)})
			tree = append(tree, graph.Edge{U: int32(v), V: int32((v - 1) / 2)})
		}
		ring = append(slices.Clone(path), graph.Edge{U: 0, V: int32(n - 1)})
		add(n, nil)
		add(n, path)
		add(n, ring)
		add(n, tree)
		add(n+7, append(ring, graph.Edge{U: 0, V: int32(n)}, graph.Edge{U: int32(n), V: int32(n + 1)}))
	}
	add(0, nil)
	return list
}

// The same colours as Number gives, in as many rounds, on any number of workers.
func TestColoringIsNumber(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	var r refine.Refiner
	for i, g := range coloringGraphs(rng) {
		n := g.N()
		for _, rounds := range []int{0, 1, 2, 3} {
			r.Reset(n)
			r.Number(refine.Rows{Off: g.Offsets, Nbr: g.Neighbors}, rounds, 0)
			want := make([]int32, n)
			for v := range want {
				want[v] = int32(r.Start(int32(v)))
			}
			for _, workers := range []int{1, 2, 5} {
				got := make([]int32, n)
				last := -1
				c := Coloring{Workers: workers, Rounds: rounds, Told: func(done, total int) {
					if done < last || done > total || total != n {
						t.Errorf("graph %d: %d of %d after %d", i, done, total, last)
					}
					last = done
				}}
				if ok, err := c.Number(g.Offsets, g.Neighbors, got); !ok || err != nil || !slices.Equal(got, want) || last != n {
					t.Fatalf("graph %d of %d nodes, %d rounds, %d workers: %v, want %v (%v, %v)", i, n, rounds, workers, got, want, ok, err)
				}
			}
		}
	}
}

// The same of directed graphs, whose arcs lead some way or other, or both ways, or
// which have nodes that arcs only leave, or only reach.
func TestColoringOfArcs(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 48))
	var r refine.Refiner
	var b refine.Builder
	for i, u := range coloringGraphs(rng) {
		n := u.N()
		var arcs []graph.Edge
		for v := range int32(n) {
			for _, w := range u.Adj(v) {
				switch way := rng.IntN(4); {
				case i%5 == 0 && v > w: // all lead up
				case way > 0 || i%5 < 2:
					arcs = append(arcs, graph.Edge{U: v, V: w})
				}
			}
		}
		g, err := graph.New(n, true, arcs)
		if err != nil {
			t.Fatal(err)
		}
		for _, rounds := range []int{0, 1, 2, 3} {
			r.Reset(n)
			r.Number(b.Rows(g, false), rounds, 0)
			want := make([]int32, n)
			for v := range want {
				want[v] = int32(r.Start(int32(v)))
			}
			for _, workers := range []int{1, 2, 5} {
				got := make([]int32, n)
				c := Coloring{Workers: workers, Rounds: rounds, Directed: true}
				if ok, err := c.Number(g.Offsets, g.Neighbors, got); !ok || err != nil || !slices.Equal(got, want) {
					t.Fatalf("graph %d of %d nodes, %d rounds, %d workers: %v, want %v (%v, %v)", i, n, rounds, workers, got, want, ok, err)
				}
			}
		}
	}
}

func TestColoringStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	g := coloringGraphs(rng)[0]
	for looks := range 12 {
		left := looks / 2
		c := Coloring{Workers: 1, Directed: looks%2 == 1, Stop: func() bool { left--; return left < 0 }}
		if ok, err := c.Number(g.Offsets, g.Neighbors, make([]int32, g.N())); ok || err != nil {
			t.Errorf("%d looks: %v, %v", looks, ok, err)
		}
		if left < -4 {
			t.Errorf("%d looks: %d more after the end", looks, -left)
		}
	}
}

// Damage that goroutines of Number meet is an error.
func TestColoringOfDamage(t *testing.T) {
	var edges []graph.Edge
	for v := range int32(299) {
		edges = append(edges, graph.Edge{U: v, V: v + 1})
	}
	g, err := graph.New(300, false, edges)
	if err != nil {
		t.Fatal(err)
	}
	g.Neighbors[0] = 1 << 30
	for _, directed := range []bool{false, true} {
		c := Coloring{Workers: 3, Directed: directed}
		if _, err := c.Number(g.Offsets, g.Neighbors, make([]int32, 300)); err == nil || errors.Unwrap(err) != nil {
			t.Error(err)
		}
	}
}

func BenchmarkColoring(b *testing.B) {
	rng := rand.New(rand.NewPCG(45, 46))
	const n = 200_000
	var edges []graph.Edge
	for range 5 * n {
		edges = append(edges, graph.Edge{U: int32(rng.IntN(n)), V: int32(float64(n) * rng.Float64() * rng.Float64() * rng.Float64())})
	}
	g, err := graph.New(n, false, edges)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("way=Number", func(b *testing.B) {
		var r refine.Refiner
		for b.Loop() {
			r.Reset(n)
			r.Number(refine.Rows{Off: g.Offsets, Nbr: g.Neighbors}, 0, 0)
		}
	})
	colors := make([]int32, n)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("way=Coloring/workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				c := Coloring{Workers: workers}
				if _, err := c.Number(g.Offsets, g.Neighbors, colors); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
