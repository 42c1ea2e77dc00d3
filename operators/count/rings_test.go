package count

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// ringsOf lists the cycles of 3 to size nodes through a root: it tries all sequences of nodes.
func ringsOf(g *graph.Graph, root int32, size int) map[string]float64 {
	found := map[string]float64{}
	var try func(path []int32)
	try = func(path []int32) {
		last := path[len(path)-1]
		if len(path) >= 3 && g.Entry(last, root) >= 0 {
			ahead, back := fmt.Sprint(len(path), ":"), fmt.Sprint(len(path), ":")
			if g.NodeCats > 0 {
				for i := range path {
					ahead += fmt.Sprint(" ", g.NodeCat[path[i]])
					back += fmt.Sprint(" ", g.NodeCat[path[(len(path)-i)%len(path)]])
				}
			}
			found[min(ahead, back)] += 0.5 // each is found in both directions
		}
		if len(path) == size {
			return
		}
		for v := range int32(g.N()) {
			seen := false
			for _, u := range path {
				seen = seen || u == v
			}
			if !seen && g.Entry(last, v) >= 0 {
				try(append(path, v))
			}
		}
	}
	try([]int32{root})
	return found
}

// Words are the cycles through the root by their length and labels: as many, of as many counts.
func TestRings(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 7))
	for i := range 40 {
		n := 3 + rng.IntN(6)
		var edges []graph.Edge
		for u := range int32(n) {
			for v := range u {
				if rng.IntN(2) == 0 {
					edges = append(edges, graph.Edge{U: u, V: v})
				}
			}
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			g.NodeCats = 1
			for range n {
				g.NodeCat = append(g.NodeCat, rng.Int32N(2))
			}
		}
		for root := range int32(n) {
			size := 3 + rng.IntN(6)
			got := map[string]float64{}
			c := Rings{Size: size}
			if _, err := Find(c, Input{Graph: g, Roots: []int32{root}}, Dictionary{}, func(o Occurrence) {
				nodes, edges := o.Members()
				for i, e := range edges {
					u, v := nodes[i], nodes[(i+1)%len(nodes)]
					if e != (graph.Edge{U: min(u, v), V: max(u, v)}) || nodes[0] != root {
						t.Fatalf("the members are %v and %v", nodes, edges)
					}
				}
				text := o.Text()
				if g.NodeCats == 0 {
					text += ":"
				}
				got[strings.Replace(strings.TrimPrefix(text, "cycle of "), " through the root", "", 1)]++
			}); err != nil {
				t.Fatal(err)
			}
			want := ringsOf(g, root, size)
			sums := func(m map[string]float64) map[string]float64 { // labels are in the order of their hashes
				out := map[string]float64{}
				for text, n := range m {
					length, labels, _ := strings.Cut(text, ":")
					word := strings.Fields(labels)
					back := append([]string{}, word...)
					for i := range word {
						back[i] = word[(len(word)-i)%len(word)]
					}
					out[length+":"+min(strings.Join(word, " "), strings.Join(back, " "))] += n
				}
				return out
			}
			if got, want := sums(got), sums(want); !maps.Equal(got, want) {
				t.Errorf("root %d, size %d: %v, want %v", root, size, got, want)
			}
		}
	}
}

// A length that takes too many steps, or may lead beyond the nodes that are looked at, is left
// out with all longer ones; shorter ones are counted.
func TestRingsBound(t *testing.T) {
	lengths := func(g *graph.Graph, root int32) map[uint64]float64 {
		ids, counts, err := Of(Input{Graph: g, Roots: []int32{root}}, Rings{})
		if err != nil {
			t.Fatal(err)
		}
		found := map[uint64]float64{}
		for i, id := range ids {
			found[id] = counts[i]
		}
		return found
	}
	id := func(n int) uint64 { return uint64(kindRing.Add(uint64(n))) }
	var complete []graph.Edge // 39·38/2 triangles, 39·38·37/2 squares
	for u := range int32(40) {
		for v := range u {
			complete = append(complete, graph.Edge{U: u, V: v})
		}
	}
	g, err := graph.New(40, false, complete)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := lengths(g, 7), map[uint64]float64{id(3): 39 * 38 / 2}; !maps.Equal(got, want) {
		t.Errorf("the complete graph has %v, want %v", got, want)
	}
	// A triangle and a cycle of five through node 0, of which one node is beside a hub.
	edges := []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 0, V: 2}, {U: 0, V: 3}, {U: 3, V: 4}, {U: 4, V: 5}, {U: 5, V: 6}, {U: 0, V: 6}}
	for _, leaves := range []int32{3, 2 * mostAround} {
		all := append([]graph.Edge{}, edges...)
		for v := range leaves {
			all = append(all, graph.Edge{U: 1, V: 7 + v})
		}
		if g, err = graph.New(7+int(leaves), false, all); err != nil {
			t.Fatal(err)
		}
		want := map[uint64]float64{id(3): 1, id(5): 1}
		if leaves > mostAround {
			delete(want, id(5))
		}
		if got := lengths(g, 0); !maps.Equal(got, want) {
			t.Errorf("%d leaves: %v, want %v", leaves, got, want)
		}
	}
}
