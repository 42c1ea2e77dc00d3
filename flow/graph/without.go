package graph

import "fmt"

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
	left := int32(0)
	for v := range number {
		if number[v] == 0 {
			number[v] = left
			left++
		}
	}
	h := &Graph{
		NodeCats: g.NodeCats, NodeAttrs: g.NodeAttrs, EdgeCats: g.EdgeCats, EdgeAttrs: g.EdgeAttrs,
		SparseCard: g.SparseCard, Directed: g.Directed, Offsets: make([]int32, 1, left+1), Neighbors: make([]int32, 0, len(g.Neighbors)),
	}
	if g.SparseCard > 0 {
		h.SparseOffsets = make([]int32, 1, left+1)
	}
	for v := range int32(n) {
		if number[v] < 0 {
			continue
		}
		h.NodeCat = append(h.NodeCat, row(g.NodeCat, int(v), g.NodeCats)...)
		h.NodeAttr = append(h.NodeAttr, row(g.NodeAttr, int(v), g.NodeAttrs)...)
		if g.SparseCard > 0 {
			h.NodeSparse = append(h.NodeSparse, g.Sparse(v)...)
			h.SparseOffsets = append(h.SparseOffsets, int32(len(h.NodeSparse)))
		}
		loses := ends[v]
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			u := g.Neighbors[i]
			if number[u] < 0 || loses && gone[Edge{U: v, V: u}] {
				continue
			}
			h.Neighbors = append(h.Neighbors, number[u])
			h.EdgeCat = append(h.EdgeCat, row(g.EdgeCat, int(i), g.EdgeCats)...)
			h.EdgeAttr = append(h.EdgeAttr, row(g.EdgeAttr, int(i), g.EdgeAttrs)...)
		}
		h.Offsets = append(h.Offsets, int32(len(h.Neighbors)))
	}
	return h, nil
}
