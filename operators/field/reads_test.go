package field_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
)

// rewired is g with other edges among the nodes that are not kept as they are: half of
// those that they have are gone, and as many are new.
func rewired(rng *rand.Rand, g *graph.Graph, keep map[int32]bool) *graph.Graph {
	var edges []graph.Edge
	var others []int32
	for u := range int32(g.N()) {
		if !keep[u] {
			others = append(others, u)
		}
		for _, v := range g.Adj(u) {
			if (g.Directed || u < v) && (keep[u] || keep[v] || rng.IntN(2) == 0) {
				edges = append(edges, graph.Edge{U: u, V: v})
			}
		}
	}
	for range len(others) {
		u, v := others[rng.IntN(len(others))], others[rng.IntN(len(others))]
		if u != v {
			edges = append(edges, graph.Edge{U: u, V: v})
		}
	}
	h := build(g.N(), g.Directed, edges)
	h.NodeCats, h.NodeCat = g.NodeCats, g.NodeCat
	return h
}

// A field depends on the rows that it is said to depend on, and on no others: with all
// other edges drawn anew it is the same.
func TestReads(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	var list []named
	for i := range race.Share(8) {
		for _, c := range []named{
			{"crowd", crowd(rng, 1+rng.IntN(12), 100+rng.IntN(300), rng.IntN(300))},
			{"rmat", rmat(7+i%4, 300<<(i%4), uint64(i))},
			{"dense", random(rng, 150, 100+rng.IntN(1500), false)},
			{"small", random(rng, 40, 60, false)},
		} {
			list = append(list, c, named{c.name + ", directed", directions(rng, c.g, 1, 1, 1)})
		}
	}
	hubs := rmat(12, 25_000, 3)
	list = append(list, named{"hubs", hubs}, named{"hubs, directed", directions(rng, hubs, 1, 1, 1)})
	for i, c := range list {
		read, met := 0, 0
		g := c.g
		if i%5 == 1 {
			g = withNodeAttributes(rng, g, 1, 0)
		}
		for _, dir := range []field.Direction{field.Both, field.Out, field.In} {
			if dir != field.Both && !g.Directed {
				continue
			}
			ix := field.NewIndex(g, dir)
			for _, k := range []int{3, 10, 30, 65} {
				var a field.Assembler
				var reads []int32
				z := field.Normalizer{K: k, Reads: &reads}
				want, got := make([]int32, k), make([]int32, k)
				for _, root := range permutation(rng, g.N())[:4] {
					reads = reads[:0]
					hood, dist := a.Assemble(ix, root, k)
					if err := z.Normalize(ix, hood, dist, nil, want); err != nil {
						t.Fatal(err)
					}
					read, met = read+len(reads), met+len(hood)
					keep := map[int32]bool{}
					for _, v := range reads {
						if keep[v] || !slices.Contains(hood, v) {
							t.Fatalf("%s, k=%d, root %d: %d is read twice, or not of %v", c.name, k, root, v, hood)
						}
						keep[v] = true
					}
					other := field.NewIndex(rewired(rng, g, keep), dir)
					plain := field.Normalizer{K: k}
					hood, dist = a.Assemble(other, root, k)
					if err := plain.Normalize(other, hood, dist, nil, got); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%s, k=%d, %v, root %d: %v, with other rows than %v drawn anew %v",
							fmt.Sprint(c.name, " ", i), k, dir, root, want, reads, got)
					}
				}
			}
		}
		if c.g.N() > 4000 && read > met/2 {
			t.Errorf("%s: %d rows are read of %d, want fewer beside hubs", c.name, read, met)
		}
	}
}
