package count

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/generate"
)

func randomGraph(t *testing.T, n, m int) *graph.Graph {
	g, err := generate.ErdosRenyi(n, m, 7)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// distance is 1000 where there is no way.
func distance(g *graph.Graph, from, to int32) int32 {
	d := make([]int32, g.N())
	for i := range d {
		d[i] = 1000
	}
	d[from] = 0
	for range g.N() {
		for u := range int32(g.N()) {
			for _, v := range g.Adj(u) {
				d[v] = min(d[v], d[u]+1)
			}
		}
	}
	return d[to]
}

func TestCommon(t *testing.T) {
	g := randomGraph(t, 30, 120)
	for u := range int32(30) {
		for v := range int32(30) {
			count, aa := 0., 0.
			for w := range int32(30) {
				if g.Entry(u, w) >= 0 && g.Entry(v, w) >= 0 {
					count++
					aa += 1 / math.Log(float64(g.Degree(w)))
				}
			}
			if u == v {
				continue
			}
			if c, a := common(g, u, v); c != count || math.Abs(a-aa) > 1e-12 {
				t.Errorf("%d and %d: %v, %v, want %v, %v", u, v, c, a, count, aa)
			}
		}
	}
}

// powers is P⁰ … Pⁿ with the mean over neighbours P, or A⁰ … Aⁿ with the matrix of
// the graph, by multiplication.
func powers(g *graph.Graph, n int, random bool) [][][]float64 {
	one := make([][]float64, g.N())
	for v := range one {
		one[v] = make([]float64, g.N())
		one[v][v] = 1
	}
	all := [][][]float64{one}
	for range n {
		last := all[len(all)-1]
		next := make([][]float64, g.N())
		for v := range next {
			next[v] = make([]float64, g.N())
			for _, u := range g.Adj(int32(v)) {
				for w, x := range last[u] {
					if random {
						x /= float64(g.Degree(int32(v)))
					}
					next[v][w] += x
				}
			}
		}
		all = append(all, next)
	}
	return all
}

// Walks from both ends that meet are walks from one end to the other.
func TestWalksMeet(t *testing.T) {
	g := randomGraph(t, 14, 25)
	chances, numbers := powers(g, 2*walkSteps, true), powers(g, 2*walkSteps, false)
	var s pairCounter
	var scorer LinkScorer
	for u := range int32(14) {
		for v := range int32(14) {
			if u == v {
				continue
			}
			katz, weight := 0., 1.
			for length := 1; length <= 2*walkSteps; length++ {
				weight *= katzBeta
				katz += weight * numbers[length][u][v]
			}
			if got := scorer.Score(g, u, v); math.Abs(got.Katz-katz) > 1e-12 || got.Degrees != float64(g.Degree(u)*g.Degree(v)) {
				t.Errorf("%d, %d: %+v, want Katz %v", u, v, got, katz)
			}
			s.walks[0].from(g, u, true)
			s.walks[1].from(g, v, true)
			for length := 2; length <= 2*walkSteps; length++ {
				want := 0.
				if g.Degree(v) > 0 {
					want = chances[length][u][v] / float64(g.Degree(v))
				}
				if got := s.walks.meet(g, length); math.Abs(got-want) > 1e-12 {
					t.Errorf("%d, %d: %v after %d edges, want %v", u, v, got, length, want)
				}
			}
		}
	}
}

// attributed gives the nodes of g attributes.
func attributed(g *graph.Graph) *graph.Graph {
	r := rand.New(rand.NewPCG(7, 8))
	g.SparseCard, g.SparseOffsets, g.NodeAttrs = 6, []int32{0}, 2
	for range g.N() {
		for i := range int32(6) {
			if r.IntN(2) == 0 {
				g.NodeSparse = append(g.NodeSparse, i)
			}
		}
		g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		g.NodeAttr = append(g.NodeAttr, float32(r.IntN(5)), r.Float32())
	}
	return g
}

// Words depend neither on which end is first, nor on the numbers of the nodes, nor
// on the pairs before.
func TestWordsAreThoseOfThePair(t *testing.T) {
	g := attributed(randomGraph(t, 60, 130))
	r := rand.New(rand.NewPCG(1, 9))
	perm := make([]int32, g.N())
	for v, to := range r.Perm(g.N()) {
		perm[v] = int32(to)
	}
	h := g.Renumber(perm)
	var used pairCounter
	words := func(s *pairCounter, g *graph.Graph, u, v int32) []Entry {
		var bag Bag
		must(s.Count(Input{Graph: g, Roots: []int32{u, v}}, &bag))
		return slices.Clone(bag.Entries())
	}
	for range 200 {
		u, v := r.Int32N(60), r.Int32N(60)
		if u == v {
			continue
		}
		want := words(&used, g, u, v)
		if !slices.Equal(words(&used, g, v, u), want) {
			t.Errorf("%d, %d: other words from the other side", u, v)
		}
		if !slices.Equal(words(new(pairCounter), h, perm[u], perm[v]), want) {
			t.Errorf("%d, %d: other words by other numbers", u, v)
		}
	}
}

// The words of nodes count each node up to two hops from an end once.
func TestWordsOfNodes(t *testing.T) {
	g := randomGraph(t, 50, 90)
	var s pairCounter
	for u := range int32(49) {
		v := u + 1
		want := map[uint64]float64{}
		for w := range int32(50) {
			a, b := distance(g, u, w), distance(g, v, w)
			if min(a, b) <= ball {
				where := min(a, b)*beyond + min(max(a, b), beyond-1)
				want[uint64(kindPairNode.Add(uint64(where)))]++
			}
		}
		var bag Bag
		must(s.Count(Input{Graph: g, Roots: []int32{u, v}}, &bag))
		got := map[uint64]float64{}
		for _, e := range bag.Entries() {
			got[e.ID] = e.Count
		}
		for id, n := range want {
			if got[id] != n {
				t.Errorf("%d, %d: %v of a kind of node, want %v", u, v, got[id], n)
			}
		}
	}
}

// If a hub is in the way of walks from one end, the words are those of the ends
// exchanged all the same, and so is what Katz says.
func TestHubBesideOneEnd(t *testing.T) {
	const leaves = walkBudget + 10
	edges := []graph.Edge{{U: 0, V: 1}, {U: 2, V: 3}, {U: 3, V: 0}}
	for i := range int32(leaves) {
		edges = append(edges, graph.Edge{U: 1, V: 4 + i})
	}
	g, err := graph.New(4+leaves, false, edges)
	if err != nil {
		t.Fatal(err)
	}
	var s pairCounter
	var one, other Bag
	must(s.Count(Input{Graph: g, Roots: []int32{0, 2}}, &one))
	must(s.Count(Input{Graph: g, Roots: []int32{2, 0}}, &other))
	if !slices.Equal(one.Entries(), other.Entries()) {
		t.Error("words depend on which end is first")
	}
	var scorer LinkScorer
	if a, b := scorer.Score(g, 0, 2).Katz, scorer.Score(g, 2, 0).Katz; a != b {
		t.Errorf("Katz says %v, of the ends exchanged %v", a, b)
	}
}

// Hubs end the walks: what is not known has a word of its own, and memory of them
// is no longer there for the pair that follows.
func TestHubsEndWalks(t *testing.T) {
	var edges []graph.Edge
	const n = 1200
	for v := int32(2); v < n; v++ { // two hubs of the same neighbours
		edges = append(edges, graph.Edge{U: 0, V: v}, graph.Edge{U: 1, V: v})
	}
	for i := int32(2); i < 202; i++ {
		for j := int32(202); j < 702; j++ {
			edges = append(edges, graph.Edge{U: i, V: j})
		}
	}
	g, err := graph.New(n, false, edges)
	if err != nil {
		t.Fatal(err)
	}
	var s pairCounter
	var bag Bag
	must(s.Count(Input{Graph: g, Roots: []int32{0, 1}}, &bag))
	if !s.walks[0].after[1].known || s.walks[0].after[2].known {
		t.Fatalf("walks of %v, %v edges are known", s.walks[0].after[1].known, s.walks[0].after[2].known)
	}
	if !math.IsNaN(s.walks.meet(g, 4)) || math.IsNaN(s.walks.meet(g, 2)) {
		t.Errorf("after 2 and 4 edges: %v, %v", s.walks.meet(g, 2), s.walks.meet(g, 4))
	}
	var again, fresh Bag
	must(s.Count(Input{Graph: g, Roots: []int32{1100, 1101}}, &again))
	must(new(pairCounter).Count(Input{Graph: g, Roots: []int32{1100, 1101}}, &fresh))
	if !slices.Equal(again.Entries(), fresh.Entries()) {
		t.Error("words of a pair depend on the pair before")
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
