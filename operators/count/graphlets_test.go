package count_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// permutations returns all orders of n things.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return all
}

var orders = func() (all [8][][]int) {
	for n := range all {
		all[n] = permutations(n)
	}
	return all
}()

// smallest returns the smallest text of what nodes induce, over all orders of them
// that keep the first fixed ones in front: the definition of isomorphism.
type smallest map[string]string

func (s smallest) text(g *graph.Graph, nodes []int32, fixed int, plain bool) string {
	write := func(order []int) string {
		var b strings.Builder
		for i, x := range order {
			v := nodes[x]
			if !plain && g.NodeCats+g.SparseCard > 0 {
				b.WriteString(nodeText(g, v, nil))
			}
			for _, y := range order[:i] {
				for _, e := range []int{g.Entry(v, nodes[y]), g.Entry(nodes[y], v)} {
					switch {
					case e < 0:
						b.WriteByte('.')
					case plain || g.EdgeCats == 0:
						b.WriteByte('x')
					default:
						b.WriteString(edgeText(g, int32(e), nil))
					}
				}
			}
		}
		return b.String()
	}
	key := fmt.Sprint(len(nodes), fixed, write(orders[len(nodes)][0]))
	if text, ok := s[key]; ok {
		return text
	}
	best := ""
next:
	for _, order := range orders[len(nodes)] {
		for i := range fixed {
			if order[i] != i {
				continue next
			}
		}
		if text := write(order); best == "" || text < best {
			best = text
		}
	}
	s[key] = fmt.Sprint(len(nodes), best)
	return s[key]
}

// graphletTexts looks at all sets of nodes.
func (s smallest) graphletTexts(g *graph.Graph, size int, all, plain bool) map[string]float64 {
	found := map[string]float64{}
	for set := range uint(1) << g.N() {
		var nodes []int32
		for v := range int32(g.N()) {
			if set>>v&1 != 0 {
				nodes = append(nodes, v)
			}
		}
		if len(nodes) == size && (all || joined(g, nodes)) {
			found[s.text(g, nodes, 0, plain)]++
		}
	}
	return found
}

func joined(g *graph.Graph, nodes []int32) bool {
	met := []int32{nodes[0]}
	for i := 0; i < len(met); i++ {
		for _, u := range nodes {
			if !slices.Contains(met, u) && (g.Entry(met[i], u) >= 0 || g.Entry(u, met[i]) >= 0) {
				met = append(met, u)
			}
		}
	}
	return len(met) == len(nodes)
}

func TestGraphletsOfEveryGraph(t *testing.T) {
	graphs := everyGraph()
	for _, c := range []count.Graphlets{{Size: 3}, {}, {Size: 5}, {Size: 4, All: true}, {Size: 6, All: true}} {
		size := max(c.Size, 4)
		if c.Size == 3 {
			size = 3
		}
		fork, err := count.Prepare(c)
		if err != nil {
			t.Fatal(err)
		}
		seen, s := classes{}, smallest{}
		for _, g := range graphs {
			seen.check(t, counted(t, g, plainly{fork}), s.graphletTexts(g, size, c.All, true))
		}
	}
}

func TestGraphletsAreTheirDefinition(t *testing.T) {
	for i, k := range kindsOfGraphs {
		rng := rand.New(rand.NewPCG(uint64(i), 31))
		for _, c := range []count.Graphlets{{Size: 3}, {Size: 4}, {Size: 5}, {Size: 3, All: true}, {Size: 4, Plain: true}, {Size: 6}, {Size: 7}} {
			if c.Plain && k.directed {
				continue // see TestPlain
			}
			seen, s := classes{}, smallest{}
			rounds := often(24 / c.Size)
			if c.Size > 5 { // brute force has its price
				rounds = often(8-c.Size) / 2
			}
			for range rounds {
				g := random(rng, 8, k)
				if !k.nodes || c.Size < 6 {
					seen.check(t, counted(t, g, c), s.graphletTexts(g, c.Size, c.All, c.Plain))
				}
			}
		}
	}
}

// The mean of drawn graphlets is the number of all of them.
func TestDrawnGraphlets(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 32))
	for _, k := range []kindOfGraph{{}, {nodes: true, edges: true}, {directed: true}} {
		var g *graph.Graph
		for g == nil || g.N() < 10 || g.M() < 20 || g.M() > 40 {
			g = random(rng, 14, k)
		}
		for _, c := range []count.Graphlets{{Size: 3}, {Size: 5, Plain: true}, {Size: 4, All: true}, {Size: 6, Plain: true}} {
			exact := c
			exact.Samples = 1 << 30
			meanIs(t, counted(t, g, exact), often(60), func(seed uint64) map[uint64]float64 {
				c := c
				c.Samples, c.Seed = 40, seed
				return counted(t, g, c)
			})
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
						_, counts, err := count.Of(count.Input{Graph: g}, count.Graphlets{Size: size, Samples: samples})
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
