package count_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// findGraph makes a random graph with attributes of some kinds.
func findGraph(rng *rand.Rand, directed bool) *graph.Graph {
	n := 1 + rng.IntN(12)
	var edges []graph.Edge
	for u := range int32(n) {
		for v := range int32(n) {
			if u != v && rng.IntN(4) == 0 {
				edges = append(edges, graph.Edge{U: u, V: v})
			}
		}
	}
	g, err := graph.New(n, directed, edges)
	if err != nil {
		panic(err)
	}
	if rng.IntN(2) == 0 {
		g.NodeCats = 2
		for range n {
			g.NodeCat = append(g.NodeCat, rng.Int32N(3), rng.Int32N(2))
		}
	}
	if rng.IntN(2) == 0 {
		g.EdgeCats, g.EdgeAttrs = 1, 1
		type pair [2]int32
		cat := map[pair]int32{}
		for v := range int32(n) {
			for _, u := range g.Adj(v) {
				p := pair{v, u}
				if !directed {
					p = pair{min(u, v), max(u, v)}
				}
				if _, ok := cat[p]; !ok {
					cat[p] = rng.Int32N(3)
				}
				g.EdgeCat = append(g.EdgeCat, cat[p])
				g.EdgeAttr = append(g.EdgeAttr, float32(cat[p])-1)
			}
		}
	}
	if rng.IntN(2) == 0 {
		g.NodeAttrs = 1
		for range n {
			g.NodeAttr = append(g.NodeAttr, []float32{-2, 0, 0.5, 3, float32(math.NaN())}[rng.IntN(5)])
		}
	}
	if rng.IntN(3) == 0 { // a part of a larger graph
		for v := range int32(n) {
			g.Degrees = append(g.Degrees, int32(g.Degree(v))+rng.Int32N(9))
		}
	}
	if rng.IntN(3) == 0 {
		g.SparseCard, g.SparseOffsets = 5, []int32{0}
		for range n {
			for i := range int32(5) {
				if rng.IntN(3) == 0 {
					g.NodeSparse = append(g.NodeSparse, i)
				}
			}
			g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		}
	}
	return g
}

var finders = append(count.Standard(), count.WL{Height: 2}, count.Fields{K: []int{5}},
	count.Labels{Each: true}, count.WL{Height: 2, Coarse: 1}, count.WL{Height: 1, Coarse: 2}, count.Paths{Sources: 3}, count.Around{Hops: 2}, count.Around{Ways: true}, count.Pair{})

// found is what a counter finds: the count of each word, its text, and about what it is.
func found(t *testing.T, c count.Counter, in count.Input) (counts map[uint64]float64, texts map[uint64]string, about map[uint64][]string) {
	t.Helper()
	counts, texts, about = map[uint64]float64{}, map[uint64]string{}, map[uint64][]string{}
	ok, err := count.Find(c, in, count.Dictionary{}, func(o count.Occurrence) {
		counts[o.ID] += o.Count
		text := o.Text()
		if before, ok := texts[o.ID]; ok && before != text {
			t.Fatalf("%s: %#x is named %q and %q", c, o.ID, before, text)
		}
		texts[o.ID] = text
		nodes, edges := o.Nodes, o.Edges
		if o.Members != nil {
			nodes, edges = o.Members()
		}
		for _, v := range o.Nodes {
			if !slices.Contains(nodes, v) {
				t.Fatalf("%s: %q is about %v, which is no member: %v", c, text, v, nodes)
			}
		}
		nodes, edges = slices.Clone(nodes), slices.Clone(edges)
		slices.Sort(nodes)
		slices.SortFunc(edges, func(a, b graph.Edge) int { return int(a.U-b.U)*1000 + int(a.V-b.V) })
		if len(slices.Compact(slices.Clone(nodes))) < len(nodes) || len(slices.Compact(slices.Clone(edges))) < len(edges) {
			t.Fatalf("%s: %q has a member twice: %v %v", c, text, nodes, edges)
		}
		for _, e := range edges {
			if in.Graph.Entry(e.U, e.V) < 0 || !in.Graph.Directed && e.U > e.V {
				t.Fatalf("%s: %q has the member %v, which is no edge", c, text, e)
			}
		}
		about[o.ID] = append(about[o.ID], fmt.Sprint(nodes, edges))
	})
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", c, ok, err)
	}
	return counts, texts, about
}

// What is found adds up to what is counted, and other numbers of the nodes do not change it
// but in the members.
func TestFind(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 1))
	for i := range 60 {
		directed := i%3 == 0
		g := findGraph(rng, directed)
		perm := make([]int32, g.N())
		for v, p := range rng.Perm(g.N()) {
			perm[v] = int32(p)
		}
		other := g.Renumber(perm)
		for _, c := range finders {
			in, again := count.Input{Graph: g}, count.Input{Graph: other}
			switch c.(type) {
			case count.Pair:
				if directed || g.N() < 2 {
					continue
				}
				in.Roots, again.Roots = []int32{0, 1}, []int32{perm[0], perm[1]}
			case count.Around:
				in.Roots, again.Roots = []int32{0}, []int32{perm[0]}
			}
			ids, counts, err := count.Of(in, c)
			if err != nil {
				t.Fatal(err)
			}
			got, texts, about := found(t, c, in)
			if len(got) != len(ids) {
				t.Fatalf("%s: %d words are found, want %d", c, len(got), len(ids))
			}
			for i, id := range ids {
				if math.Abs(got[id]-counts[i]) > 1e-9 {
					t.Errorf("%s: %q is found %v times, want %v", c, texts[id], got[id], counts[i])
				}
			}
			if p, ok := c.(count.Paths); ok && p.Sources == 3 {
				continue // which are searched depends on the numbers
			}
			_, same, moved := found(t, c, again)
			for id, text := range texts {
				if same[id] != text || len(moved[id]) != len(about[id]) {
					t.Errorf("%s: %q is %q of other numbers, %d times and %d", c, text, same[id], len(about[id]), len(moved[id]))
				}
			}
		}
	}
}

// Words that differ have different texts, where these are short.
func TestFindTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 2))
	for range 40 {
		g := findGraph(rng, false)
		for _, c := range []count.Counter{count.Labels{}, count.WL{Height: 1}, count.WL{Height: 1, Triangles: true}, count.Fields{K: []int{3, 5}}, count.Paths{}, count.Size{}} {
			_, texts, _ := found(t, c, count.Input{Graph: g})
			of := map[string]uint64{}
			for id, text := range texts {
				if before, ok := of[text]; ok && before != id {
					t.Errorf("%s: %q names two words", c, text)
				}
				of[text] = id
			}
		}
	}
}

// Of several attributes, a text about one node or edge has the names, and a tree the values.
func TestFindChannels(t *testing.T) {
	g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	g.NodeCat, g.NodeCats = []int32{0, 2, 1, 0}, 2
	g.EdgeCat, g.EdgeCats = []int32{1, 0, 1, 0}, 2
	names := count.Dictionary{
		Node: func(c int, x int32) string { return [][]string{{"C", "O"}, {"0", "1", "2"}}[c][x] }, NodeChannels: []string{"element", "hydrogens"},
		Edge: func(c int, x int32) string { return [][]string{{"-", "="}, {"no", "yes"}}[c][x] }, EdgeChannels: []string{"bond", "ring"},
	}
	in := count.Input{Graph: g}
	rooted := count.Input{Graph: g, Roots: []int32{0}}
	for _, c := range []struct {
		of   count.Counter
		in   count.Input
		want []string
	}{
		{count.Labels{}, in, []string{"label: element=C hydrogens=2", "label: element=O hydrogens=0"}},
		{count.WL{Height: 1}, in, []string{"wl, 0: element=C hydrogens=2", "wl, 0: element=O hydrogens=0", "wl, 1: [C,2]({=,no}[O,0])", "wl, 1: [O,0]({=,no}[C,2])"}},
		{count.Paths{}, in, []string{"path of 1: element=C hydrogens=2 … element=O hydrogens=0"}},
		{count.Around{}, rooted, []string{"of the root: element=C", "of the root: hydrogens=2", "of the root: edge bond==", "of the root: edge ring=no", "at distance 1: element=O", "at distance 1: hydrogens=0"}},
		{count.Around{Ways: true}, rooted, []string{"at distance 1: element=O", "at distance 1 by =: element=O"}},
	} {
		var got []string
		if _, err := count.Find(c.of, c.in, names, func(o count.Occurrence) { got = append(got, o.Text()) }); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !slices.Contains(got, want) {
				t.Errorf("%v: %q, want %q", c.of, got, want)
			}
		}
	}
}

func ExampleFind() {
	// Nitromethane: C, N and two O, joined by bonds of two types.
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 1, V: 3}})
	if err != nil {
		panic(err)
	}
	g.NodeCat, g.NodeCats = []int32{0, 1, 2, 2}, 1
	g.EdgeCat, g.EdgeCats = []int32{0, 0, 1, 1, 1, 1}, 1
	names := count.Dictionary{
		Node: func(_ int, x int32) string { return []string{"C", "N", "O"}[x] },
		Edge: func(_ int, x int32) string { return []string{"-", "="}[x] },
	}
	show := func(o count.Occurrence) { fmt.Println(o.Nodes, o.Text()) }
	for _, c := range []count.Counter{count.WL{Height: 1}, count.Fields{K: []int{3}}} {
		if _, err := count.Find(c, count.Input{Graph: g}, names, show); err != nil {
			panic(err)
		}
	}
	// Output:
	// [0] wl, 0: C
	// [1] wl, 0: N
	// [2] wl, 0: O
	// [3] wl, 0: O
	// [0] wl, 1: C(-N)
	// [1] wl, 1: N(-C)(=O)(=O)
	// [2] wl, 1: O(=N)
	// [3] wl, 1: O(=N)
	// [0] field of 3: C-N=O
	// [1] field of 3: N(-C)=O
	// [2] field of 3: O=N-C
	// [3] field of 3: O=N-C
}

// TestNumbersAreNamed looks for the names of continuous attributes in texts, with what was subtracted from their numbers, and
// for missing ones.
func TestNumbersAreNamed(t *testing.T) {
	g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	g.NodeAttrs, g.NodeAttr = 2, []float32{3, 1, float32(math.NaN()), 1}
	g.EdgeAttrs, g.EdgeAttr = 1, []float32{7, 7}
	names := count.Dictionary{
		NodeNumber: func(channel int) (string, float64) { return []string{"amount", ""}[channel], 1000 },
		EdgeNumber: func(int) (string, float64) { return "time", 0 },
	}
	var got []string
	_, err = count.Find(count.Around{Bins: count.Bins{Nodes: []count.Cuts{{3, 4}, {1, 2}}, Edges: []count.Cuts{{6, 8}}}}, count.Input{Graph: g, Roots: []int32{0}}, names, func(o count.Occurrence) { got = append(got, o.Text()) })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"of the root: amount in [1003, 1004)", "of the root: number 1 in [1, 2)", "of the root: edge time in [6, 8)", "at distance 1: amount missing"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
