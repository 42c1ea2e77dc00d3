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
		z := Normalizer{K: n, ix: ix, hood: hood, dist: dist}
		z.rows = z.hoodBits[:n]
		z.local.number(n, hood)
		z.local.rows(ix, hood, n, z.rows)
		z.words.Reset(dist)
		z.words.Number(z.rows, 0, false)
		z.cells = z.words.AppendCells(nil)
		isTree := len(g.Neighbors) == 2*(n-1)
		if got := z.orderTree(); got != isTree {
			t.Fatalf("%d nodes, neighbours %v from %v: tree %v, want %v", n, g.Neighbors, g.Offsets, got, isTree)
		}
		if !isTree {
			continue
		}
		trees++
		if !z.words.Discrete() {
			tied++
		}
		want, quality := solver.Cells(z.rows, z.cells)
		if quality != canon.Exact || !slices.Equal(z.order, want) {
			t.Fatalf("%d nodes, neighbours %v from %v: order %v, want %v (%v)", n, g.Neighbors, g.Offsets, z.order, want, quality)
		}
	}
	if trees < 1000 || tied < trees/2 {
		t.Errorf("%d trees, %d of them with ties", trees, tied)
	}
}
