package refine_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// levels returns breadth-first distances from node 0 of the nodes that it
// reaches, ascending, with the graph that these nodes induce renumbered in
// that order.
func levels(g *graph.Graph) ([]uint8, *graph.Graph) {
	order, dist := []int32{0}, map[int32]uint8{0: 0}
	for i := 0; i < len(order); i++ {
		for _, v := range g.Adj(order[i]) {
			if _, ok := dist[v]; !ok {
				dist[v] = dist[order[i]] + 1
				order = append(order, v)
			}
		}
	}
	var edges []graph.Edge
	out := make([]uint8, len(order))
	for i, u := range order {
		out[i] = dist[u]
		for _, v := range g.Adj(u) {
			edges = append(edges, graph.Edge{U: int32(i), V: int32(slices.Index(order, v))})
		}
	}
	h, err := graph.New(len(order), false, edges)
	if err != nil {
		panic(err)
	}
	return out, h
}

func wordsOf(g *graph.Graph) []uint64 {
	rows := make([]uint64, g.N())
	for v := range rows {
		for _, u := range g.Adj(int32(v)) {
			rows[v] |= 1 << u
		}
	}
	return rows
}

func cellsOf(p *refine.Partition) (cells []uint64) {
	for i := 0; i < p.N(); {
		cell := uint64(0)
		for _, v := range p.Cell(i) {
			cell |= 1 << v
		}
		cells = append(cells, cell)
		i += bits.OnesCount64(cell)
	}
	return cells
}

// checkWords compares the two ways to number colours, from given levels.
func checkWords(t *testing.T, g *graph.Graph, dist []uint8) {
	t.Helper()
	rows := refine.Rows{Off: g.Offsets, Nbr: g.Neighbors}
	var r refine.Refiner
	var w refine.Words
	start := func() {
		r.Reset(g.N())
		r.SplitLevels(dist)
		w.Reset(len(dist), refine.Starts(dist))
	}
	start()
	r.Number(rows, 0, 0)
	w.Number(wordsOf(g), 0, false)
	want := cellsOf(&r.Partition)
	if got := w.AppendCells(nil); !slices.Equal(got, want) {
		t.Fatalf("levels %v of %v: cells %x, want %x", dist, g.Neighbors, got, want)
	}
	for cut := 1; cut < g.N(); cut++ {
		start()
		r.Number(rows, 0, cut)
		w.Number(wordsOf(g), cut, false)
		set := uint64(0)
		for _, v := range r.Elems[:r.Start(r.Elems[cut])] {
			set |= 1 << v
		}
		before, cell := w.At(cut)
		if before != set || bits.OnesCount64(cell) < 1 {
			t.Fatalf("cut %d, levels %v of %v: %x before it, want %x", cut, dist, g.Neighbors, before, set)
		}
		// Stopping at twins must not stop too early.
		start()
		w.Number(wordsOf(g), cut, true)
		if b, _ := w.At(cut); b != set {
			t.Fatalf("cut %d, levels %v of %v, twins: %x before it, want %x", cut, dist, g.Neighbors, b, set)
		}
	}
}

func TestWordsNumberAsRefinerDoes(t *testing.T) {
	race.Skip(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 1500 {
		n := 1 + rng.IntN(64)
		dist, g := levels(randomGraph(rng, n, rng.IntN(3*n), false))
		checkWords(t, g, dist)
		// Levels that no search left, over isolated nodes too.
		h := randomGraph(rng, n, rng.IntN(2*n), false)
		any := make([]uint8, n)
		for v := 1; v < n; v++ {
			any[v] = any[v-1] + uint8(rng.IntN(10)/9)
		}
		checkWords(t, h, any)
		if i%4 == 0 { // many ties: two copies of a graph, joined in node 0
			m := 1 + rng.IntN(31)
			var edges []graph.Edge
			for range rng.IntN(2 * m) {
				u, v := int32(rng.IntN(m)), int32(rng.IntN(m))
				edges = append(edges, graph.Edge{U: u, V: v}, graph.Edge{U: u + int32(m), V: v + int32(m)})
			}
			edges = append(edges, graph.Edge{U: 0, V: int32(m)})
			h, err := graph.New(2*m, false, edges)
			if err != nil {
				t.Fatal(err)
			}
			dist, h := levels(h)
			checkWords(t, h, dist)
		}
	}
}

func TestInterchangeable(t *testing.T) {
	//   0 ─ 1, 2, 3;  2 ─ 3
	rows := []uint64{0b1110, 0b0001, 0b1001, 0b0101}
	for _, c := range []struct {
		nodes uint64
		want  bool
	}{{0b1100, true}, {0b0110, false}, {0b1110, false}, {0b0010, true}, {0b0011, false}} {
		if got := refine.Interchangeable(rows, c.nodes); got != c.want {
			t.Errorf("%b: %v, want %v", c.nodes, got, c.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add([]byte{1, 0, 2, 0, 3, 1, 4, 2, 4, 3}, uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		n := 1 + int(size)%64
		var edges []graph.Edge
		for i := 0; i+1 < len(data) && i < 400; i += 2 {
			edges = append(edges, graph.Edge{U: int32(int(data[i]) % n), V: int32(int(data[i+1]) % n)})
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		dist, g := levels(g)
		checkWords(t, g, dist)
	})
}

func TestSqueezeRowsIsSqueezeOfEach(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var out [64]uint64
	for range 2000 {
		rows := make([]uint64, 1+rng.IntN(64))
		for i := range rows {
			rows[i] = rng.Uint64()
		}
		mask := rng.Uint64() >> (64 - len(rows))
		if rng.IntN(2) == 0 {
			mask |= rng.Uint64() >> (64 - len(rows))
		}
		n := refine.SqueezeRows(out[:], rows, mask)
		at := 0
		for v, row := range rows {
			if mask>>v&1 == 0 {
				continue
			}
			if want := refine.Squeeze(row, mask); out[at] != want {
				t.Fatalf("%064b in %064b: %064b, want %064b", row, mask, out[at], want)
			}
			at++
		}
		if at != n {
			t.Fatalf("%d rows, want %d", n, at)
		}
	}
}

// Levels are the cells, and splitting them by an order is what splitting by
// comparing is.
func TestSplitLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		n := 1 + rng.IntN(64)
		value := make([]int, n)
		levels, cells := make([]uint8, n), []uint64(nil)
		for v := range n {
			value[v] = rng.IntN(1 + rng.IntN(5))
			if v > 0 {
				levels[v] = levels[v-1] + uint8(rng.IntN(8)/7)
			}
			if v == 0 || levels[v] != levels[v-1] {
				cells = append(cells, 0)
			}
			cells[len(cells)-1] |= 1 << v
		}
		var w refine.Words
		w.Reset(len(levels), refine.Starts(levels))
		if got := w.AppendCells(nil); !slices.Equal(got, cells) {
			t.Fatalf("cells %b, want %b", got, cells)
		}
		var want []uint64
		for _, c := range cells {
			var parts [5]uint64
			for v := range n {
				parts[value[v]] |= c & (1 << v)
			}
			for _, p := range parts {
				if p != 0 {
					want = append(want, p)
				}
			}
		}
		w.SplitLeast(func(nodes uint64) uint64 {
			least, first := 5, uint64(0)
			for v := range n {
				switch {
				case nodes>>v&1 == 0 || value[v] > least:
				case value[v] < least:
					least, first = value[v], 1<<v
				default:
					first |= 1 << v
				}
			}
			return first
		})
		if got := w.AppendCells(nil); !slices.Equal(got, want) || w.Discrete() != (len(want) == n) {
			t.Fatalf("cells %b, want %b; discrete %v", got, want, w.Discrete())
		}
	}
}
