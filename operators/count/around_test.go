package count

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// A ring of more nodes than are looked at ends the words of a root, to which it does
// not matter how many more there are: neither their number nor which were met first.
func TestAroundBesideHub(t *testing.T) {
	for _, leaves := range []int32{mostAround - 1, mostAround, 50 * mostAround} {
		var star []graph.Edge
		for v := range leaves {
			star = append(star, graph.Edge{U: 0, V: v + 1})
		}
		g, err := graph.New(int(leaves)+1, false, star)
		if err != nil {
			t.Fatal(err)
		}
		g.SparseCard = 1
		for v := range leaves + 2 {
			g.SparseOffsets = append(g.SparseOffsets, v)
		}
		g.NodeSparse = make([]int32, leaves+1)
		w := aroundCounter{Around: Around{Hops: 3}}
		for _, root := range []int32{0, 1, leaves} {
			var bag Bag
			if err := w.Count(Input{Graph: g, Roots: []int32{root}}, &bag); err != nil {
				t.Fatal(err)
			}
			want := map[uint64]float64{uint64(kindAround.Add(0).Add(0)): 1} // the root
			ring := uint64(1)
			if root > 0 {
				want[uint64(kindAround.Add(ring).Add(0))] = 1 // the hub
				ring++
			}
			if leaves < mostAround {
				want[uint64(kindAround.Add(ring).Add(0))] = float64(leaves + 1 - int32(ring))
			}
			got := map[uint64]float64{}
			for _, e := range bag.Entries() {
				got[e.ID] = e.Count
			}
			if !maps.Equal(got, want) || len(w.around) > mostAround || slices.Contains(w.seen, true) {
				t.Errorf("%d leaves, root %d: words %v around %d nodes, want %v around %d at most", leaves, root, got, len(w.around), want, mostAround)
			}
		}
	}
}

// Words are the sparse attributes of the nodes up to two hops away, by the hops, and
// the classes that are known, but for that of the root.
func TestAround(t *testing.T) {
	g := attributed(randomGraph(t, 60, 110))
	class := make([]int32, 60)
	for v := range class {
		class[v] = int32(v%3) - 1
	}
	for root := range int32(60) {
		want := map[uint64]float64{}
		for v := range int32(60) {
			d := distance(g, root, v)
			if d > 2 {
				continue
			}
			for _, word := range g.Sparse(v) {
				want[uint64(kindAround.Add(uint64(d)).Add(uint64(word)))]++
			}
			if class[v] >= 0 && v != root {
				want[uint64(kindAroundClass.Add(uint64(d)).Add(uint64(class[v])))]++
			}
		}
		ids, counts, err := Of(Input{Graph: g, Roots: []int32{root}}, Around{Hops: 2, Class: class})
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint64]float64{}
		for i, id := range ids {
			got[id] = counts[i]
		}
		if !maps.Equal(got, want) {
			t.Errorf("root %d: words %v, want %v", root, got, want)
		}
	}
}

// What cannot be counted around is an error.
// Nodes adds the number of each node around a root, with its distance, to the words.
func TestAroundNumbers(t *testing.T) {
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		t.Fatal(err)
	}
	words := func(c Counter) map[uint64]float64 {
		ids, counts, err := Of(Input{Graph: g, Roots: []int32{1}}, c)
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint64]float64{}
		for i, id := range ids {
			got[uint64(id)] = float64(counts[i])
		}
		return got
	}
	want := words(Around{Hops: 1})
	for v, ring := range []uint64{1, 0, 1} {
		want[uint64(kindAroundNode.Add(ring).Add(uint64(v)))] = 1
	}
	if got := words(Around{Hops: 1, Nodes: 4}); !maps.Equal(got, want) {
		t.Errorf("words %v, want %v", got, want)
	}
	found := map[uint64]float64{}
	if err := (Around{Hops: 1, Nodes: 4}).Find(Input{Graph: g, Roots: []int32{1}}, Dictionary{}, func(o Occurrence) { found[o.ID] += o.Count }); err != nil || !maps.Equal(found, want) {
		t.Errorf("found %v, %v, want %v", found, err, want)
	}
	for _, n := range []int{-1, 3, 5} {
		if _, _, err := Of(Input{Graph: g, Roots: []int32{1}}, Around{Nodes: n}); err == nil {
			t.Errorf("Nodes = %d was taken", n)
		}
	}
}

func TestRootErrors(t *testing.T) {
	g := randomGraph(t, 5, 6)
	directed := &graph.Graph{Directed: true, Offsets: []int32{0, 0}}
	for want, c := range map[string]struct {
		in Input
		of Counter
	}{
		"around(hops=3): there are no roots":            {Input{Graph: g}, Around{}},
		"Hops is -1":                                    {Input{Graph: g}, Around{Hops: -1}},
		"the classes of 4 nodes, the graph has 5":       {Input{Graph: g, Roots: []int32{0}}, Around{Class: make([]int32, 4)}},
		"pair: there are no roots":                      {Input{Graph: g}, Pair{}},
		"the roots are [1], want two nodes":             {Input{Graph: g, Roots: []int32{1}}, Pair{}},
		"the roots are [1 -1], want two nodes":          {Input{Graph: g, Roots: []int32{1, -1}}, Pair{}},
		"the graph is directed, want an undirected one": {Input{Graph: directed, Roots: []int32{0, 0}}, Pair{}},
		"rings: there are no roots":                     {Input{Graph: g}, Rings{}},
		"Size is 2, want 3 to 12":                       {Input{Graph: g, Roots: []int32{0}}, Rings{Size: 2}},
		"Size is 13, want 3 to 12":                      {Input{Graph: g, Roots: []int32{0}}, Rings{Size: 13}},
		"rings: the graph is directed":                  {Input{Graph: directed, Roots: []int32{0}}, Rings{}},
	} {
		if _, _, err := Of(c.in, c.of); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
