package field

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/canon"
)

// The order of a tree is what the search finds, and no other graph is taken for
// one. Few children a node make branches of the same form likely.
func TestOrderTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	var walk Assembler
	var solver canon.Solver
	trees, tied := 0, 0
	for range 6000 {
		n := 2 + rng.IntN(maxWords-2)
		if rng.IntN(2) == 0 {
			n = 2 + rng.IntN(12)
		}
		name := rng.Perm(n)
		var edges []graph.Edge
		for v := 1; v < n; v++ {
			parent := rng.IntN(v)
			if rng.IntN(3) > 0 {
				parent = (v - 1) / 2
			}
			edges = append(edges, graph.Edge{U: int32(name[v]), V: int32(name[parent])})
		}
		for range rng.IntN(8) - 6 {
			edges = append(edges, graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))})
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		ix := NewIndex(g, Both)
		hood, dist := walk.Assemble(ix, int32(name[0]), n)
		var numbers numbering
		var p problem
		var w words
		numbers.gather(&p, ix, hood, dist, true, false)
		w.ranking.Reset(dist)
		w.ranking.Number(p.rows, 0, false)
		w.cells = w.ranking.AppendCells(nil)
		isTree := len(g.Neighbors) == 2*(n-1)
		if got := w.orderTree(&p); got != isTree {
			t.Fatalf("%d nodes, neighbours %v from %v: tree %v, want %v", n, g.Neighbors, g.Offsets, got, isTree)
		}
		if !isTree {
			continue
		}
		trees++
		if !w.ranking.Discrete() {
			tied++
		}
		want, quality := solver.Cells(p.rows, w.cells)
		if quality != canon.Exact || !slices.Equal(w.order, want) {
			t.Fatalf("%d nodes, neighbours %v from %v: order %v, want %v (%v)", n, g.Neighbors, g.Offsets, w.order, want, quality)
		}
	}
	if trees < 1000 || tied < trees/2 {
		t.Errorf("%d trees, %d of them with ties", trees, tied)
	}
}
