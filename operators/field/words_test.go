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

// crowd is a graph of hubs: a few nodes that all others hang on, with some edges
// among the others, so that neighbourhoods are large and ties many.
func crowd(rng *rand.Rand, hubs, leaves, extra int) *graph.Graph {
	var edges []graph.Edge
	n := hubs + leaves
	for v := hubs; v < n; v++ {
		for range 1 + rng.IntN(2) {
			edges = append(edges, graph.Edge{U: int32(v), V: int32(rng.IntN(hubs))})
		}
	}
	for h := 1; h < hubs; h++ {
		edges = append(edges, graph.Edge{U: int32(h), V: int32(rng.IntN(h))})
	}
	for range extra {
		edges = append(edges, graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))})
	}
	return build(n, false, edges)
}

// sameAsGeneral compares fields, and what is counted, with the general way.
func sameAsGeneral(t *testing.T, name string, g *graph.Graph, z field.Normalizer, roots []int32) {
	t.Helper()
	sameAsGeneralBy(t, name, g, field.Both, z, roots)
}

func sameAsGeneralBy(t *testing.T, name string, g *graph.Graph, dir field.Direction, z field.Normalizer, roots []int32) {
	t.Helper()
	fast, slow := z, z
	field.General(&slow)
	ix := field.NewIndex(g, dir)
	var a field.Assembler
	got, want := make([]int32, z.K), make([]int32, z.K)
	for _, root := range roots {
		hood, dist := a.Assemble(ix, root, z.K)
		if err := fast.Normalize(ix, hood, dist, nil, got); err != nil {
			t.Fatal(err)
		}
		if err := slow.Normalize(ix, hood, dist, nil, want); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s, k=%d, root %d: %v, in general %v", name, z.K, root, got, want)
		}
		if counted(fast.Stats) != counted(slow.Stats) {
			t.Fatalf("%s, k=%d, root %d: counts %+v, in general %+v", name, z.K, root, fast.Stats, slow.Stats)
		}
	}
}

func TestWordsChangeNothing(t *testing.T) {
	list := variants()
	rng := rand.New(rand.NewPCG(51, 52))
	for i := range race.Share(16) {
		list = append(list, named{"random", random(rng, 2+rng.IntN(60), rng.IntN(150), false)})
		list = append(list, named{"preferential", preferential(rng, 100+rng.IntN(300), 1+i%4)})
		list = append(list, named{"crowd", crowd(rng, 1+rng.IntN(12), 100+rng.IntN(300), rng.IntN(300))})
		list = append(list, named{"dense", random(rng, 120, 100+rng.IntN(2000), false)})
		list = append(list, named{"rmat", rmat(6+i%5, 200<<(i%5), uint64(i))})
	}
	for i, c := range list {
		for v := range 2 {
			g := c.g
			if v == 1 {
				g = withNodeAttributes(rng, g, i%3, 1-i%2)
			}
			if i%3 == 2 {
				g = withEdgeAttributes(rng, g, 1, i%2)
			}
			roots := permutation(rng, g.N())[:min(g.N(), 6)]
			for _, k := range []int{1, 5, 10, 25, 50, 65} {
				sameAsGeneral(t, fmt.Sprint(c.name, " ", i), g, field.Normalizer{K: k, IgnoreAttributes: i%4 == 3}, roots)
			}
		}
	}
}

// Fields of a whole graph, in the numbers of the graph, with a cache that is left alone
// most of the time, and graphs that come one after the other to the same index.
func TestWholeGraphsChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	var ix field.Index
	var a field.Assembler
	for _, z := range []field.Normalizer{{}, {IgnoreAttributes: true}, {Cache: field.NewCache(1 << 20)}} {
		fast, slow := z, z
		slow.Cache = nil
		field.General(&slow)
		for i := range race.Share(400) {
			g := preferential(rng, 4+rng.IntN(61), 1+i%4)
			if i%3 > 0 {
				g = withNodeAttributes(rng, g, i%2, i%5/4)
			}
			if i%4 > 0 {
				g = withEdgeAttributes(rng, g, 1, i%7/6)
			}
			ix.Reset(g, field.Both)
			for root := range int32(g.N()) {
				k := 64 - rng.IntN(8)
				fast.K, slow.K = k, k
				got, want := make([]int32, k), make([]int32, k)
				hood, dist := a.Assemble(&ix, root, k)
				if err := fast.Normalize(&ix, hood, dist, nil, got); err != nil {
					t.Fatal(err)
				}
				if err := slow.Normalize(&ix, hood, dist, nil, want); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) || counted(fast.Stats) != counted(slow.Stats) {
					t.Fatalf("graph %d, k=%d, root %d: %v, in general %v\n%+v\n%+v", i, k, root, got, want, fast.Stats, slow.Stats)
				}
				rows := make([]uint64, k)
				if !fast.Rows(rows) {
					t.Fatal("no rows")
				}
				for x, u := range got {
					for y, v := range got {
						if u >= 0 && v >= 0 && (rows[x]>>y&1 == 1) != (g.Entry(u, v) >= 0) {
							t.Fatalf("graph %d, k=%d, root %d: edge from %d to %d", i, k, root, x, y)
						}
					}
				}
			}
		}
	}
}

// Beside hubs most of the last level stays unread; the general way reads all.
func TestHubsChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(57, 58))
	plain := rmat(13, 50_000, 3)
	for i, g := range []*graph.Graph{
		plain, plain.Renumber(permutation(rng, plain.N())),
		withNodeAttributes(rng, plain, 1, 0), withEdgeAttributes(rng, plain, 1, 0),
	} {
		for _, k := range []int{3, 10, 30} {
			sameAsGeneral(t, fmt.Sprint("rmat ", i), g, field.Normalizer{K: k}, permutation(rng, g.N())[:race.Share(40)])
		}
	}
}

// A graph whose nodes are more than what is taken to be in the cache.
func TestLargeGraphsChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(59, 60))
	g := random(rng, 140_000, 300_000, false)
	sameAsGeneral(t, "large", g, field.Normalizer{K: 10}, permutation(rng, g.N())[:300])
}

func TestWordsChangeNothingOnRealGraphs(t *testing.T) {
	for _, name := range []string{"power", "polbooks", "astro-ph", "email-Enron"} {
		g := dataGraph(t, name)
		rng := rand.New(rand.NewPCG(53, 54))
		for _, k := range []int{5, 10, 25, 50} {
			sameAsGeneral(t, name, g, field.Normalizer{K: k}, permutation(rng, g.N())[:min(g.N(), 100)])
		}
	}
}

// FuzzField compares the ways to the same field: on words and in general, with
// and without a cache.
func FuzzField(f *testing.F) {
	f.Add([]byte{0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 2, 5}, uint8(3), uint8(6), uint8(0))
	f.Add([]byte{0, 1, 0, 2, 0, 3, 0, 4, 1, 5, 2, 6}, uint8(5), uint8(120), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, k, size, flags uint8) {
		n := 1 + int(size)
		var edges []graph.Edge
		if flags&1 == 1 { // a hub
			for v := 1; v < n; v++ {
				edges = append(edges, graph.Edge{U: 0, V: int32(v)})
			}
		}
		for i := 0; i+1 < len(data) && i < 600; i += 2 {
			edges = append(edges, graph.Edge{U: int32(int(data[i]) % n), V: int32(int(data[i+1]) % n)})
		}
		g := build(n, flags&8 == 8, edges)
		rng := rand.New(rand.NewPCG(uint64(flags), 1))
		if flags&2 == 2 {
			g = withNodeAttributes(rng, g, 1, 0)
		}
		if flags&4 == 4 {
			g = withEdgeAttributes(rng, g, 1, 0)
		}
		z := field.Normalizer{K: 1 + int(k)%64}
		roots := []int32{0, int32(n / 2), int32(n - 1)}
		sameAsGeneral(t, "fuzz", g, z, roots)
		z.Cache = field.NewCache(1 << 12)
		sameAsGeneral(t, "fuzz, cached", g, z, append(roots, roots...))
	})
}

// Rows are the edges of the field, whichever way it was made.
func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	list := variants()
	for range 20 {
		list = append(list, named{"crowd", crowd(rng, 1+rng.IntN(12), 100+rng.IntN(300), rng.IntN(300))})
	}
	for _, c := range list {
		for _, k := range []int{1, 5, 20, 64, 65} {
			z := field.Normalizer{K: k, Cache: field.NewCache(1 << 16)}
			var a field.Assembler
			ix := field.NewIndex(c.g, field.Both)
			members, rows := make([]int32, k), make([]uint64, k)
			entry := make([]int32, k*k)
			for _, root := range permutation(rng, c.g.N())[:min(c.g.N(), 10)] {
				hood, dist := a.Assemble(ix, root, k)
				if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
					t.Fatal(err)
				}
				ok := !c.g.Directed && k <= 64
				if z.Rows(rows) != ok {
					t.Fatalf("%s, k=%d: Rows is %v, want %v", c.name, k, !ok, ok)
				}
				if !ok {
					continue
				}
				field.Edges(c.g, members, entry)
				got, want := make([]float32, k*k), make([]float32, k*k)
				got[0] = 7
				field.Adjacency(entry, want)
				if !z.Adjacency(got) || !slices.Equal(got, want) {
					t.Fatalf("%s, k=%d, root %d: adjacency %v, want %v", c.name, k, root, got, want)
				}
				for i, row := range rows {
					for j := range k {
						if row>>j&1 == 1 != (entry[i*k+j] >= 0) {
							t.Fatalf("%s, k=%d, root %d: rows %b, want edges %v", c.name, k, root, rows, entry)
						}
					}
				}
			}
		}
	}
}
