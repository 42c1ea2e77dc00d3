package field_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// connectedOfSix returns one connected graph of each of the 112 isomorphism
// classes on six nodes.
func connectedOfSix(t *testing.T) []*graph.Graph {
	var out []*graph.Graph
	for _, g := range graphsOfSeven() {
		// A node alone beside a connected graph of six.
		alone, rest := int32(-1), int32(0)
		for v := range int32(7) {
			if g.Degree(v) == 0 {
				alone = v
			} else {
				rest = v
			}
		}
		var a field.Assembler
		if hood, _ := a.Assemble(field.NewIndex(g, field.Both), rest, 7); alone < 0 || len(hood) != 6 {
			continue
		}
		var edges []graph.Edge
		number := func(v int32) int32 {
			if v > alone {
				v--
			}
			return v
		}
		for u := range int32(7) {
			for _, v := range g.Adj(u) {
				edges = append(edges, graph.Edge{U: number(u), V: number(v)})
			}
		}
		out = append(out, build(6, false, edges))
	}
	if len(out) != 112 {
		t.Fatalf("%d connected graphs on six nodes, want 112", len(out))
	}
	return out
}

// signature packs what a field shows: attributes and edge types of the members,
// in their order.
func signature(g *graph.Graph, members []int32) []int32 {
	s := make([]int32, 0, len(members)*(len(members)+1))
	for _, u := range members {
		if u < 0 {
			s = append(s, -1)
			continue
		}
		s = append(s, row(g.NodeCat, u, g.NodeCats)...)
		for _, v := range members {
			e := -1
			if v >= 0 {
				e = g.Entry(u, v)
			}
			s = append(s, int32(min(e, 0)))
			if e >= 0 {
				s = append(s, row(g.EdgeCat, int32(e), g.EdgeCats)...)
			}
		}
	}
	return s
}

func row(x []int32, i int32, width int) []int32 { return x[int(i)*width : (int(i)+1)*width] }

// eachPermutation calls do with every permutation of 0 … n-1.
func eachPermutation(n int, do func(perm []int32)) {
	perm := make([]int32, n)
	for i := range perm {
		perm[i] = int32(i)
	}
	var walk func(i int)
	walk = func(i int) {
		if i == n {
			do(perm)
			return
		}
		for j := i; j < n; j++ {
			perm[i], perm[j] = perm[j], perm[i]
			walk(i + 1)
			perm[i], perm[j] = perm[j], perm[i]
		}
	}
	walk(0)
}

// Whatever is cut off, and whatever order the rest is put into: all 720
// numberings of a neighbourhood of six nodes give the same field, for every root
// and every k. Every other connected graph in one of four variants; all of them
// in all take a quarter of a minute.
func TestEveryNumberingGivesTheSameField(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	settings := []field.Normalizer{{}, {By: labeling.Degree}, {By: labeling.Core, Uniform: true}}
	step := 2
	if testing.Short() || race.Enabled {
		step = 14
	}
	var fields, choices int
	graphs := connectedOfSix(t)
	for i := 0; i < len(graphs); i += step {
		plain := graphs[i]
		z := settings[i%len(settings)]
		var directed []graph.Edge
		for _, e := range arcs(plain) {
			if rng.IntN(2) == 0 {
				e.U, e.V = e.V, e.U
			}
			directed = append(directed, e)
		}
		variants := []*graph.Graph{
			plain, withNodeAttributes(rng, plain, 1, 0), withEdgeAttributes(rng, plain, 1, 0), build(6, true, directed),
		}
		for _, g := range variants[i/step%4:][:1] {
			want := map[[2]int32][]int32{} // by root and k
			eachPermutation(6, func(perm []int32) {
				h := g.Renumber(perm)
				ix := field.NewIndex(h, field.Both)
				var a field.Assembler
				for k := int32(2); k <= 5; k++ {
					z.K = int(k)
					members := make([]int32, k)
					for root := range int32(6) {
						hood, dist := a.Assemble(ix, perm[root], z.K)
						if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
							t.Fatal(err)
						}
						fields++
						got, key := signature(h, members), [2]int32{root, k}
						if first, ok := want[key]; !ok {
							want[key] = got
						} else if !slices.Equal(got, first) {
							t.Fatalf("graph %d, k=%d, root %d, numbering %v: field %v differs", i, k, root, perm, members)
						}
					}
				}
			})
		}
		choices += int(z.Stats.Leaves)
		if z.Stats.CropFallback+z.Stats.Refined+z.Stats.Partial > 0 {
			t.Errorf("graph %d: fallbacks %+v", i, z.Stats)
		}
	}
	t.Logf("%d fields, %d choices compared", fields, choices)
}

// What an index has learned beside hubs, from many workers at once, changes no field: a walk takes the whole row of a
// hub, or, where another index bounds it, a part.
func TestFieldsBesideHubsDoNotDependOnEarlierOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 39))
	g := crowd(rng, 4, 200, 150)
	for _, k := range []int{5, 10, 40} {
		ix, part := field.NewIndex(g, field.Both), field.NewIndex(g, field.Both)
		part.SetBound(100)
		want := make([][]int32, 2*g.N())
		compute := func(shared *field.Index, check bool) {
			var a field.Assembler
			z := field.Normalizer{K: k}
			for _, i := range permutation(rand.New(rand.NewPCG(uint64(k), 1)), 2*g.N()) {
				walk, fresh := shared, shared
				if i%2 == 1 {
					walk = part
				}
				if !check {
					fresh = field.NewIndex(g, field.Both)
				}
				hood, dist := a.Assemble(walk, i/2, k)
				got := make([]int32, k)
				if err := z.Normalize(fresh, hood, dist, nil, got); err != nil {
					t.Error(err)
				}
				if !check {
					want[i] = got
				} else if !slices.Equal(got, want[i]) {
					t.Errorf("k %d, root %d, bounded %v: %v, want %v", k, i/2, i%2 == 1, got, want[i])
				}
			}
		}
		compute(ix, false)
		var workers sync.WaitGroup
		for range 3 {
			workers.Go(func() { compute(ix, true) })
		}
		workers.Wait()
	}
}
