package field_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
	"pgregory.net/rapid"
)

// anew compares all kept fields with those of the same graph computed anew, and Refresh
// with what has changed since the fields given.
func anew(k *changing, e *edited, dir field.Direction, size int, before map[int32]string) error {
	g := e.graph()
	ix := field.NewIndex(g, dir)
	var a field.Assembler
	z := field.Normalizer{K: size}
	want := make([]int32, size)
	handed := map[int32]bool{}
	err := k.Refresh(func(root int32, members []int32, _ []uint8) error {
		handed[root] = true
		if !slices.Equal(members, k.Members(root)) {
			return fmt.Errorf("root %d: %v is handed over, %v is kept", root, members, k.Members(root))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for root := range int32(g.N()) {
		hood, dist := a.Assemble(ix, root, size)
		if err := z.Normalize(ix, hood, dist, nil, want); err != nil {
			return err
		}
		if got := k.Members(root); !slices.Equal(got, want) {
			return fmt.Errorf("k=%d, root %d of %d: %v is kept, want %v", size, root, g.N(), got, want)
		}
		// All that a row shows of the field.
		show := fmt.Sprint(want)
		for _, u := range want {
			if u < 0 {
				continue
			}
			if g.NodeCats > 0 {
				show += fmt.Sprint(" ", g.NodeCat[u])
			}
			for _, v := range want {
				if v >= 0 && g.Entry(u, v) >= 0 {
					show += fmt.Sprint(" ", u, "-", v)
					if g.EdgeCats > 0 {
						show += fmt.Sprint(":", g.EdgeCat[g.Entry(u, v)])
					}
				}
			}
		}
		if before != nil && before[root] != show && !handed[root] {
			return fmt.Errorf("k=%d, root %d: %s was %s and is not handed over", size, root, show, before[root])
		}
		if before != nil {
			before[root] = show
		}
	}
	return nil
}

// After random changes the kept fields are those of the graph computed anew.
func TestKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &edited{n: rapid.SampledFrom(race.Some([]int{6, 2, 25, 70, 10, 150})).Draw(t, "n"), edge: map[graph.Edge]int32{}}
		e.g.Directed, e.g.EdgeCats, e.g.NodeCats = rapid.Bool().Draw(t, "directed"), rapid.IntRange(0, 1).Draw(t, "edge cats"), rapid.IntRange(0, 1).Draw(t, "node cats")
		e.g.NodeCat = make([]int32, e.n*e.g.NodeCats)
		dir := field.Both
		if e.g.Directed {
			dir = field.Direction(rapid.IntRange(0, 2).Draw(t, "dir"))
		}
		// A random graph with hubs to begin with.
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		degree, hubs := rapid.IntRange(0, 4).Draw(t, "degree"), rapid.IntRange(0, 3).Draw(t, "hubs")
		for i := range e.n * degree / 2 {
			u, v := int32(rng.IntN(e.n)), int32(rng.IntN(e.n))
			if i < e.n*hubs/3 {
				u = int32(rng.IntN(min(e.n, hubs)))
			}
			if u != v {
				e.edge[e.key(u, v)] = int32(rng.IntN(3))
			}
		}
		size := rapid.SampledFrom([]int{1, 2, 3, 5, 10, 70}).Draw(t, "k")
		k := keptOf(e.graph(), dir, &field.Normalizer{K: size, Cache: field.NewCache(1 << 20)})
		shown := map[int32]string{}
		if err := anew(k, e, dir, size, shown); err != nil {
			t.Fatal(err)
		}
		batch := rapid.SampledFrom([]int{1, 1, 3, 20}).Draw(t, "batch")
		for i := range rapid.IntRange(1, 30).Draw(t, "changes") {
			c := []int32{int32(rapid.IntRange(0, 2).Draw(t, "c"))}
			u, v := int32(rapid.IntRange(0, e.n-1).Draw(t, "u")), int32(rapid.IntRange(0, e.n-1).Draw(t, "v"))
			if rapid.Bool().Draw(t, "hub") {
				u %= 3
			}
			key := e.key(u, v)
			_, there := e.edge[key]
			switch op := rapid.IntRange(0, 9).Draw(t, "op"); {
			case op == 9:
				e.n++
				e.g.NodeCat = append(e.g.NodeCat, make([]int32, e.g.NodeCats)...)
				k.Grow(e.n)
			case op == 8 && e.g.NodeCats > 0:
				e.g.NodeCat[v] = c[0]
				k.SetNode(v, c)
			case u == v:
			case !there:
				e.edge[key] = c[0]
				k.Add(u, v, c[:e.g.EdgeCats])
			case op < 3 && e.g.EdgeCats > 0:
				e.edge[key] = c[0]
				k.SetEdge(u, v, c)
			default:
				delete(e.edge, key)
				k.Remove(u, v)
			}
			if i%batch == batch-1 {
				if err := anew(k, e, dir, size, shown); err != nil {
					t.Fatalf("after change %d: %v", i, err)
				}
			}
		}
	})
}

// Changes in bulk, of which each field is computed again, hand over the fields that a search for each change hands over.
func TestKeptInBulk(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 31))
		e := &edited{n: 2 + rng.IntN(40), edge: map[graph.Edge]int32{}}
		e.g.EdgeCats, e.g.NodeCats, e.g.Directed = rng.IntN(2), rng.IntN(2), rng.IntN(3) == 0
		e.g.NodeCat = make([]int32, e.n*e.g.NodeCats)
		size := 1 + rng.IntN(6)
		var kept [2]*changing
		for i := range kept {
			kept[i] = keptOf(e.graph(), field.Both, &field.Normalizer{K: size})
		}
		field.AllInBulk(kept[1].Kept)
		for round := range 8 {
			for range rng.IntN(30) {
				u, v, c := int32(rng.IntN(e.n)), int32(rng.IntN(e.n)), []int32{int32(rng.IntN(3))}
				key := e.key(u, v)
				_, there := e.edge[key]
				var change func(k *changing)
				switch op := rng.IntN(10); {
				case op == 0:
					e.n++
					e.g.NodeCat = append(e.g.NodeCat, make([]int32, e.g.NodeCats)...)
					change = func(k *changing) { k.Grow(e.n) }
				case op == 1 && e.g.NodeCats > 0:
					e.g.NodeCat[v] = c[0]
					change = func(k *changing) { k.SetNode(v, c) }
				case u == v:
					continue
				case !there:
					e.edge[key] = c[0]
					change = func(k *changing) { k.Add(u, v, c[:e.g.EdgeCats]) }
				case op == 2 && e.g.EdgeCats > 0:
					e.edge[key] = c[0]
					change = func(k *changing) { k.SetEdge(u, v, c) }
				default:
					delete(e.edge, key)
					change = func(k *changing) { k.Remove(u, v) }
				}
				change(kept[0])
				change(kept[1])
			}
			var handed [2]string
			for i, k := range kept {
				if err := k.Refresh(func(root int32, members []int32, _ []uint8) error {
					handed[i] += fmt.Sprintln(root, members)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			if handed[0] != handed[1] {
				t.Fatalf("seed %d, round %d, k=%d: by searches\n%sin bulk\n%s", seed, round, size, handed[0], handed[1])
			}
			if err := anew(kept[1], e, field.Both, size, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A bulk load costs about the same for each event, whatever came before it.
func TestBulkLoadIsLinear(t *testing.T) {
	load := func(n int) int {
		rng := rand.New(rand.NewPCG(1, 1))
		k := keptOf(&graph.Graph{Offsets: []int32{0}}, field.Both, &field.Normalizer{K: 10})
		seen := map[graph.Edge]bool{}
		for range 3 * n {
			u, v := int32(rng.IntN(n)), int32(rng.IntN(n))
			if e := (graph.Edge{U: min(u, v), V: max(u, v)}); u != v && !seen[e] {
				seen[e] = true
				k.Grow(int(max(u, v)) + 1)
				k.Add(u, v, nil)
			}
		}
		return field.Steps(k.Kept)
	}
	small, large := load(1000), load(8000)
	if large > 9*small {
		t.Errorf("searches read %d entries for 1000 nodes, %d for 8000", small, large)
	}
}
