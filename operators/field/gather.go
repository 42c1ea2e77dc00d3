package field

import "github.com/sanflow/sanflow/operators/internal/refine"

// gather sets p to the problem of nodes at the given distances. words permits sets of machine words
// where the problem fits them.
func (n *numbering) gather(p *problem, ix *Index, nodes []int32, dist []uint8, words, ignore bool) {
	p.begin(ix.g, ignore)
	p.nodes = nodes
	p.onWords = words && len(nodes) <= maxWords
	if p.onWords {
		p.starts, p.rows = refine.Starts(dist), p.rowMemory[:len(nodes)]
	}
	n.number(ix.N(), nodes)
	switch {
	case p.onWords && !p.edgeAttrs:
		n.rows(ix, nodes, p.rowMemory[:])
	case !p.onWords || !n.typedRows(ix, p):
		p.dist, p.arcs = append(p.dist[:0], dist...), n.induce(ix, nodes, p.arcs[:0])
		if p.onWords = p.onWords && p.setTypes(); p.onWords {
			p.setRows()
		}
	}
	n.forget(nodes)
}

// arc is an edge, or an arc from a to b, between two nodes of a problem.
type arc struct {
	a, b  int32
	entry int32 // CSR position in the graph
}

// numbering maps each node of a graph to its number in a problem plus one, or 0.
type numbering struct {
	place   []int32
	readSum int32 // written and never read; see rows
}

// number numbers nodes of a graph with size nodes. forget must follow.
func (n *numbering) number(size int, nodes []int32) {
	if len(n.place) < size {
		n.place = make([]int32, size)
	}
	for i, v := range nodes {
		n.place[v] = int32(i) + 1
	}
}

// forget clears the numbers of nodes, in time O(len(nodes)).
func (n *numbering) forget(nodes []int32) {
	for _, v := range nodes {
		n.place[v] = 0
	}
}

// induce appends the arcs between the numbered nodes, each undirected edge once. It reads the short
// lists only.
func (n *numbering) induce(ix *Index, nodes []int32, arcs []arc) []arc {
	for i, u := range nodes {
		begin := ix.short.begin[u]
		for j, v := range ix.short.row(u) {
			at := n.place[v]
			if at == 0 {
				continue
			}
			if e := ix.listed(u, begin+int32(j)); e >= 0 {
				arcs = append(arcs, arc{int32(i), at - 1, e})
			} else {
				arcs = append(arcs, arc{at - 1, int32(i), ^e})
			}
		}
	}
	return arcs
}

// typedRows sets the rows and the types of edges of p. It returns false unless the edges have
// exactly one attribute, discrete and below 255, and p has at most 63 nodes. The loop has no branch
// on whether an entry leads out of the problem, since that is unpredictable.
func (n *numbering) typedRows(ix *Index, p *problem) bool {
	g := ix.g
	if g.EdgeCats != 1 || g.EdgeAttrs > 0 || len(p.nodes) == maxWords {
		return false // entries that lead out are written to column 63
	}
	table := p.typeTable()
	greatest, some, every := uint32(0), uint32(0), ^uint32(0) // bits that any type has, and bits that all types have
	for i, u := range p.nodes {
		adj := ix.adj.row(u)
		if len(adj) > 4*maxWords {
			return false // the row of a hub has few edges of the problem
		}
		cats := g.EdgeCat[ix.adj.begin[u]:][:len(adj)]
		types := table[i<<6:][:maxWords]
		row := uint64(0)
		for e, v := range adj {
			at := n.place[v]
			in := uint32(-at >> 31) // all ones if v is a node of the problem
			c := uint32(cats[e])
			row |= 1 << ((at - 1) & 63) & uint64(int64(int32(in)))
			types[(at-1)&63] = uint8(c)
			greatest = max(greatest, c&in)
			some |= c & in
			every &= c | ^in
		}
		p.rows[i] = row
	}
	if some&^every == 0 { // all types are equal
		p.types = nil
	}
	return greatest < 255
}
