package count_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/count"
)

// undirected returns the graph of n nodes whose possible edges are the bits of
// mask.
func undirected(n int, mask uint) *graph.Graph {
	var edges []graph.Edge
	for v := range int32(n) {
		for u := range v {
			if mask&1 != 0 {
				edges = append(edges, graph.Edge{U: u, V: v})
			}
			mask >>= 1
		}
	}
	g, err := graph.New(n, false, edges)
	if err != nil {
		panic(err)
	}
	return g
}

// everyGraph returns the graphs of up to six nodes: every adjacency matrix, 2¹⁵ of
// them for six nodes, or, where the tests are to be short, one of each isomorphism
// class in some numbering, 208 in all.
var everyGraph = sync.OnceValue(func() (all []*graph.Graph) {
	rng := rand.New(rand.NewPCG(0, 1))
	for n := range 7 {
		met := map[string]bool{}
		for mask := range uint(1) << (n * (n - 1) / 2) {
			g := undirected(n, mask)
			if !long {
				order, _, err := canon.Form(g, nil)
				codes, err2 := canon.Codes(g)
				if err != nil || err2 != nil {
					panic(errors.Join(err, err2))
				}
				form := fmt.Sprint(permute(codes, order))
				if met[form] {
					continue
				}
				met[form] = true
				perm := make([]int32, n)
				for v, p := range rng.Perm(n) {
					perm[v] = int32(p)
				}
				g = g.Renumber(perm)
			}
			all = append(all, g)
		}
	}
	return all
})

// long is whether tests take the time they can use.
var long = os.Getenv("SANFLOW_LONG") != ""

// often is n, or as many more as a long test takes.
func often(n int) int {
	if long {
		return 20 * n
	}
	return n
}

// kindOfGraph says what random graphs have.
type kindOfGraph struct{ directed, nodes, edges, sparse, numbers bool }

var kindsOfGraphs = []kindOfGraph{
	{}, {directed: true}, {nodes: true}, {edges: true}, {nodes: true, edges: true}, {directed: true, nodes: true, edges: true},
	{nodes: true, edges: true, sparse: true, numbers: true}, {directed: true, numbers: true}, {sparse: true},
}

// random returns a graph of up to most nodes.
func random(rng *rand.Rand, most int, k kindOfGraph) *graph.Graph {
	n := rng.IntN(most + 1)
	p := rng.Float64()
	var edges []graph.Edge
	for v := range int32(n) {
		for u := range int32(n) {
			if u != v && (k.directed || u < v) && rng.Float64() < p {
				edges = append(edges, graph.Edge{U: u, V: v})
			}
		}
	}
	g, err := graph.New(n, k.directed, edges)
	if err != nil {
		panic(err)
	}
	if k.nodes {
		g.NodeCats = 2
		for range 2 * n {
			g.NodeCat = append(g.NodeCat, rng.Int32N(2))
		}
	}
	if k.sparse {
		g.SparseCard, g.SparseOffsets = 3, []int32{0}
		for range n {
			for x := range int32(3) {
				if rng.IntN(4) == 0 {
					g.NodeSparse = append(g.NodeSparse, x)
				}
			}
			g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		}
	}
	if k.numbers {
		g.NodeAttrs, g.EdgeAttrs = 2, 1
		for range 2 * n {
			g.NodeAttr = append(g.NodeAttr, rng.Float32()*2-1)
		}
		g.EdgeAttr = make([]float32, len(g.Neighbors))
	}
	if k.edges {
		g.EdgeCats, g.EdgeCat = 1, make([]int32, len(g.Neighbors))
	}
	for v := range int32(n) {
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			back := g.Entry(g.Neighbors[i], v)
			cat, attr := rng.Int32N(2), rng.Float32()
			if k.edges {
				g.EdgeCat[i] = cat
			}
			if k.numbers {
				g.EdgeAttr[i] = attr
			}
			if !k.directed {
				if k.edges {
					g.EdgeCat[back] = cat
				}
				if k.numbers {
					g.EdgeAttr[back] = attr
				}
			}
		}
	}
	if err := g.Check(); err != nil {
		panic(err)
	}
	return g
}

func counted(t testing.TB, g *graph.Graph, of ...count.Counter) map[uint64]float64 {
	t.Helper()
	ids, counts, err := count.Of(count.Input{Graph: g}, of...)
	if err != nil {
		t.Fatalf("%v: %v", of, err)
	}
	m := map[uint64]float64{}
	for i, id := range ids {
		if i > 0 && id <= ids[i-1] {
			t.Fatalf("%v: ids are not strictly ascending", of)
		}
		m[id] = counts[i]
	}
	return m
}

// classes tells graphs apart by their counts.
type classes map[string]string

// check remembers what ids a graph has for what is known of it by brute force, and
// the other way round.
func (c classes) check(t testing.TB, ids map[uint64]float64, truth map[string]float64) {
	t.Helper()
	a, b := "ids "+fmt.Sprint(ids), "truth "+fmt.Sprint(truth) // maps print in order of their keys
	for _, p := range [][2]string{{a, b}, {b, a}} {
		if was, ok := c[p[0]]; ok && was != p[1] {
			t.Fatalf("%s\nis both %s\nand %s", p[0], was, p[1])
		}
		c[p[0]] = p[1]
	}
	if got, want := sortedValues(ids), sortedValues(truth); !slices.Equal(got, want) {
		t.Fatalf("counts %v, want %v: %v", got, want, truth)
	}
}

func sortedValues[K comparable](m map[K]float64) []float64 {
	var v []float64
	for _, x := range m {
		v = append(v, x)
	}
	slices.Sort(v)
	return v
}

// all is a counter of each kind, by itself and with other settings.
var all = []count.Counter{
	count.WL{}, count.WL{Height: 1}, count.WL{Height: 4}, count.WL{Height: 2, Coarse: 1}, count.WL{Height: 2, Coarse: 2},
	count.Labels{}, count.Labels{Each: true}, count.Size{}, count.Profiles{}, count.Statistics{}, count.Attributes{},
	count.Paths{},
	count.Fields{K: []int{3}}, count.Fields{K: []int{1, 4, 9}},
	count.Fields{K: []int{70}},
}

// What is counted does not depend on the numbering of the nodes.
func TestRenumbered(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range often(54) {
		g := random(rng, 9, kindsOfGraphs[i%len(kindsOfGraphs)])
		perm := make([]int32, g.N())
		for v, p := range rng.Perm(g.N()) {
			perm[v] = int32(p)
		}
		for _, c := range all {
			if a, b := counted(t, g, c), counted(t, g.Renumber(perm), c); !reflect.DeepEqual(a, b) {
				t.Fatalf("%v of %+v: %v, renumbered %v", c, g, a, b)
			}
		}
	}
}

// A fork gives the same for each graph, whatever it has counted before.
func TestForkKeepsNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range all {
		fork, err := count.Prepare(c)
		if err != nil {
			t.Fatal(err)
		}
		if fork.String() != c.String() {
			t.Errorf("a fork of %v is called %v", c, fork)
		}
		for i := range often(18) {
			g := random(rng, 12, kindsOfGraphs[i%len(kindsOfGraphs)])
			if a, b := counted(t, g, c), counted(t, g, count.Counter(plainly{fork})); !reflect.DeepEqual(a, b) {
				t.Fatalf("%v: %v, of a fork %v", c, a, b)
			}
		}
	}
}

// plainly is a counter of one worker.
type plainly struct{ count.Worker }

func (p plainly) Prepare() (count.Worker, error) { return p.Worker, nil }

// Different counters have no ids in common.
func TestDisjoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	kinds := []count.Counter{
		count.WL{Height: 2}, count.Labels{}, count.Size{}, count.Paths{}, count.Fields{K: []int{3}}, count.Attributes{},
	}
	for i := range 90 {
		g := random(rng, 8, kindsOfGraphs[i%len(kindsOfGraphs)])
		n := 0
		for _, c := range kinds {
			n += len(counted(t, g, c))
		}
		if got := len(counted(t, g, kinds...)); got != n {
			t.Fatalf("%d ids together, %d apart", got, n)
		}
	}
}

// An empty graph has nothing in it, and many empty things nothing either.
func TestEmpty(t *testing.T) {
	for _, g := range []*graph.Graph{{}, {Directed: true}, {Offsets: []int32{0}, NodeCats: 2, EdgeAttrs: 1}} {
		if m := counted(t, g, all...); len(m) != 0 {
			t.Errorf("there is %v in an empty graph", m)
		}
	}
}

// The ids of every version are these.
func TestGolden(t *testing.T) {
	g := undirected(4, 0b100111) // a triangle with a tail
	labelled := *g
	labelled.NodeCats, labelled.NodeCat = 1, []int32{0, 1, 0, 2}
	labelled.EdgeCats, labelled.EdgeCat = 1, make([]int32, len(g.Neighbors))
	for _, c := range []struct {
		of     count.Counter
		g      *graph.Graph
		ids    []uint64
		counts []float64
	}{
		{count.WL{Height: 1}, g, []uint64{0x1cd5bf8dfa56e87f, 0x34e808aabc56e49e, 0x7d6105143b5b9391, 0x91ca2920911cdbb1, 0x98c142126df47521, 0xc7995181b074438d}, []float64{1, 1, 2, 1, 1, 2}},
		{count.WL{Height: 1}, &labelled, []uint64{0x2f4ade546ef12966, 0x579386f77e194622, 0x57d66a8646bc31c3, 0x5b4e6761c16fcd37, 0x86a581ff38c420d3, 0xaa8c744bf16871da, 0xb7c563481acdac17}, []float64{1, 1, 1, 2, 1, 1, 1}},
		{count.Labels{}, &labelled, []uint64{0x65ff1ebd1ae0290c, 0xda60eb8f6883b4d4, 0xfe7525d071be05e6}, []float64{2, 1, 1}},
		{count.Paths{}, &labelled, []uint64{0x5c77d5758b812ca9, 0x638c018a4dff780f, 0x7c1f27d78cb9b177, 0xbb7212d5776f7f93, 0xecd47938c9d7efef}, []float64{1, 2, 1, 1, 1}},
		{count.Fields{K: []int{3}}, &labelled, []uint64{0x17c3db2c75c36ddd, 0x6dee302379829c6b, 0xf50f9b7eb4d26364, 0xf7c2a9d15666c5da}, []float64{1, 1, 1, 1}},
		{count.Fields{K: []int{12}}, g, []uint64{0xbbfdce5dbed75f0c, 0xcd960498b103b42a, 0xcda0690c38ff2ebe}, []float64{2, 1, 1}},
		{count.Size{}, g, []uint64{0x9cbd541ee181e237, 0xdbce034a316642a1}, []float64{4, 4}},
	} {
		ids, counts, err := count.Of(count.Input{Graph: c.g}, c.of)
		if err != nil || !slices.Equal(ids, c.ids) || !slices.Equal(counts, c.counts) {
			t.Errorf("%#v: %#x, %v, %v", c.of, ids, counts, err)
		}
	}
	// The formula of the documentation, term by term.
	h := uint64(0)
	for _, x := range []uint64{'a', 'b', 7} {
		z := (h + 0x9e3779b97f4a7c15) ^ x
		z ^= z >> 30
		z *= 0xbf58476d1ce4e5b9
		z ^= z >> 27
		z *= 0x94d049bb133111eb
		h = z ^ z>>31
	}
	if got := count.Kind("ab").Add(7); uint64(got) != h {
		t.Errorf("%#x, want %#x", got, h)
	}
}

// bad is a counter that fails, or adds what is no count.
type bad struct {
	n   float64
	err error
}

func (bad) String() string { return "bad" }

func (b bad) Prepare() (count.Worker, error) { return b, nil }

func (b bad) Count(_ count.Input, bag *count.Bag) error {
	bag.Add(7, b.n)
	return b.err
}

func TestErrors(t *testing.T) {
	g := undirected(3, 7)
	for want, c := range map[string]count.Counter{
		"count: wl(height=-1): Height is -1, want 0 to 65536":   count.WL{Height: -1},
		"count: bad: the count of 0x7 is NaN, beyond float32":   bad{n: math.NaN()},
		"count: bad: the count of 0x7 is 1e+39, beyond float32": bad{n: 1e39},
		"count: bad: no": bad{err: errors.New("no")},
	} {
		if _, _, err := count.Of(count.Input{Graph: g}, c); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range all {
		if _, _, err := count.Of(count.Input{Graph: g, Context: ctx}, c); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// A bag is a map.
func TestBag(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	var b count.Bag
	for range often(12) {
		want := map[uint64]float64{}
		for range rng.IntN(3000) {
			id := uint64(rng.IntN(1 << rng.IntN(20)))
			if rng.IntN(2) == 0 {
				id <<= 40
			}
			want[id]++
			b.Add(id, 1)
			if rng.IntN(100) == 0 {
				b.Entries()
			}
		}
		got, last := map[uint64]float64{}, uint64(0)
		for i, e := range b.Entries() {
			if i > 0 && e.ID <= last {
				t.Fatal("ids are not strictly ascending")
			}
			got[e.ID], last = e.Count, e.ID
		}
		if !reflect.DeepEqual(got, want) || len(b.Entries()) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		b.Reset()
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]count.Counter{
		"wl": count.WL{}, "WL( Height = 2 , rounded)": count.WL{Height: 2, Rounded: true}, "size": count.Size{}, "labels()": count.Labels{},
		`around(bins={"Nodes":[[0.5],null]})`: count.Around{Bins: count.Bins{Nodes: []count.Cuts{{0.5}, nil}}},
	} {
		c, err := count.Parse(text)
		if err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%s: %#v, %v", text, c, err)
		}
		again, err := count.Format(c)
		if back, err2 := count.Parse(again); err != nil || err2 != nil || !reflect.DeepEqual(back, want) || c.String() != again {
			t.Errorf("%s: %s, %v, %v", text, again, err, err2)
		}
	}
	for text, want := range map[string]string{
		"":           `count: unknown counter "", want one of `,
		"wl(hight)":  `count: "wl(hight)": there is no setting "hight", want one of Height, Triangles, Rounded`,
		"wl(height=": `count: "wl(height=" does not end in a parenthesis`,
	} {
		if _, err := count.Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := count.Format(bad{}); err == nil || err.Error() != "count: count_test.bad is not known by a name: count.Register gives it one" {
		t.Error(err)
	}
	if err := count.Register("wl", bad{}); err == nil {
		t.Error("a name is taken twice")
	}
}

// permute returns the matrix codes, (n, n), with the node order[i] in row and
// column i.
func permute(codes []uint16, order []int32) []uint16 {
	n := len(order)
	out := make([]uint16, n*n)
	for i, u := range order {
		for j, v := range order {
			out[i*n+j] = codes[int(u)*n+int(v)]
		}
	}
	return out
}
