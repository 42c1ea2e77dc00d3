package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/rows"
)

// Edge is an edge u–v, or an arc u→v, of a graph under construction: struct{ U, V int32 }. In JSON it is [u,v].
type Edge = rows.Edge

// New returns the graph of n nodes without attributes that has the given
// edges. Self-loops are dropped and repeated edges kept once; an undirected
// edge may be given in one direction or in both. An edge that names a node
// outside 0 … n-1 is an error. O(n + m).
func New(n int, directed bool, edges []Edge) (*Graph, error) {
	if n < 0 || n > math.MaxInt32-1 {
		return nil, fmt.Errorf("graph: %d nodes, want 0 to %d", n, math.MaxInt32-1)
	}
	if len(edges) > math.MaxInt32/2 {
		return nil, fmt.Errorf("graph: %d edges do not fit 32-bit offsets", len(edges))
	}
	for i, e := range edges {
		if e.U < 0 || e.V < 0 || int(e.U) >= n || int(e.V) >= n {
			return nil, fmt.Errorf("graph: edge %d joins %d and %d, want nodes 0 to %d", i, e.U, e.V, n-1)
		}
	}
	var g rows.Graph
	err := new(rows.Csr).Build(n, directed, &rows.Arcs{Ends: edges}, &g)
	return &Graph{Offsets: g.Offsets, Neighbors: g.Neighbors, Directed: directed}, err
}

// Renumber returns a copy of g, with attributes, in which node v has the number perm[v]; perm
// is a permutation of 0 … n-1. Tests use it to show that fields do not depend on node numbers.
// O(n + m log m).
func (g *Graph) Renumber(perm []int32) *Graph {
	n := g.N()
	old := make([]int32, n) // old[p] is the node that is now called p
	for v, p := range perm {
		old[p] = int32(v)
	}
	h := *g
	h.Offsets = make([]int32, n+1)
	h.Neighbors = make([]int32, 0, len(g.Neighbors))
	from, to := g.attributes(), h.attributes()
	for i := range to {
		to[i].empty()
	}
	if g.SparseCard > 0 {
		h.SparseOffsets, h.NodeSparse = make([]int32, n+1), nil
	}
	push := func(ofEdges bool, i int) {
		for a := range to {
			if to[a].ofEdges == ofEdges {
				to[a].push(&from[a], i)
			}
		}
	}
	var entries []int32
	for p, v := range old {
		entries = entries[:0]
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			entries = append(entries, i)
		}
		slices.SortFunc(entries, func(a, b int32) int {
			return int(perm[g.Neighbors[a]]) - int(perm[g.Neighbors[b]])
		})
		for _, i := range entries {
			h.Neighbors = append(h.Neighbors, perm[g.Neighbors[i]])
			push(true, int(i))
		}
		h.Offsets[p+1] = int32(len(h.Neighbors))
		push(false, int(v))
		if g.SparseCard > 0 {
			h.NodeSparse = append(h.NodeSparse, g.Sparse(v)...)
			h.SparseOffsets[p+1] = int32(len(h.NodeSparse))
		}
	}
	return &h
}
