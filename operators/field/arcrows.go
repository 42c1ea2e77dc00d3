package field

import (
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// arcRows converts the arcs of a problem into the rows that refinement reads.
type arcRows struct {
	rows refine.Rows
	next []int32
}

// of returns the rows of p, borrowed. The rows have codes if the graph is directed, or if edgeTypes
// is set and the edges have several types t: 2t at the tail of an arc and 2t+1 at its head, t at
// both ends of an undirected edge.
func (s *arcRows) of(p *problem, edgeTypes bool) refine.Rows {
	n, r, directed := len(p.nodes), &s.rows, p.g.Directed
	types := []uint32(nil)
	if edgeTypes && p.edgeAttrs {
		if all, count := p.arcTypes(); count > 1 {
			types = all
		}
	}
	r.Off = scratch.Resize(r.Off, n+1)
	clear(r.Off)
	for _, e := range p.arcs {
		r.Off[e.a+1]++
		r.Off[e.b+1]++
	}
	for v := range n {
		r.Off[v+1] += r.Off[v]
	}
	s.next = append(s.next[:0], r.Off[:n]...)
	r.Nbr = scratch.Resize(r.Nbr, 2*len(p.arcs))
	r.Code = scratch.Resize(r.Code, 2*len(p.arcs))
	for i, e := range p.arcs {
		tail := uint32(0)
		if types != nil {
			tail = types[i]
		}
		head := tail
		if directed {
			tail, head = 2*tail, 2*head+1
		}
		r.Nbr[s.next[e.a]], r.Code[s.next[e.a]] = e.b, tail
		s.next[e.a]++
		r.Nbr[s.next[e.b]], r.Code[s.next[e.b]] = e.a, head
		s.next[e.b]++
	}
	if types == nil && !directed {
		return refine.Rows{Off: r.Off, Nbr: r.Nbr}
	}
	return *r
}

// induced converts a problem into a graph, which labelings read.
type induced struct {
	g       graph.Graph
	next    []int32
	entries []int32
	packed  []uint64
}

// of returns the graph of p with its attributes, borrowed.
func (s *induced) of(p *problem) *graph.Graph {
	g, h, n := p.g, &s.g, len(p.nodes)
	h.Directed, h.SparseCard = g.Directed, g.SparseCard
	h.NodeCats, h.NodeAttrs, h.EdgeCats, h.EdgeAttrs = g.NodeCats, g.NodeAttrs, g.EdgeCats, g.EdgeAttrs
	h.Offsets = scratch.Resize(h.Offsets, n+1)
	clear(h.Offsets)
	for _, e := range p.arcs {
		h.Offsets[e.a+1]++
		if !g.Directed {
			h.Offsets[e.b+1]++
		}
	}
	for v := range n {
		h.Offsets[v+1] += h.Offsets[v]
	}
	m := int(h.Offsets[n])
	s.next = append(s.next[:0], h.Offsets[:n]...)
	h.Neighbors, s.entries, s.packed = scratch.Resize(h.Neighbors, m), scratch.Resize(s.entries, m), scratch.Resize(s.packed, m)
	put := func(u, v, entry int32) {
		s.packed[s.next[u]] = uint64(v)<<32 | uint64(entry)
		s.next[u]++
	}
	for _, e := range p.arcs {
		put(e.a, e.b, e.entry)
		if !g.Directed {
			put(e.b, e.a, e.entry)
		}
	}
	for v := range n {
		slices.Sort(s.packed[h.Offsets[v]:h.Offsets[v+1]])
	}
	for i, x := range s.packed {
		h.Neighbors[i], s.entries[i] = int32(x>>32), int32(uint32(x))
	}
	h.NodeCat, h.NodeAttr = rows(h.NodeCat, g.NodeCat, p.nodes, g.NodeCats), rows(h.NodeAttr, g.NodeAttr, p.nodes, g.NodeAttrs)
	h.EdgeCat, h.EdgeAttr = rows(h.EdgeCat, g.EdgeCat, s.entries, g.EdgeCats), rows(h.EdgeAttr, g.EdgeAttr, s.entries, g.EdgeAttrs)
	h.NodeSparse, h.SparseOffsets = h.NodeSparse[:0], h.SparseOffsets[:0]
	if g.SparseCard > 0 {
		h.SparseOffsets = append(h.SparseOffsets, 0)
		for _, v := range p.nodes {
			h.NodeSparse = append(h.NodeSparse, g.Sparse(v)...)
			h.SparseOffsets = append(h.SparseOffsets, int32(len(h.NodeSparse)))
		}
	}
	return h
}

// rows overwrites to with the rows of a matrix that numbers lists, and returns it. width is the length of a row.
func rows[T any](to, matrix []T, numbers []int32, width int) []T {
	to = to[:0]
	if width > 0 {
		for _, i := range numbers {
			to = append(to, row(matrix, i, width)...)
		}
	}
	return to
}

func row[T any](x []T, i int32, width int) []T { return x[int(i)*width : (int(i)+1)*width] }
