package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/sanflow/sanflow/internal/race"
	"math/rand/v2"
	"slices"
	"testing"
)

// plain makes rows and counts of a map of what was met.
func plain(n int, directed bool, edges []Edge) (offsets, neighbors []int32, c Counts) {
	type arc struct{ u, v int32 }
	met := map[arc]bool{}
	adj := make([]map[int32]bool, n)
	for v := range adj {
		adj[v] = map[int32]bool{}
	}
	for _, e := range edges {
		switch {
		case e.U == e.V:
			c.SelfLoops++
			continue
		case met[arc{e.U, e.V}]:
			c.Duplicates++
		}
		met[arc{e.U, e.V}] = true
		adj[e.U][e.V] = true
		if !directed {
			adj[e.V][e.U] = true
		}
	}
	offsets = append(offsets, 0)
	for u := range int32(n) {
		row := []int32{}
		for v := range adj[u] {
			row = append(row, v)
			if directed || u < v {
				c.Edges++
				if !directed && !(met[arc{u, v}] && met[arc{v, u}]) {
					c.OneWay++
				}
			}
		}
		slices.Sort(row)
		neighbors = append(neighbors, row...)
		offsets = append(offsets, int32(len(neighbors)))
	}
	return offsets, neighbors, c
}

// cut makes lists of different lengths.
func cut(rng *rand.Rand, edges []Edge) (lists [][]Edge) {
	edges = slices.Clone(edges)
	for len(edges) > 0 {
		k := min(len(edges), 1+rng.IntN(1+len(edges)))
		lists = append(lists, edges[:k])
		edges = edges[k:]
	}
	return lists
}

// draw draws edges with hubs among the smaller nodes.
func draw(rng *rand.Rand, n, m int) (edges []Edge) {
	node := func() int32 { return int32(rng.IntN(1 + rng.IntN(1+rng.IntN(n)))) }
	for range m {
		edges = append(edges, Edge{U: node(), V: node()})
		if rng.IntN(4) == 0 {
			last := edges[len(edges)-1]
			edges = append(edges, Edge{U: last.V, V: last.U})
		}
	}
	return edges
}

func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, m int }{{0, 0}, {1, 0}, {1, 3}, {2, 1}, {5, 30}, {300, 20}, {1000, 5000}, {70_000, 20_000}, {200_000, 30_000}, {3, 100_000}} {
		for _, directed := range []bool{false, true} {
			edges := draw(rng, max(c.n, 1), c.m)
			offsets, neighbors, counts := plain(c.n, directed, edges)
			for _, workers := range []int{1, 2, 5} {
				e := &Edges{Lists: cut(rng, edges), Workers: workers}
				o, x, got, err := e.Rows(c.n, directed)
				if err != nil || got != counts || !slices.Equal(o, offsets) || !slices.Equal(x, neighbors) {
					t.Fatalf("%+v, directed %t, %d workers: %v, %+v, want %+v; rows are equal: %t", c, directed, workers, err, got, counts, slices.Equal(x, neighbors))
				}
			}
			csr, g := Csr{}, Graph{}
			if err := csr.Build(c.n, directed, &Arcs{Ends: edges}, &g); err != nil || csr.Counts != counts || !slices.Equal(g.Offsets, offsets) || !slices.Equal(g.Neighbors, neighbors) {
				t.Fatalf("%+v, directed %t: Csr has %v, %+v, want %+v", c, directed, err, csr.Counts, counts)
			}
		}
	}
}

// Rows are those of a map even if there are many buckets and waves, of which some
// hold one row. Csr has the same rows, and the lines of each edge.
func FuzzRows(f *testing.F) {
	for i := range uint64(40) {
		f.Add(i, uint32(1+i*i*i), uint16(1+50*i), uint16(1+7*i), uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint32, m, size uint16, workers uint8, directed bool) {
		n, workers = 1+n%200_000, 1+workers%5
		edges := draw(rand.New(rand.NewPCG(seed, 7)), int(n), int(m))
		offsets, neighbors, counts := plain(int(n), directed, edges)
		e := &Edges{Lists: cut(rand.New(rand.NewPCG(seed, 8)), edges), Workers: int(workers), bucket: int(1 + size%500), wave: int(1 + size%700)}
		lists := slices.Concat(e.Lists...)
		o, x, got, err := e.Rows(int(n), directed)
		if err != nil || got != counts || !slices.Equal(o, offsets) || !slices.Equal(x, neighbors) {
			t.Fatalf("%v, %+v, want %+v; rows are equal: %t", err, got, counts, slices.Equal(x, neighbors))
		}
		compareLines(t, lists, int(n), directed)
	})
}

// compareLines wants the lines of each edge that a map of edges has, and of each edge the line with the smallest value, of equal ones the first.
func compareLines(t *testing.T, edges []Edge, n int, directed bool) {
	t.Helper()
	all, least, others := map[Edge][]int32{}, map[Edge]int32{}, int64(0)
	value := func(i int32) float32 { return float32(i % 7) }
	named := func(x Edge) Edge {
		if !directed {
			x = Edge{U: min(x.U, x.V), V: max(x.U, x.V)}
		}
		return x
	}
	for at, x := range edges {
		i := int32(at)
		if x = named(x); x.U == x.V {
			continue
		}
		had, again := least[x]
		if !again || value(i) < value(had) {
			least[x] = i
		}
		if again && value(had) != value(i) {
			others++
		}
		all[x] = append(all[x], i)
	}
	c, g := Csr{}, Graph{}
	a := &Arcs{Ends: edges, Holds: func(i, j int32) int { return cmp.Compare(value(i), value(j)) }}
	if err := c.Build(n, directed, a, &g); err != nil || c.Counts.Conflicts != others || len(c.Entries) != len(g.Neighbors) || len(c.Kept) != len(all) {
		t.Fatalf("%d conflicts, want %d; %d entries of %d, %d edges, want %d; %v", c.Counts.Conflicts, others, len(c.Entries), len(g.Neighbors), len(c.Kept), len(all), err)
	}
	for u := range int32(n) {
		for i := g.Offsets[u]; i < g.Offsets[u+1]; i++ {
			if x := named(Edge{U: u, V: g.Neighbors[i]}); c.Kept[c.Entries[i]] != least[x] {
				t.Fatalf("the line of %+v is %d, want %d", x, c.Kept[c.Entries[i]], least[x])
			}
		}
	}
	edge := 0
	if err := c.Lines(directed, a, func(lines []int32) error {
		if x := named(edges[c.Kept[edge]]); !slices.Equal(lines, all[x]) {
			t.Fatalf("the lines of %+v are %v, want %v", x, lines, all[x])
		}
		edge++
		return nil
	}); err != nil || edge != len(all) {
		t.Fatalf("%d edges, want %d; %v", edge, len(all), err)
	}
}

// A star has all its edges in one row, more than are sorted at once.
func TestRowsOfAStar(t *testing.T) {
	race.Skip(t)
	const n = sortRoom + 1000
	var edges []Edge
	for v := range int32(n - 1) {
		edges = append(edges, Edge{U: n - 1, V: int32(int64(v) * 7919 % (n - 1))})
	}
	e := &Edges{Lists: [][]Edge{slices.Clone(edges)}, Workers: 2}
	offsets, neighbors, c, err := e.Rows(n, false)
	if err != nil {
		t.Fatal(err)
	}
	o, x, counts := plain(n, false, edges)
	if !slices.Equal(offsets, o) || !slices.Equal(neighbors, x) || c != counts {
		t.Errorf("other rows, %+v, want %+v", c, counts)
	}
}

func FuzzSort(f *testing.F) {
	f.Add(uint64(1), 1000, 20, 100)
	f.Add(uint64(2), 100, 63, 0)
	f.Add(uint64(3), 5000, 9, 300)
	f.Fuzz(func(t *testing.T, seed uint64, n, width, room int) {
		n, width, room = n&0xffff, 1+width&0x3f%63, room&0xffff
		rng := rand.New(rand.NewPCG(seed, 1))
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = rng.Uint64() >> (64 - width) >> rng.IntN(width)
		}
		want := slices.Sorted(slices.Values(keys))
		got := SortKeys(keys, make([]uint64, room), width)
		if !slices.Equal(got, want) {
			t.Errorf("%d keys of %d bits are not sorted, with room for %d", n, width, room)
		}
	})
}

func TestIDs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, top := range []int{1, 2, 63, 64, 65, 5000, 1 << 20, 1<<31 - 1} {
		for _, m := range []int{0, 1, 10, 3001, 3000, 40_000} {
			var edges []Edge
			var all []int64
			for range m {
				x := Edge{U: int32(rng.IntN(top)), V: int32(top - rng.IntN(1+top/3))}
				edges, all = append(edges, x), append(all, int64(x.U), int64(x.V))
			}
			slices.Sort(all)
			all = slices.Compact(all)
			e := &Edges{Lists: cut(rng, edges), Workers: 1 + m%3}
			if m%2 == 0 { // the maker of the lists has marked them
				e.Marks = []*Marks{{}, {}}
				for i, l := range e.Lists {
					if err := e.Marks[i%2].Add(l); err != nil {
						t.Fatal(err)
					}
				}
			}
			s, err := e.IDs()
			if err != nil {
				t.Fatal(err)
			}
			if list := s.List(); s.Len() != len(all) || !slices.Equal(list, all) {
				t.Fatalf("%d edges up to %d: %d ids, want %d", m, top, s.Len(), len(all))
			}
			if len(all) > 0 && (int64(s.First()) != all[0] || int64(s.Last()) != all[len(all)-1]) || len(all) == 0 && s.Last() != -1 {
				t.Fatalf("ids are %d to %d", s.First(), s.Last())
			}
			e.Renumber(s)
			i := 0
			for _, list := range e.Lists {
				e.rename(list)
				for _, x := range list {
					if u, v := all[x.U], all[x.V]; u != int64(edges[i].U) || v != int64(edges[i].V) {
						t.Fatalf("edge %d joins %d and %d, want %v", i, u, v, edges[i])
					}
					i++
				}
			}
		}
	}
}

// Whatever is under way ends with its context, and what does not fit is refused
// before it is begun.
func TestEnds(t *testing.T) {
	edges := draw(rand.New(rand.NewPCG(5, 6)), 1000, 200_000)
	for after := range 12 {
		calls := 0
		e := &Edges{Lists: [][]Edge{slices.Clone(edges)}, Workers: 1, Alive: func() error {
			if calls++; calls > after {
				return context.Canceled
			}
			return nil
		}}
		s, err := e.IDs()
		if err == nil {
			e.Renumber(s)
			_, _, _, err = e.Rows(s.Len(), false)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %d: %v", after, err)
		}
	}
	want := errors.New("too much")
	e := &Edges{Lists: [][]Edge{edges}, Take: func(n int64) error {
		if n < Bytes(1000, len(edges), false, 1) {
			return fmt.Errorf("%d bytes", n)
		}
		return want
	}}
	if _, _, _, err := e.Rows(1000, false); !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func BenchmarkRows(b *testing.B) {
	edges := draw(rand.New(rand.NewPCG(5, 6)), 1<<20, 8<<20)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e := &Edges{Lists: [][]Edge{edges}, Workers: workers}
				if _, _, _, err := e.Rows(1<<20, false); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(len(edges))*1e9, "ns/edge")
		})
	}
}
