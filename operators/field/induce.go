package field

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// arc is an edge, or an arc from a to b, between local nodes: positions in the
// list of nodes that a subgraph is induced on.
type arc struct {
	a, b  int32
	entry int32 // CSR position in the whole graph
}

// local numbers the nodes of a neighbourhood: it holds, for every node of the
// graph, 0 or one plus its place in the neighbourhood.
type local struct {
	place  []int32
	looked int32 // written and never read; see rowsFiltered
}

// number numbers the nodes of a graph of n nodes. forget has to follow.
func (l *local) number(n int, nodes []int32) {
	if len(l.place) < n {
		l.place = make([]int32, n)
	}
	for i, v := range nodes {
		l.place[v] = int32(i) + 1
	}
}

// forget undoes number.
func (l *local) forget(nodes []int32) {
	for _, v := range nodes {
		l.place[v] = 0
	}
}

// induce appends the arcs of ix between the numbered nodes, each undirected edge
// once. It reads the short lists of ix only.
func (l *local) induce(ix *Index, nodes []int32, arcs []arc) []arc {
	for i, u := range nodes {
		begin, end := ix.off[u], ix.off[u+1]
		for j, v := range ix.other[begin:end] {
			at := l.place[v]
			if at == 0 {
				continue
			}
			e := ix.listed(begin + int32(j))
			if e >= 0 {
				arcs = append(arcs, arc{int32(i), at - 1, e})
			} else {
				arcs = append(arcs, arc{at - 1, int32(i), ^e})
			}
		}
	}
	return arcs
}

// rows writes to rows, for the first count of the numbered nodes, at most 64,
// the set of their neighbours among themselves. The graph is undirected.
func (l *local) rows(ix *Index, nodes []int32, count int, rows []uint64) {
	rows = rows[:maxWords]
	filtered := len(l.place) > inCache || ix.longest > searched*count
	if !filtered && len(nodes) == count && count < maxWords {
		l.rowsWhole(ix, nodes, rows)
		return
	}
	clear(rows[:count])
	if filtered {
		l.rowsFiltered(ix, nodes[:count], rows)
		return
	}
	for i, u := range nodes[:count] {
		own := uint64(0)
		for _, v := range ix.other[ix.off[u]:ix.off[u+1]] {
			// in is all ones if 0 < at ≤ count: a branch would be a guess.
			at := int64(l.place[v])
			in := uint64((-at & (at - int64(count) - 1)) >> 63)
			own |= 1 << ((at - 1) & 63) & in
			rows[(at-1)&63] |= 1 << (i & 63) & in
		}
		rows[i] |= own
	}
}

// rowsWhole is rows for all of at most 63 numbered nodes. It reads twice as many
// entries as the short lists have, and adds them in a register: what leads out
// of the nodes goes to bit 0. Nodes with long rows are left to the short lists.
func (l *local) rowsWhole(ix *Index, nodes []int32, rows []uint64) {
	switch ix.atOnce {
	case 4:
		l.rowsOfFour(ix, nodes, rows)
		return
	case 8:
		l.rowsOfEight(ix, nodes, rows)
		return
	}
	high, place := uint64(0), l.place
	for i, u := range nodes {
		adj := ix.g.Adj(u)
		if len(adj) > wholeRow {
			high |= 1 << (i & 63)
			rows[i&63] = 0
			continue
		}
		own := uint64(0)
		for _, v := range adj {
			own |= 1 << (place[v] & 63)
		}
		rows[i&63] = own >> 1
	}
	if high != 0 {
		l.rowsOfHubs(ix, nodes, high, rows)
	}
}

// rowsOfEight is rowsWhole for a graph of mostly short rows. How long one is nobody
// can guess, so eight entries are read of all that have no more, and those that
// belong to the rows behind go to bit 0 too.
func (l *local) rowsOfEight(ix *Index, nodes []int32, rows []uint64) {
	high, place := uint64(0), l.place
	off, neighbors := ix.g.Offsets, ix.g.Neighbors
	for i, u := range nodes {
		begin, end := int(off[u]), int(off[u+1])
		own := uint64(0)
		switch {
		case end-begin <= 8 && begin+8 <= len(neighbors):
			adj := (*[8]int32)(neighbors[begin : begin+8])
			in := &firstEntries[(end-begin)&15]
			own |= 1 << (place[adj[0]] & in[0] & 63)
			own |= 1 << (place[adj[1]] & in[1] & 63)
			own |= 1 << (place[adj[2]] & in[2] & 63)
			own |= 1 << (place[adj[3]] & in[3] & 63)
			own |= 1 << (place[adj[4]] & in[4] & 63)
			own |= 1 << (place[adj[5]] & in[5] & 63)
			own |= 1 << (place[adj[6]] & in[6] & 63)
			own |= 1 << (place[adj[7]] & in[7] & 63)
		case end-begin > wholeRow:
			high |= 1 << (i & 63)
		default:
			for _, v := range neighbors[begin:end] {
				own |= 1 << (place[v] & 63)
			}
		}
		rows[i&63] = own >> 1
	}
	if high != 0 {
		l.rowsOfHubs(ix, nodes, high, rows)
	}
}

// rowsOfFour is rowsOfEight for a graph without rows of more than four entries.
func (l *local) rowsOfFour(ix *Index, nodes []int32, rows []uint64) {
	place := l.place
	off, neighbors := ix.g.Offsets, ix.g.Neighbors
	for i, u := range nodes {
		begin, end := int(off[u]), int(off[u+1])
		own := uint64(0)
		if begin+4 <= len(neighbors) {
			adj := (*[4]int32)(neighbors[begin : begin+4])
			in := &firstEntries[(end-begin)&15]
			own |= 1 << (place[adj[0]] & in[0] & 63)
			own |= 1 << (place[adj[1]] & in[1] & 63)
			own |= 1 << (place[adj[2]] & in[2] & 63)
			own |= 1 << (place[adj[3]] & in[3] & 63)
		} else {
			for _, v := range neighbors[begin:end] {
				own |= 1 << (place[v] & 63)
			}
		}
		rows[i&63] = own >> 1
	}
}

// firstEntries has all ones for the first so many of eight entries.
var firstEntries = func() (in [16][8]int32) {
	for n := range in {
		for i := range min(n, 8) {
			in[n][i] = -1
		}
	}
	return in
}()

// rowsOfHubs adds the rows of some nodes, which are empty, from the short lists.
func (l *local) rowsOfHubs(ix *Index, nodes []int32, high uint64, rows []uint64) {
	place := l.place
	for m := high; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		for _, v := range ix.other[ix.off[nodes[i]]:ix.off[nodes[i]+1]] {
			if at := place[v]; at > 0 {
				rows[i] |= 1 << ((at - 1) & 63)
				rows[(at-1)&63] |= 1 << i
			}
		}
	}
	for i := range nodes {
		for m := rows[i&63] & high; m != 0; m &= m - 1 {
			rows[bits.TrailingZeros64(m)&63] |= 1 << (i & 63)
		}
	}
}

// wholeRow is the length up to which rows are read from end to end, by
// BenchmarkField.
const wholeRow = 32

// rowsFiltered is rows where place is in no cache: a filter, which is, tells for
// nearly all nodes that are not among these that they are not. The lists are in
// no cache either: where they begin, and what they begin with, is read for all
// nodes first, and so fetched at once.
func (l *local) rowsFiltered(ix *Index, nodes []int32, rows []uint64) {
	var few fewNodes
	var begin, end [maxWords]int32
	for i, v := range nodes {
		few.add(v)
		begin[i&63], end[i&63] = ix.off[v], ix.off[v+1]
	}
	looked := int32(0)
	for i := range nodes {
		if begin[i&63] < end[i&63] {
			looked += ix.other[begin[i&63]]
		}
	}
	l.looked = looked
	for i := range nodes {
		list := ix.other[begin[i&63]:end[i&63]]
		if len(list) > searched*len(nodes) {
			ix.search(list, nodes, i, rows)
			continue
		}
		own := uint64(0)
		for _, v := range list {
			if !few.maybe(v) {
				continue
			}
			if at := l.place[v]; at > 0 && int(at) <= len(nodes) {
				own |= 1 << ((at - 1) & 63)
				rows[(at-1)&63] |= 1 << (i & 63)
			}
		}
		rows[i] |= own
	}
}

// inCache is the number of nodes up to which a number for each of them is taken
// to be in the processor's cache.
const inCache = 1 << 17

// searched is how much longer than the nodes a list is that is searched for them
// instead of read, by BenchmarkHubs.
const searched = 4

// search is what rows does for node i, whose list ascends. The ends of high
// degree own few of the edges.
func (ix *Index) search(list, nodes []int32, i int, rows []uint64) {
	u := nodes[i]
	for j, v := range nodes {
		if !ix.owns(u, v) {
			continue
		}
		if _, ok := slices.BinarySearch(list, v); ok {
			rows[i&63] |= 1 << (j & 63)
			rows[j&63] |= 1 << (i & 63)
		}
	}
}

// rowsAmong is rows for some of the numbered nodes: member holds 0 and, for every
// numbered node, 0 or one plus its place in nodes.
func (l *local) rowsAmong(ix *Index, nodes []int32, member []uint8, rows []uint64) {
	clear(rows[:len(nodes)])
	rows = rows[:maxWords]
	for i, u := range nodes {
		list := ix.other[ix.off[u]:ix.off[u+1]]
		if len(list) > searched*len(nodes) {
			ix.search(list, nodes, i, rows)
			continue
		}
		own := uint64(0)
		for _, v := range list {
			at := int64(member[l.place[v]])
			in := uint64(-at >> 63)
			own |= 1 << ((at - 1) & 63) & in
			rows[(at-1)&63] |= 1 << (i & 63) & in
		}
		rows[i] |= own
	}
}

// restrict appends the arcs whose ends are both among the chosen nodes, given by
// their new local numbers, -1 for those left out.
func restrict(arcs []arc, renumber []int32, out []arc) []arc {
	for _, e := range arcs {
		if a, b := renumber[e.a], renumber[e.b]; a >= 0 && b >= 0 {
			out = append(out, arc{a, b, e.entry})
		}
	}
	return out
}

// subgraph turns arcs into rows, for refinement and for labelings.
type subgraph struct {
	off, nbr []int32
	code     []uint32
	next     []int32
	types    []uint32
	byType   []int32
	cats     []int32
	attrs    []float32
	edgeCats []int32
	edgeAttr []float32
	sparse   []int32
	sparseAt []int32
	entries  []int32
	packed   []uint64
	out      graph.Graph
}

// rows returns the arcs between n nodes as rows, with codes where the graph is
// directed or edge types are asked for, and there are several: 2t at the tail and
// 2t+1 at the head, or t at both ends of an undirected edge.
func (s *subgraph) rows(g *graph.Graph, n int, arcs []arc, edgeTypes bool) refine.Rows {
	coded := g.Directed || edgeTypes
	if coded {
		coded = s.rankTypes(g, arcs, edgeTypes) > 1 || g.Directed
	}
	s.off = resize(s.off, n+1)
	clear(s.off)
	for _, e := range arcs {
		s.off[e.a+1]++
		s.off[e.b+1]++
	}
	for v := range n {
		s.off[v+1] += s.off[v]
	}
	s.next = append(s.next[:0], s.off[:n]...)
	s.nbr = resize(s.nbr, 2*len(arcs))
	if !coded {
		for _, e := range arcs {
			s.nbr[s.next[e.a]] = e.b
			s.next[e.a]++
			s.nbr[s.next[e.b]] = e.a
			s.next[e.b]++
		}
		return refine.Rows{Off: s.off, Nbr: s.nbr}
	}
	s.code = resize(s.code, 2*len(arcs))
	for i, e := range arcs {
		head, tail := s.types[i], s.types[i]
		if g.Directed {
			tail, head = 2*tail, 2*head+1
		}
		s.nbr[s.next[e.a]], s.code[s.next[e.a]] = e.b, tail
		s.next[e.a]++
		s.nbr[s.next[e.b]], s.code[s.next[e.b]] = e.a, head
		s.next[e.b]++
	}
	return refine.Rows{Off: s.off, Nbr: s.nbr, Code: s.code}
}

// rankTypes writes to s.types the rank of each arc's attributes among those of
// all arcs, from 0; all 0 without edge types. It returns the number of ranks.
func (s *subgraph) rankTypes(g *graph.Graph, arcs []arc, edgeTypes bool) int {
	s.types = resize(s.types, len(arcs))
	clear(s.types)
	if !edgeTypes || len(arcs) == 0 {
		return 1
	}
	s.byType = resize(s.byType, len(arcs))
	for i := range s.byType {
		s.byType[i] = int32(i)
	}
	slices.SortFunc(s.byType, func(i, j int32) int {
		return refine.CompareEdges(g, arcs[i].entry, arcs[j].entry)
	})
	rank := uint32(0)
	for i, e := range s.byType {
		if i > 0 && refine.CompareEdges(g, arcs[s.byType[i-1]].entry, arcs[e].entry) != 0 {
			rank++
		}
		s.types[e] = rank
	}
	return int(rank) + 1
}

// ownTypes writes to s.types the only attribute of each arc, where that is
// discrete and small, and reports whether it is: in the order of ranks then, and
// without sorting.
func (s *subgraph) ownTypes(g *graph.Graph, arcs []arc) bool {
	if g.EdgeCats != 1 || g.EdgeAttrs > 0 {
		return false
	}
	s.types = resize(s.types, len(arcs))
	for i, e := range arcs {
		c := g.EdgeCat[e.entry]
		if c < 0 || c >= math.MaxUint16 {
			return false
		}
		s.types[i] = uint32(c)
	}
	return true
}

// graph returns the subgraph of g on nodes as a graph of its own, attributes
// included. It is borrowed until the next call.
func (s *subgraph) graph(g *graph.Graph, nodes []int32, arcs []arc) *graph.Graph {
	n := len(nodes)
	h := &s.out
	*h = graph.Graph{
		Directed: g.Directed,
		NodeCats: g.NodeCats, NodeAttrs: g.NodeAttrs, EdgeCats: g.EdgeCats, EdgeAttrs: g.EdgeAttrs,
		SparseCard: g.SparseCard,
	}
	s.off = resize(s.off, n+1)
	clear(s.off)
	for _, e := range arcs {
		s.off[e.a+1]++
		if !g.Directed {
			s.off[e.b+1]++
		}
	}
	for v := range n {
		s.off[v+1] += s.off[v]
	}
	m := int(s.off[n])
	s.next = append(s.next[:0], s.off[:n]...)
	s.nbr = resize(s.nbr, m)
	s.entries = resize(s.entries, m)
	s.packed = resize(s.packed, m)
	put := func(u, v, entry int32) {
		s.packed[s.next[u]] = uint64(v)<<32 | uint64(entry)
		s.next[u]++
	}
	for _, e := range arcs {
		put(e.a, e.b, e.entry)
		if !g.Directed {
			put(e.b, e.a, e.entry)
		}
	}
	for v := range n {
		slices.Sort(s.packed[s.off[v]:s.off[v+1]])
	}
	for i, x := range s.packed {
		s.nbr[i], s.entries[i] = int32(x>>32), int32(uint32(x))
	}
	h.Offsets, h.Neighbors = s.off, s.nbr
	s.cats, s.attrs = s.cats[:0], s.attrs[:0]
	for _, v := range nodes {
		s.cats = append(s.cats, row(g.NodeCat, v, g.NodeCats)...)
		s.attrs = append(s.attrs, row(g.NodeAttr, v, g.NodeAttrs)...)
	}
	s.edgeCats, s.edgeAttr = s.edgeCats[:0], s.edgeAttr[:0]
	if g.EdgeCats+g.EdgeAttrs > 0 {
		for _, e := range s.entries {
			s.edgeCats = append(s.edgeCats, row(g.EdgeCat, e, g.EdgeCats)...)
			s.edgeAttr = append(s.edgeAttr, row(g.EdgeAttr, e, g.EdgeAttrs)...)
		}
	}
	h.NodeCat, h.NodeAttr, h.EdgeCat, h.EdgeAttr = s.cats, s.attrs, s.edgeCats, s.edgeAttr
	if g.SparseCard > 0 {
		s.sparse, s.sparseAt = s.sparse[:0], append(s.sparseAt[:0], 0)
		for _, v := range nodes {
			s.sparse = append(s.sparse, g.Sparse(v)...)
			s.sparseAt = append(s.sparseAt, int32(len(s.sparse)))
		}
		h.NodeSparse, h.SparseOffsets = s.sparse, s.sparseAt
	}
	return h
}

func row[T any](x []T, i int32, width int) []T { return x[int(i)*width : (int(i)+1)*width] }

// resize returns x with length n; the values are left as they come.
func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n, n+n/2)
	}
	return x[:n]
}
