package generate

import (
	"slices"
	"testing"
)

// Planted graphs have the sizes that are published, and motifs whose inner degrees are those
// of the motif.
func TestPlanted(t *testing.T) {
	// Of seed 7, 33 cycles of Tree-Cycles have a second edge.
	for _, c := range []struct {
		name         string
		make         func(seed uint64) (Planted, error)
		nodes, edges int
		inner        []int // degrees within a copy, ascending
	}{
		{"house", func(s uint64) (Planted, error) { return BA2Motifs(0, s) }, 25, 26, []int{2, 2, 2, 3, 3}},
		{"cycle", func(s uint64) (Planted, error) { return BA2Motifs(1, s) }, 25, 25, []int{2, 2, 2, 2, 2}},
		{"BA-Shapes", BAShapes, 700, (15 + 294*5 + 80*7) * 101 / 100, []int{2, 2, 2, 3, 3}},
		{"Tree-Cycles", TreeCycles, 871, (510 + 60*7 + 33) * 101 / 100, []int{2, 2, 2, 2, 2, 2}},
		{"Tree-Grid", TreeGrid, 1231, (510 + 80*13) * 101 / 100, []int{2, 2, 2, 2, 3, 3, 3, 3, 4}},
	} {
		p, err := c.make(7)
		if err != nil {
			t.Fatal(err)
		}
		if p.Graph.N() != c.nodes || p.Graph.M() != c.edges || len(p.Class) != c.nodes || len(p.Motif) != c.nodes {
			t.Errorf("%s: %d nodes, %d edges, want %d and %d", c.name, p.Graph.N(), p.Graph.M(), c.nodes, c.edges)
		}
		inner := map[int32][]int{}
		for v := range int32(c.nodes) {
			if (p.Motif[v] < 0) != (p.Class[v] == 0) {
				t.Fatalf("%s: node %d of motif %d has the class %d", c.name, v, p.Motif[v], p.Class[v])
			}
			d := 0
			for _, u := range p.Graph.Adj(v) {
				if p.InMotif(u, v) {
					d++
				}
			}
			if p.Motif[v] >= 0 {
				inner[p.Motif[v]] = append(inner[p.Motif[v]], d)
			}
		}
		for i, degrees := range inner {
			if slices.Sort(degrees); !slices.Equal(degrees, c.inner) {
				t.Errorf("%s: copy %d has the degrees %v, want %v", c.name, i, degrees, c.inner)
			}
		}
		if again, err := c.make(7); err != nil || !slices.Equal(again.Graph.Neighbors, p.Graph.Neighbors) {
			t.Errorf("%s: not the same again: %v", c.name, err)
		}
	}
	if _, err := BA2Motifs(2, 1); err == nil {
		t.Error("class 2: want an error")
	}
}
