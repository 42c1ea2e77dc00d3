package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/rows"
)

// Edge is an edge u–v, or an arc u→v, of a graph under construction: struct{ U, V int32 }.
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
	old := make([]int32, g.N()) // old[p] is the former number of node p
	for v, p := range perm {
		old[p] = int32(v)
	}
	return g.induced(old, perm, func(_, _ int32) bool { return false })
}

// induced returns a copy of g, with attributes, of the nodes in old, in this order. number is the
// inverse: the new number of each node, or -1. It leaves out the entries for which gone returns
// true.
func (g *Graph) induced(old, number []int32, gone func(v, u int32) bool) *Graph {
	h := *g
	h.Offsets, h.Neighbors = make([]int32, 1, len(old)+1), make([]int32, 0, len(g.Neighbors))
	from, to := g.attributes(), h.attributes()
	for i := range to {
		to[i].empty()
	}
	if g.SparseCard > 0 {
		h.SparseOffsets, h.NodeSparse = make([]int32, 1, len(old)+1), nil
	}
	h.Degrees = nil
	push := func(ofEdges bool, i int) {
		for a := range to {
			if to[a].ofEdges == ofEdges {
				to[a].push(&from[a], i)
			}
		}
	}
	var entries []int32
	for _, v := range old {
		entries = entries[:0]
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			if u := g.Neighbors[i]; number[u] >= 0 && !gone(v, u) {
				entries = append(entries, i)
			}
		}
		slices.SortFunc(entries, func(a, b int32) int { return int(number[g.Neighbors[a]]) - int(number[g.Neighbors[b]]) })
		for _, i := range entries {
			h.Neighbors = append(h.Neighbors, number[g.Neighbors[i]])
			push(true, int(i))
		}
		h.Offsets = append(h.Offsets, int32(len(h.Neighbors)))
		push(false, int(v))
		if g.Degrees != nil {
			h.Degrees = append(h.Degrees, g.Degrees[v])
		}
		if g.SparseCard > 0 {
			h.NodeSparse = append(h.NodeSparse, g.Sparse(v)...)
			h.SparseOffsets = append(h.SparseOffsets, int32(len(h.NodeSparse)))
		}
	}
	return &h
}

// Only returns a copy of g, with attributes, of the given nodes, ascending, and of the edges between them. Node i of it is nodes[i]. Nodes that are
// not ascending, or that g does not have, are an error. O(n + m).
func (g *Graph) Only(nodes []int32) (*Graph, error) {
	number, last := slices.Repeat([]int32{-1}, g.N()), int32(-1)
	for i, v := range nodes {
		if v <= last || int(v) >= g.N() {
			return nil, fmt.Errorf("graph: node %d behind %d, want ascending ones of the %d nodes", v, last, g.N())
		}
		number[v], last = int32(i), v
	}
	return g.induced(nodes, number, func(_, _ int32) bool { return false }), nil
}

// Without returns a copy of g without the given nodes, their edges, and the given edges, in
// either direction. The other nodes keep their order and get new numbers. A node or an edge
// that g does not have is an error; a repeat is not. O(n + m).
func (g *Graph) Without(nodes []int32, edges []Edge) (*Graph, error) {
	n := g.N()
	number := make([]int32, n)
	for _, v := range nodes {
		if v < 0 || int(v) >= n {
			return nil, fmt.Errorf("graph: node %d is not among the %d nodes", v, n)
		}
		number[v] = -1
	}
	gone, ends := map[Edge]bool{}, map[int32]bool{}
	for _, e := range edges {
		in := e.U >= 0 && e.V >= 0 && int(e.U) < n && int(e.V) < n
		if !in || g.Entry(e.U, e.V) < 0 && (!g.Directed || g.Entry(e.V, e.U) < 0) {
			return nil, fmt.Errorf("graph: there is no edge %d-%d", e.U, e.V)
		}
		gone[e] = true
		gone[Edge{U: e.V, V: e.U}] = true
		ends[e.U], ends[e.V] = true, true
	}
	var left []int32
	for v := range number {
		if number[v] == 0 {
			number[v] = int32(len(left))
			left = append(left, int32(v))
		}
	}
	return g.induced(left, number, func(v, u int32) bool { return ends[v] && gone[Edge{U: v, V: u}] }), nil
}
