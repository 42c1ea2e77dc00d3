package field

import (
	"fmt"
	"math/bits"
	"slices"
)

// MaxK is the largest field size. A distance then fits a byte.
const MaxK = 256

// Assembler gathers neighbourhoods. The zero value is ready; an Assembler is
// not safe for concurrent use.
type Assembler struct {
	seen marks
	few  fewNodes
	// readSum is written and never read. It keeps the compiler from removing the reads of touchRows.
	readSum int32

	hood  []int32
	dist  []uint8
	nodes [maxWords]int32 // nodes that words returns
	dists [maxWords]uint8
	bits  []uint64 // all zero between two calls of sort, as is used
	used  []uint64
}

// Assemble returns the nodes around root, nearest first. It is a breadth-first search that ends
// after the level that brings their number to at least k, or when no node is left (Niepert et al.
// 2016, Algorithm 2, with L the unseen nodes). hood starts with the root and ascends inside each
// distance; dist[i] is the hop distance of hood[i]. Both are borrowed until the next call. The cost
// is the size of the rows of all nodes nearer than the last level. With Index.SetBound the search
// ends inside a level.
//
// A root outside the graph or a k outside 1 … MaxK panics.
func (a *Assembler) Assemble(ix *Index, root int32, k int) (hood []int32, dist []uint8) {
	n := ix.N()
	if root < 0 || int(root) >= n {
		panic(fmt.Sprintf("field: root %d, want 0 to %d", root, n-1))
	}
	if k < 1 || k > MaxK {
		panic(fmt.Sprintf("field: k is %d, want 1 to %d", k, MaxK))
	}
	if ix.bound.most > 0 {
		return a.bounded(ix, root, k)
	}
	if ix.rows != nil {
		return a.words(ix.rows, root, k)
	}
	return a.lists(ix, root, k)
}

// words computes what lists does, for an undirected graph of at most 64 nodes. rows has the
// neighbours of each node as a set. A level is a set too.
func (a *Assembler) words(rows []uint64, root int32, k int) (hood []int32, dist []uint8) {
	nodes, dists := &a.nodes, &a.dists
	nodes[0], dists[0] = root, 0
	n, seen, next := 1, uint64(1)<<root, rows[root]
	for d := uint8(1); n < k; d++ {
		level := next &^ seen
		if level == 0 {
			break
		}
		seen |= level
		for m := level; m != 0; m &= m - 1 {
			v := bits.TrailingZeros64(m)
			nodes[n&63], dists[n&63] = int32(v), d
			n++
			next |= rows[v]
		}
	}
	return nodes[:n], dists[:n]
}

// lists is Assemble without a bound, for graphs of any size.
func (a *Assembler) lists(ix *Index, root int32, k int) (hood []int32, dist []uint8) {
	n := ix.N()
	a.seen.next(n)
	a.seen.add(root)
	a.hood = append(a.hood[:0], root)
	a.dist = append(a.dist[:0], 0)
	for begin := 0; len(a.hood) < k; {
		end := len(a.hood)
		for _, u := range a.hood[begin:end] {
			if !ix.g.Directed || ix.dir != In {
				a.hood = a.seen.meet(ix.adj.row(u), a.hood)
			}
			if ix.g.Directed && ix.dir != Out {
				a.hood = a.seen.meet(ix.in.row(u), a.hood)
			}
		}
		if len(a.hood) == end {
			break
		}
		// The row of one node ascends already.
		if end-begin > 1 || ix.g.Directed {
			a.sort(a.hood[end:])
		}
		d := a.dist[end-1] + 1
		a.dist = slices.Grow(a.dist, len(a.hood)-end)[:len(a.hood)]
		for i := end; i < len(a.dist); i++ {
			a.dist[i] = d
		}
		begin = end
	}
	return a.hood, a.dist
}

// sort sorts distinct node numbers. A long list sets bits in a bitmap of all nodes, and a second
// bitmap records which words of the first are in use.
func (a *Assembler) sort(x []int32) {
	if len(x) <= 16 { // the break-even point in BenchmarkField
		for i, v := range x {
			for ; i > 0 && x[i-1] > v; i-- {
				x[i] = x[i-1]
			}
			x[i] = v
		}
		return
	}
	if words := len(a.seen.stamp)/64 + 1; len(a.bits) < words {
		a.bits = make([]uint64, words)
		a.used = make([]uint64, words/64+1)
	}
	for _, v := range x {
		a.bits[v>>6] |= 1 << (v & 63)
		a.used[v>>12] |= 1 << (v >> 6 & 63)
	}
	n := 0
	for i, used := range a.used {
		for ; used != 0; used &= used - 1 {
			word := i<<6 + bits.TrailingZeros64(used)
			for m := a.bits[word]; m != 0; m &= m - 1 {
				x[n] = int32(word<<6 + bits.TrailingZeros64(m))
				n++
			}
			a.bits[word] = 0
		}
		a.used[i] = 0
	}
}

// marks is a set of nodes that is cleared in O(1).
type marks struct {
	stamp []uint32
	now   uint32
}

// next clears the set and makes room for the nodes 0 … n-1.
func (m *marks) next(n int) {
	if len(m.stamp) < n {
		m.stamp = make([]uint32, n)
		m.now = 0
	}
	m.now++
	if m.now == 0 { // the counter wraps around after 2³² fields
		clear(m.stamp)
		m.now = 1
	}
}

// meet adds the nodes of a row to the set and appends the new ones to nodes. The loop has no
// branch, since the branch predictor would fail on most entries.
func (m *marks) meet(row, nodes []int32) []int32 {
	n := len(nodes)
	if n+len(row) > cap(nodes) {
		nodes = slices.Grow(nodes, len(row))
	}
	nodes = nodes[:n+len(row)]
	stamp, now := m.stamp, m.now
	for _, v := range row {
		nodes[n] = v
		differ := stamp[v] ^ now
		n += int((differ | -differ) >> 31)
		stamp[v] = now
	}
	return nodes[:n]
}

// add adds v and reports whether it was absent.
func (m *marks) add(v int32) bool {
	if m.stamp[v] == m.now {
		return false
	}
	m.stamp[v] = m.now
	return true
}
