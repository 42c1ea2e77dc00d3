package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// orderings returns all orders of n things.
func orderings(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range orderings(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return all
}

// connectedSets returns the smallest text over all orders of each connected set of nodes, which is
// the definition of isomorphism, and how often it occurs.
func connectedSets(g *graph.Graph, size int, orders [][]int) map[string]float64 {
	found := map[string]float64{}
	for set := range uint(1) << g.N() {
		var nodes []int32
		for v := range int32(g.N()) {
			if set>>v&1 != 0 {
				nodes = append(nodes, v)
			}
		}
		if len(nodes) != size {
			continue
		}
		met := []int32{nodes[0]}
		for i := 0; i < len(met); i++ {
			for _, u := range nodes {
				if !slices.Contains(met, u) && g.Entry(met[i], u) >= 0 {
					met = append(met, u)
				}
			}
		}
		if len(met) < size {
			continue
		}
		best := ""
		for _, order := range orders {
			text := ""
			for i, x := range order {
				if g.NodeCats > 0 {
					text += fmt.Sprint(" ", g.NodeCat[nodes[x]])
				}
				for _, y := range order[:i] {
					switch e := g.Entry(nodes[x], nodes[y]); {
					case e < 0:
						text += "."
					case g.EdgeCats > 0:
						text += fmt.Sprint("-", g.EdgeCat[e])
					default:
						text += "x"
					}
				}
			}
			if best == "" || text < best {
				best = text
			}
		}
		found[best]++
	}
	return found
}

func countedGraphlets(t *testing.T, g *graph.Graph, c graphlets) map[uint64]float64 {
	t.Helper()
	ids, counts, err := count.Of(count.Input{Graph: g}, c)
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint64]float64{}
	for i, id := range ids {
		found[id] = counts[i]
	}
	return found
}

// Graphlets are counted as often as they are met among all sets of nodes, and their ids are one for
// each form.
func TestGraphletsAreTheirDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 31))
	for kind := range 4 {
		for size := 3; size <= 6; size++ {
			orders, texts := orderings(size), map[string]uint64{}
			for range 6 {
				g := randomLabelled(rng, 7, kind&1 != 0, kind&2 != 0)
				got, want := countedGraphlets(t, g, graphlets{size: size}), connectedSets(g, size, orders)
				if len(got) != len(want) || !slices.Equal(slices.Sorted(maps.Values(got)), slices.Sorted(maps.Values(want))) {
					t.Fatalf("kind %d, size %d: %v, want %v", kind, size, got, want)
				}
				// A form of a count that no other has has one id in all graphs.
				for text, n := range want {
					for id, m := range got {
						alone := slices.Sorted(maps.Values(want))
						if m != n || slices.Contains(slices.DeleteFunc(alone, func(x float64) bool { return x != n })[1:], n) {
							continue
						}
						if was, ok := texts[text]; ok && was != id {
							t.Fatalf("the form %s has the ids %#x and %#x", text, was, id)
						}
						texts[text] = id
					}
				}
			}
			ids := slices.Sorted(maps.Values(texts))
			if len(slices.Compact(ids)) != len(texts) {
				t.Errorf("kind %d, size %d: two forms have one id: %v", kind, size, texts)
			}
		}
	}
}

// The ids of every version are these.
func TestGraphletsGolden(t *testing.T) {
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		t.Fatal(err)
	}
	bare := *g
	g.NodeCats, g.NodeCat = 1, []int32{0, 1, 0, 2}
	g.EdgeCats, g.EdgeCat = 1, make([]int32, len(g.Neighbors))
	if got, want := countedGraphlets(t, g, graphlets{size: 3}), map[uint64]float64{0x3823fb723b3d2631: 1, 0xb33930ba9118e6b6: 1, 0xdd968b72c190fcdd: 1}; !maps.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
	if got, want := countedGraphlets(t, &bare, graphlets{size: 4}), map[uint64]float64{0x29f806b02f419200: 1}; !maps.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}

// The mean of drawn graphlets is the number of all of them.
func TestDrawnGraphlets(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 32))
	for kind := range 4 {
		var g *graph.Graph
		for g == nil || g.N() < 10 || g.M() < 20 || g.M() > 40 {
			g = randomLabelled(rng, 14, kind&1 != 0, kind&2 != 0)
		}
		for _, size := range []int{3, 4, 6} {
			exact := 0.0
			for _, n := range countedGraphlets(t, g, graphlets{size: size}) {
				exact += n
			}
			const seeds = 60
			sum, squares := 0.0, 0.0
			for seed := range uint64(seeds) {
				var c graphletCounter
				c.graphlets = graphlets{size: size, samples: 40, seed: seed}
				var bag count.Bag
				if err := c.begin(g); err != nil {
					t.Fatal(err)
				}
				if err := c.draws.connected(count.Input{Graph: g}, &c, c.rng(g), &bag); err != nil {
					t.Fatal(err)
				}
				total := 0.0
				for _, e := range bag.Entries() {
					total += e.Count
				}
				sum, squares = sum+total, squares+total*total
			}
			mean := sum / seeds
			if se := math.Sqrt((squares/seeds - mean*mean) / (seeds - 1)); math.Abs(mean-exact) > 4.5*se+1e-9*exact {
				t.Errorf("kind %d, size %d: %v ± %v, there are %v", kind, size, mean, se, exact)
			}
		}
	}
}

// Contexts are of graphlets that are counted, and the same for a seed.
func TestGraphletContexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for range 30 {
		g := randomLabelled(rng, 9, true, false)
		for size := 3; size <= 5; size++ {
			counts := countedGraphlets(t, g, graphlets{size: size})
			var lists [2][][]uint64
			for i := range lists {
				w, _ := graphlets{size: size}.Prepare()
				err := w.(count.Contexter).Contexts(count.Input{Graph: g}, func(ids []uint64) { lists[i] = append(lists[i], slices.Clone(ids)) })
				if err != nil {
					t.Fatal(err)
				}
			}
			if fmt.Sprint(lists[0]) != fmt.Sprint(lists[1]) || len(counts) > 0 && len(lists[0]) == 0 {
				t.Fatalf("%v and %v, of %d things", lists[0], lists[1], len(counts))
			}
			for _, id := range slices.Concat(lists[0]...) {
				if counts[id] == 0 {
					t.Fatalf("%#x stands with others, and was not counted", id)
				}
			}
		}
	}
}

// Structures are counted by their matrices, sets of labelled nodes one by one: where
// all labels are the same both find as many of each form.
func TestGraphletsOfStructure(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{4, 12, 30, 70} { // one word of nodes, and two
		for _, share := range []float64{.05, .3, .9} {
			if n == 70 && share > .1 {
				share /= 6
			}
			var edges []graph.Edge
			for u := range int32(n) {
				for v := range u {
					if rng.Float64() < share {
						edges = append(edges, graph.Edge{U: u, V: v})
					}
				}
			}
			hub := n > 4 && share < .2 // many nodes that may come last
			for v := int32(1); hub && int(v) < n; v++ {
				edges = append(edges, graph.Edge{U: 0, V: v})
			}
			bare, err := graph.New(n, false, edges)
			if err != nil {
				t.Fatal(err)
			}
			labelled := *bare
			labelled.NodeCat, labelled.NodeCats = make([]int32, n), 1
			for size := 3; size <= 5; size++ {
				if n == 70 && size == 5 {
					continue // a million of them, one by one
				}
				var found [2][]float64
				for i, g := range []*graph.Graph{bare, &labelled} {
					for _, samples := range []int{0, 1 << 30} {
						_, counts, err := count.Of(count.Input{Graph: g}, graphlets{size: size, samples: samples})
						if err != nil {
							t.Fatal(err)
						}
						slices.Sort(counts)
						if samples > 0 && !slices.Equal(counts, found[i]) {
							t.Errorf("%d nodes, size %d: bounded %v, without a bound %v", n, size, counts, found[i])
						}
						found[i] = counts
					}
				}
				if !slices.Equal(found[0], found[1]) {
					t.Errorf("%d nodes, %d edges, size %d: %v, one by one %v", n, len(edges), size, found[0], found[1])
				}
			}
		}
	}
}
