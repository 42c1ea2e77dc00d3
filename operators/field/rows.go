package field

import (
	"math/bits"
	"slices"
)

// rows sets rows to the neighbours of each node among the numbered nodes, at most 64, as sets. The
// graph is undirected.
func (n *numbering) rows(ix *Index, nodes []int32, rows []uint64) {
	if len(n.place) > inCache || len(nodes) == maxWords || ix.longest > searched*len(nodes) {
		n.rowsListed(ix, nodes, rows)
		return
	}
	n.rowsWhole(ix, nodes, rows)
}

// rowsWhole is rows for at most 63 nodes. It reads twice as many entries as the short lists have,
// but adds them in a register: an entry that leads out sets bit 0. Nodes with long rows are left to
// rowsOfHubs.
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
			// The length of a row is unpredictable, so the loop reads most entries of each row
			// without a branch. Entries behind the row set bit 0 too.
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

// firstEntries[n] has all ones in its first n elements and zeros in the others.
var firstEntries = func() (in [16][8]int32) {
	for n := range in {
		for i := range min(n, 8) {
			in[n][i] = -1
		}
	}
	return in
}()

// rowsOfHubs sets the rows of the nodes in high from the short lists. These rows are empty before.
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

// wholeRow is the largest length of a row that is read whole, by BenchmarkField.
const wholeRow = 32

// rowsListed is rows from the short lists. nodes are the first of the numbered nodes. In a large
// graph place misses the processor's cache, and a small filter excludes nearly all other nodes
// first. The lists miss the cache too, so their starts and first entries are read for all nodes
// beforehand, which overlaps the misses.
func (n *numbering) rowsListed(ix *Index, nodes []int32, rows []uint64) {
	var few fewNodes
	var begin, end [maxWords]int32
	for i, v := range nodes {
		few.add(v)
		begin[i&63], end[i&63] = ix.short.begin[v], ix.short.end[v]
	}
	readSum := int32(0)
	for i := range nodes {
		if begin[i&63] < end[i&63] {
			readSum += ix.short.items[begin[i&63]]
		}
	}
	n.readSum = readSum
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

// inCache is the largest number of nodes whose numbers are taken to fit the processor's cache.
const inCache = 1 << 17

// searched is the ratio of the length of a list to the number of nodes from which a binary search
// replaces a scan, by BenchmarkHubs.
const searched = 4

// search is the part of rowsListed for node i, whose list is long and ascends. The end of higher
// degree owns few of its edges.
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
