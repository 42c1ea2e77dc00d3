package field

import (
	"slices"
)

// rows sets rows to the neighbours of each node among the numbered nodes, at most 64, as sets. nodes are
// the first of the numbered nodes of an undirected graph. It reads the short lists. In a large
// graph place misses the processor's cache, and a small filter excludes nearly all other nodes
// first. The lists miss the cache too, so their starts and first entries are read for all nodes
// beforehand, which overlaps the misses.
func (n *numbering) rows(ix *Index, nodes []int32, rows []uint64) {
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

// search is the part of rows for node i, whose list is long and ascends. The end of higher
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
