package field

import (
	"fmt"
	"math"
	"slices"
)

// bound is what a bounded walk reads: the graph with its nodes called by their
// rank, and of every row only the first entries in rank order.
type bound struct {
	most  int      // nodes of a neighbourhood
	node  []int32  // by rank
	rank  []int32  // by node
	begin []uint32 // by rank: where its row begins in best, and at n the end
	best  []int32  // ranks, ascending in each row, at most most of them
	ranker
	row []int32 // scratch of Bound
}

// Bound makes Assemble gather at most the given number of nodes, 0 for any number.
// It is called after Reset or ResetWalk, which undo it, and before workers share
// ix. O(n log n + m), and for every node 12 bytes and at most as many entries of 4
// bytes as it has neighbours, or as the bound says.
//
// Levels are whole as long as they fit. Of the first one that does not fit, those
// nodes are taken that come first in a rank of all nodes of the graph, and the rest
// of the level is not looked at. The cost of a field is then one of its size and of
// the bound, however large the hub beside it.
//
// The rank is by rising degree, since the exact order prefers nodes that have few
// neighbours around the root too; equal degrees by what is around the nodes, two
// steps far, arcs that leave and those that arrive told apart; then by the
// attributes of the nodes; then by the attributes of nodes and edges around them,
// two steps far. Nodes that are equal in all of that are taken by number.
//
// So the promise is: renumbering leaves a field as it is, byte by byte, unless two
// nodes equal in all of that stand at the cut, and one of them is taken while the
// other is not. Around a hub most of these are leaves of the same hub, of which it
// does not matter which is taken. A neighbourhood that does not exceed the bound
// gives the field that it gives without.
//
// Others give another field: at k = 10 and a bound of 10, 20 and 64 the members of
// exact and of bounded fields have 65, 66 and 70 % in common in email-Enron, 75, 87
// and 96 % in Cora, 67, 79 and 91 % in WordNet3. What is learned from them did not
// get worse where it was measured, beyond what seeds make: accuracy of
// examples/nodes at k = 20 on Cora 81.6 % exact, 81.8 with a bound of 20 and 81.2
// with 40 (seeds 1 to 3), on polblogs 90.7, 90.3 and 91.0 (1 to 5), on WordNet3 84.9,
// 85.6 and 85.1 (seed 1). θ̂ at k = 10, exact and with bounds of 10 and 16:
// email-Enron 33.1, 32.3 and 31.3, Cora 26.5, 26.5 and 26.1, WordNet3 22.9, 23.6 and
// 23.2, with standard errors of 0.2 to 0.4.
//
// What the rate still depends on is memory: a field looks at a few dozen places of
// arrays that are larger than any cache, and such a look took 22 ns where it need
// not wait for another, against 3 ns in a megabyte. Over RMAT graphs of 0.4, 1.7,
// 7 and 29 million edges, random roots and k = 10, direct calls gave 297, 227, 180
// and 185 thousand fields per second of processor time with a bound of 10, and
// 172, 120, 123 and 131 with 16, on a busy machine.
func (ix *Index) Bound(most int) {
	if most < 0 {
		panic(fmt.Sprintf("field: bound is %d, want 0 or more", most))
	}
	b := &ix.bound
	if b.most = most; most == 0 {
		return
	}
	ix.rankNodes()
	n := ix.g.N()
	if cap(b.begin) < n+1 {
		b.begin = make([]uint32, n+1)
	}
	b.begin = b.begin[:n+1]
	size := 0
	for v := range int32(n) {
		d := 0
		ix.walked(v, func(row []int32) { d += len(row) })
		size += min(d, most)
	}
	b.best = resize(b.best, size)[:0]
	for r, v := range b.node {
		b.begin[r] = uint32(len(b.best))
		b.row = b.row[:0]
		ix.walked(v, func(row []int32) { b.lead(row, most) })
		b.best = append(b.best, b.leaders(most)...)
	}
	b.begin[n] = uint32(len(b.best))
	if n > 1<<16 {
		b.ranker = ranker{} // a large graph is not one of many
	}
}

// lead adds to b.row the ranks of a row that may be among the first.
func (b *bound) lead(row []int32, most int) {
	limit := int32(math.MaxInt32)
	for _, u := range row {
		if r := b.rank[u]; r <= limit {
			b.row = append(b.row, r)
			if len(b.row) >= 4*most+64 {
				b.row = b.leaders(most)
				if len(b.row) == most {
					limit = b.row[most-1]
				}
			}
		}
	}
}

// leaders sorts b.row and returns the first of it. Two arcs may join the same
// nodes.
func (b *bound) leaders(most int) []int32 {
	slices.Sort(b.row)
	b.row = slices.Compact(b.row)
	return b.row[:min(most, len(b.row))]
}

// walked hands over the rows that a walk follows from v.
func (ix *Index) walked(v int32, do func(row []int32)) {
	if !ix.g.Directed || ix.dir != In {
		do(ix.g.Adj(v))
	}
	if ix.g.Directed && ix.dir != Out {
		do(ix.in(v))
	}
}

// bounded is Assemble for a bounded index. Nodes go by their ranks until the end.
func (a *Assembler) bounded(ix *Index, root int32, k int) (hood []int32, dist []uint8) {
	b := &ix.bound
	if k > b.most {
		panic(fmt.Sprintf("field: k is %d, want at most the bound, %d", k, b.most))
	}
	a.few = fewNodes{}
	if b.most > maxWords {
		a.seen.next(len(b.node))
	}
	a.hood = a.hood[:0]
	a.fresh(b.rank[root], b.most)
	a.hood = append(a.hood, b.rank[root])
	a.dist = append(a.dist[:0], 0)
	for begin := 0; len(a.hood) < k; {
		end := len(a.hood)
		a.look(b, a.hood[begin:end])
		for _, u := range a.hood[begin:end] {
			a.merge(b.best[b.begin[u]:b.begin[u+1]], end, b.most)
		}
		if len(a.hood) == end {
			break
		}
		d := a.dist[end-1] + 1
		for range a.hood[end:] {
			a.dist = append(a.dist, d)
		}
		begin = end
	}
	for i, r := range a.hood {
		a.hood[i] = b.node[r]
	}
	for i := 1; i < len(a.hood); {
		end := i
		for end < len(a.hood) && a.dist[end] == a.dist[i] {
			end++
		}
		slices.Sort(a.hood[i:end])
		i = end
	}
	return a.hood, a.dist
}

// look reads the beginning of the rows of some nodes. In a large graph each of
// them is somewhere else in memory: the processor fetches what is read here at
// once, and what merge reads, which waits for what it has found, one by one.
func (a *Assembler) look(b *bound, nodes []int32) {
	sum := int32(0)
	for _, u := range nodes {
		if at := b.begin[u]; int(at) < len(b.best) {
			sum += b.best[at]
		}
	}
	a.looked = sum // so that the reads stay
}

// merge adds what is new in an ascending row to the level that begins at a place
// of a.hood, so that it ascends and a.hood holds the first most nodes.
func (a *Assembler) merge(row []int32, begin, most int) {
	for _, r := range row {
		n := len(a.hood)
		full := n == most
		if full && r > a.hood[n-1] {
			return // as all behind it
		}
		if !a.fresh(r, most) {
			continue
		}
		if full {
			n--
		} else {
			a.hood = append(a.hood, 0)
		}
		for ; n > begin && a.hood[n-1] > r; n-- {
			a.hood[n] = a.hood[n-1]
		}
		a.hood[n] = r
	}
}

// fresh reports whether r is new to the walk. Up to 64 nodes it needs no memory
// of the size of the graph, which would not be in the processor's cache.
func (a *Assembler) fresh(r int32, most int) bool {
	if most > maxWords {
		return a.seen.add(r)
	}
	if a.few.maybe(r) && slices.Contains(a.hood, r) {
		return false
	}
	a.few.add(r)
	return true
}

// fewNodes is a filter for a set of a few dozen nodes: it knows for nearly all
// others that they are not in the set.
type fewNodes [64]uint64

func (f *fewNodes) add(v int32)        { f[v>>6&63] |= 1 << (v & 63) }
func (f *fewNodes) maybe(v int32) bool { return f[v>>6&63]>>(v&63)&1 == 1 }
