package field

import (
	"math/bits"
	"slices"
)

// rows writes to rows, for each of the numbered nodes, at most 64, the set of its
// neighbours among them. The graph is undirected.
func (n *numbering) rows(ix *Index, nodes []int32, rows []uint64) {
	if len(n.place) > inCache || len(nodes) == maxWords || ix.longest > searched*len(nodes) {
		n.rowsListed(ix, nodes, rows)
		return
	}
	n.rowsWhole(ix, nodes, rows)
}

// rowsWhole is rows for at most 63 nodes. It reads twice as many entries as the short
// lists have, and adds them in a register: what leads out of the nodes goes to bit 0.
// Nodes with long rows are left to the short lists.
func (n *numbering) rowsWhole(ix *Index, nodes []int32, rows []uint64) {
	high, place := uint64(0), n.place
	begins, ends, neighbors := ix.adj.begin, ix.adj.end, ix.adj.items
	rows = rows[:maxWords]
	most := ix.most
	for i, u := range nodes {
		begin, end := int(begins[u]), int(ends[u])
		own := uint64(0)
		switch {
		case end-begin <= most && begin+most <= len(neighbors):
			// How long a row is cannot be predicted, so as many entries are read of all
			// that have no more, and those of the rows behind go to bit 0 too.
			adj, in := (*[4]int32)(neighbors[begin:begin+4]), &firstEntries[(end-begin)&15]
			own |= 1 << (place[adj[0]] & in[0] & 63)
			own |= 1 << (place[adj[1]] & in[1] & 63)
			own |= 1 << (place[adj[2]] & in[2] & 63)
			own |= 1 << (place[adj[3]] & in[3] & 63)
			if most > 4 {
				adj = (*[4]int32)(neighbors[begin+4 : begin+8])
				own |= 1 << (place[adj[0]] & in[4] & 63)
				own |= 1 << (place[adj[1]] & in[5] & 63)
				own |= 1 << (place[adj[2]] & in[6] & 63)
				own |= 1 << (place[adj[3]] & in[7] & 63)
			}
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
		n.rowsOfHubs(ix, nodes, high, rows)
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
func (n *numbering) rowsOfHubs(ix *Index, nodes []int32, high uint64, rows []uint64) {
	place := n.place
	for m := high; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		for _, v := range ix.short.row(nodes[i]) {
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

// rowsListed is rows from the short lists, for the first of the numbered nodes. Where
// place is in no cache, a filter, which is, tells for nearly all other nodes that
// they are not among these. The lists are in no cache either: where they begin, and
// what they begin with, is read for all nodes first, and so fetched at once.
func (n *numbering) rowsListed(ix *Index, nodes []int32, rows []uint64) {
	var few fewNodes
	var begin, end [maxWords]int32
	for i, v := range nodes {
		few.add(v)
		begin[i&63], end[i&63] = ix.short.begin[v], ix.short.end[v]
	}
	looked := int32(0)
	for i := range nodes {
		if begin[i&63] < end[i&63] {
			looked += ix.short.items[begin[i&63]]
		}
	}
	n.looked = looked
	rows = rows[:maxWords]
	clear(rows[:len(nodes)])
	for i := range nodes {
		list := ix.short.items[begin[i&63]:end[i&63]]
		if len(list) > searched*len(nodes) {
			ix.search(list, nodes, i, rows)
			continue
		}
		own := uint64(0)
		for _, v := range list {
			if !few.maybe(v) {
				continue
			}
			if at := n.place[v]; at > 0 && int(at) <= len(nodes) {
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

// search is what rowsListed does for node i, whose list ascends. The ends of high
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
