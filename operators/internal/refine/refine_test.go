package refine_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

func randomGraph(rng *rand.Rand, n, m int, directed bool) *graph.Graph {
	edges := make([]graph.Edge, m)
	for i := range edges {
		edges[i] = graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))}
	}
	g, err := graph.New(n, directed, edges)
	if err != nil {
		panic(err)
	}
	return g
}

func withEdgeTypes(rng *rand.Rand, g *graph.Graph, types int) *graph.Graph {
	h := *g
	h.EdgeCats = 1
	h.EdgeCat = make([]int32, len(g.Neighbors))
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			i := g.Entry(u, v)
			h.EdgeCat[i] = int32(rng.IntN(types))
			if !g.Directed && v < u {
				h.EdgeCat[i] = h.EdgeCat[g.Entry(v, u)]
			}
		}
	}
	return &h
}

// plain is colour refinement as one would write it on a board: each round,
// nodes are renumbered by the sorted signature of colour and neighbour colours.
func plain(rows refine.Rows, colors []int, rounds int) []int {
	n := len(colors)
	for range rounds {
		signatures := make([][][3]int, n)
		for u := range n {
			signatures[u] = [][3]int{{colors[u]}}
		}
		for u := range n {
			for i := rows.Off[u]; i < rows.Off[u+1]; i++ {
				code := 0
				if rows.Code != nil {
					code = int(rows.Code[i])
				}
				v := rows.Nbr[i]
				signatures[v] = append(signatures[v], [3]int{1, colors[u], code})
			}
		}
		for u := range n {
			slices.SortFunc(signatures[u][1:], func(a, b [3]int) int { return slices.Compare(a[:], b[:]) })
		}
		compare := func(a, b [][3]int) int {
			return slices.CompareFunc(a, b, func(x, y [3]int) int { return slices.Compare(x[:], y[:]) })
		}
		sorted := slices.Clone(signatures)
		slices.SortFunc(sorted, compare)
		sorted = slices.CompactFunc(sorted, func(a, b [][3]int) bool { return compare(a, b) == 0 })
		next := make([]int, n)
		for u := range n {
			next[u], _ = slices.BinarySearchFunc(sorted, signatures[u], compare)
		}
		colors = next
	}
	return colors
}

// places returns for every node the number of nodes of smaller colour.
func places(colors []int) []int {
	sorted := slices.Sorted(slices.Values(colors))
	out := make([]int, len(colors))
	for v, c := range colors {
		out[v], _ = slices.BinarySearch(sorted, c)
	}
	return out
}

// samePartition reports whether two colourings have the same classes.
func samePartition(a, b []int) bool {
	ab, ba := map[int]int{}, map[int]int{}
	for v := range a {
		if x, ok := ab[a[v]]; ok && x != b[v] {
			return false
		}
		if x, ok := ba[b[v]]; ok && x != a[v] {
			return false
		}
		ab[a[v]], ba[b[v]] = b[v], a[v]
	}
	return true
}

func starts(r *refine.Refiner) []int {
	out := make([]int, r.N())
	for v := range out {
		out[v] = r.Start(int32(v))
	}
	return out
}

func cases(rng *rand.Rand) []*graph.Graph {
	var list []*graph.Graph
	for i := range 300 {
		n := 1 + rng.IntN(30)
		g := randomGraph(rng, n, rng.IntN(2*n+1), i%2 == 1)
		if i%3 == 1 {
			g = withEdgeTypes(rng, g, 3)
		}
		list = append(list, g)
	}
	return list
}

func initial(rng *rand.Rand, n int) []int {
	colors := make([]int, n)
	most := 1 + rng.IntN(3)
	for v := range colors {
		colors[v] = rng.IntN(most)
	}
	return colors
}

func byColor(colors []int) func(u, v int32) int {
	return func(u, v int32) int { return cmp.Compare(colors[u], colors[v]) }
}

func TestRefineEqualsPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var r refine.Refiner // one for all: scratch of one graph must not leak into the next
	var b refine.Builder
	for i, g := range cases(rng) {
		rows := b.Rows(g, true)
		colors := initial(rng, g.N())
		for rounds := range 4 {
			r.Reset(g.N())
			r.SplitFunc(byColor(colors))
			if rounds == 3 {
				rounds = g.N() // until it is stable
			}
			if rounds > 0 {
				r.Number(rows, rounds%g.N(), 0)
			}
			want := places(plain(rows, colors, rounds))
			if !slices.Equal(starts(&r), want) {
				t.Fatalf("graph %d: %d rounds give %v, want %v", i, rounds, starts(&r), want)
			}
		}
		r.Reset(g.N())
		r.SplitFunc(byColor(colors))
		r.QueueAll()
		r.Refine(rows)
		want := plain(rows, colors, g.N())
		if !samePartition(starts(&r), want) {
			t.Fatalf("graph %d: stable partition %v, want the classes of %v", i, starts(&r), want)
		}
		for v := range int32(g.N()) {
			for w := range int32(g.N()) {
				if colors[v] < colors[w] && r.Start(v) >= r.Start(w) {
					t.Fatalf("graph %d: nodes %d and %d left the order of their colours", i, v, w)
				}
			}
		}
	}
}

// A cut ends the numbering early, but must not change what stands before it.
func TestNumberUpToACut(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	var full, r refine.Refiner
	var b refine.Builder
	early := 0
	for i, g := range cases(rng) {
		if g.N() < 2 {
			continue
		}
		rows := b.Rows(g, true)
		colors := initial(rng, g.N())
		full.Reset(g.N())
		full.SplitFunc(byColor(colors))
		full.Number(rows, 0, 0)
		for cut := 1; cut < g.N(); cut++ {
			r.Reset(g.N())
			r.SplitFunc(byColor(colors))
			r.Number(rows, 0, cut)
			if r.Cells() < full.Cells() {
				early++
			}
			for v := range int32(g.N()) {
				if (full.Start(full.Elems[cut]) == cut) != (r.Start(r.Elems[cut]) == cut) ||
					full.Start(full.Elems[cut]) == cut && (r.Pos(v) < cut) != (full.Pos(v) < cut) {
					t.Fatalf("graph %d: cut %d after %v, want it as after %v", i, cut, starts(&r), starts(&full))
				}
			}
		}
	}
	if early == 0 {
		t.Error("no numbering ended early")
	}
}

// Stop is asked before every round, and ends the numbering.
func TestNumberStops(t *testing.T) {
	g, _ := graph.New(9, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 4}, {U: 4, V: 5}, {U: 5, V: 6}, {U: 6, V: 7}, {U: 7, V: 8}})
	for stop, want := range []int{1, 2, 3, 4, 5, 5} {
		var r refine.Refiner
		asked := 0
		r.Stop = func() bool { asked++; return asked > stop }
		r.Reset(g.N())
		r.Number(refine.Rows{Off: g.Offsets, Nbr: g.Neighbors}, 0, 0)
		if r.Cells() != want {
			t.Errorf("stopped before round %d: %d cells, want %d", stop+1, r.Cells(), want)
		}
	}
}

// The order of cells, and the trace, must not know node numbers.
func TestOrderIgnoresNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i, g := range cases(rng) {
		colors := initial(rng, g.N())
		pick := int32(rng.IntN(g.N()))
		run := func(g *graph.Graph, colors []int, pick int32) ([]int, []int32) {
			var r refine.Refiner
			var b refine.Builder
			rows := b.Rows(g, true)
			r.Tracing = true
			r.Reset(g.N())
			r.SplitFunc(byColor(colors))
			r.QueueAll()
			r.Refine(rows)
			r.Individualize(pick)
			r.Refine(rows)
			return starts(&r), r.Trace
		}
		perm := make([]int32, g.N())
		moved := make([]int, g.N())
		for v, p := range rng.Perm(g.N()) {
			perm[v] = int32(p)
			moved[p] = colors[v]
		}
		want, trace := run(g, colors, pick)
		got, trace2 := run(g.Renumber(perm), moved, perm[pick])
		for v := range want {
			if got[perm[v]] != want[v] {
				t.Fatalf("graph %d: node %d has colour %d, renumbered %d", i, v, want[v], got[perm[v]])
			}
		}
		if !slices.Equal(trace, trace2) {
			t.Fatalf("graph %d: trace differs:\n%v\n%v", i, trace, trace2)
		}
	}
}

// Individualising after refinement gives the same classes as starting from the
// finer colouring.
func TestIndividualize(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var r refine.Refiner
	var b refine.Builder
	for i, g := range cases(rng) {
		rows := b.Rows(g, true)
		pick := rng.IntN(g.N())
		r.Reset(g.N())
		r.QueueAll()
		r.Refine(rows)
		r.Individualize(int32(pick))
		r.Refine(rows)
		colors := make([]int, g.N())
		colors[pick] = 1
		if want := plain(rows, colors, g.N()); !samePartition(starts(&r), want) {
			t.Fatalf("graph %d: %v, want the classes of %v", i, starts(&r), want)
		}
	}
}

// automorphic reports by brute force whether an automorphism that respects the
// colours takes v to w.
func automorphic(g *graph.Graph, colors []int, v, w int32) bool {
	n := int32(g.N())
	image := make([]int32, 0, n)
	used := make([]bool, n)
	var extend func() bool
	extend = func() bool {
		u := int32(len(image))
		if u == n {
			return true
		}
		for x := range n {
			if used[x] || colors[x] != colors[u] || u == v && x != w {
				continue
			}
			ok := true
			for y := range u {
				if (g.Entry(u, y) >= 0) != (g.Entry(x, image[y]) >= 0) || (g.Entry(y, u) >= 0) != (g.Entry(image[y], x) >= 0) {
					ok = false
					break
				}
			}
			if ok {
				used[x] = true
				image = append(image, x)
				if extend() {
					return true
				}
				image = image[:u]
				used[x] = false
			}
		}
		return false
	}
	return extend()
}

// Alike may be silent, but must not be wrong: all graphs of up to six nodes, and
// random sparse ones, where whole cells must be orbits, also after one more node
// is individualised.
func TestAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var list []*graph.Graph
	for n := 2; n <= 6; n++ {
		for mask := 0; mask < 1<<(n*(n-1)/2); mask += 1 + n/6*2 {
			var edges []graph.Edge
			bit := mask
			for u := range int32(n) {
				for v := u + 1; v < int32(n); v++ {
					if bit&1 == 1 {
						edges = append(edges, graph.Edge{U: u, V: v})
					}
					bit >>= 1
				}
			}
			g, _ := graph.New(n, false, edges)
			list = append(list, g)
		}
	}
	for range 1500 {
		n := 7 + rng.IntN(6)
		list = append(list, randomGraph(rng, n, n/2+rng.IntN(n), rng.IntN(3) == 0))
	}
	var r refine.Refiner
	var b refine.Builder
	counts := map[refine.Likeness]int{}
	for i, g := range list {
		rows := b.Rows(g, false)
		r.Reset(g.N())
		r.QueueAll()
		r.Refine(rows)
		for range 3 {
			colors := starts(&r)
			next := int32(-1)
			for at := 0; at < r.N(); at += r.Size(r.Elems[at]) {
				cell := r.Cell(at)
				if len(cell) == 1 {
					continue
				}
				next = cell[0]
				like := r.Alike(rows, cell[0])
				counts[like]++
				if like == refine.Unknown {
					continue
				}
				for _, w := range cell[1:] {
					if !automorphic(g, colors, cell[0], w) {
						t.Fatalf("graph %d %v: %d and %d are said to be alike (%d), cells %v", i, g.Neighbors, cell[0], w, like, colors)
					}
					if like == refine.Twins {
						for x := range int32(g.N()) {
							if x != w && x != cell[0] && ((g.Entry(x, w) >= 0) != (g.Entry(x, cell[0]) >= 0) || (g.Entry(w, x) >= 0) != (g.Entry(cell[0], x) >= 0)) {
								t.Fatalf("graph %d: %d and %d are no twins", i, cell[0], w)
							}
						}
					}
				}
			}
			if next < 0 {
				break
			}
			r.Individualize(next)
			r.Refine(rows)
		}
	}
	if counts[refine.Alike] == 0 || counts[refine.Twins] == 0 || counts[refine.Unknown] == 0 {
		t.Errorf("one-sided test: %v", counts)
	}
	t.Log(counts)
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	g := randomGraph(rng, 200, 400, false)
	var r refine.Refiner
	rows := refine.Rows{Off: g.Offsets, Nbr: g.Neighbors}
	run := func() {
		r.Reset(g.N())
		r.QueueAll()
		r.Refine(rows)
		r.Reset(g.N())
		r.Number(rows, 0, 0)
	}
	run()
	if a := testing.AllocsPerRun(10, run); a != 0 {
		t.Errorf("%v allocations, want 0", a)
	}
}

func Example() {
	// A path of four nodes: the ends differ from the middle.
	g, _ := graph.New(4, false, []graph.Edge{{U: 2, V: 0}, {U: 0, V: 1}, {U: 1, V: 3}})
	var r refine.Refiner
	r.Reset(g.N())
	r.Number(refine.Rows{Off: g.Offsets, Nbr: g.Neighbors}, 0, 0)
	for v := range int32(4) {
		fmt.Println(v, r.Start(v))
	}
	// Output:
	// 0 2
	// 1 2
	// 2 0
	// 3 0
}

func BenchmarkRefine(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 12))
	star := make([]graph.Edge, 4000)
	for i := range star {
		star[i] = graph.Edge{U: 0, V: int32(i + 1)}
	}
	hub, _ := graph.New(4001, false, star)
	line := make([]graph.Edge, 9999)
	for i := range line {
		line[i] = graph.Edge{U: int32(i), V: int32(i + 1)}
	}
	path, _ := graph.New(10000, false, line)
	for _, c := range []struct {
		name string
		g    *graph.Graph
	}{
		{"n=20,m=30", randomGraph(rng, 20, 30, false)},
		{"n=400,m=1000", randomGraph(rng, 400, 1000, false)},
		{"n=10000,m=20000", randomGraph(rng, 10000, 20000, false)},
		{"star,n=4001", hub},
		{"path,n=10000", path},
	} {
		var r refine.Refiner
		rows := refine.Rows{Off: c.g.Offsets, Nbr: c.g.Neighbors}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(c.g.N())
				r.QueueAll()
				r.Refine(rows)
			}
		})
		b.Run("number,"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(c.g.N())
				r.Number(rows, 0, 0)
			}
		})
	}
}
