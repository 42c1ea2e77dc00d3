package field

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// bound is what a bounded walk reads: the graph with its nodes called by their
// rank, and of every row only the first entries in rank order.
type bound struct {
	most   int       // nodes of a neighbourhood
	node   []int32   // by rank
	rank   []int32   // by node
	rows   []rowSpan // by rank
	best   []int32   // ranks, ascending in each row, at most most of them
	hashes [2][]uint64
	keys   []rankKey
}

// rowSpan is where a row begins and ends in best.
type rowSpan struct{ begin, end int }

// rankKey is what nodes are ranked by.
type rankKey struct {
	hash   uint64
	degree uint32
	node   int32
}

// Bound makes Assemble gather at most the given number of nodes, 0 for any number.
// It is called after Reset or ResetWalk, which undo it, and before workers share
// ix. O(n log n + m), and for every node at most as many entries of 4 bytes as it
// has neighbours, or as the bound says.
//
// Levels are whole as long as they fit. Of the first one that does not fit, those
// nodes are taken that come first in a rank of all nodes of the graph, and the rest
// of the level is not looked at. The cost of a field is then one of its size and of
// the bound, however large the hub beside it.
//
// The rank is by rising degree, since the exact order prefers nodes that have few
// neighbours around the root too; equal degrees by what is around the nodes, two
// steps far, and then by attributes. Nodes that are equal in all of that are taken
// by number. So fields do not depend on the numbering but for that: two nodes equal
// in rank of which only one is taken. Around a hub most of these are leaves of the
// same hub, of which it does not matter which is taken. A neighbourhood that does
// not exceed the bound gives the field that it gives without.
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
	b.rows = resize(b.rows, n)
	at := 0
	for r, v := range b.node {
		d := 0
		ix.walked(v, func(row []int32) { d += len(row) })
		b.rows[r] = rowSpan{at, at}
		at += min(d, most)
	}
	b.best = resize(b.best, at)
	for r, v := range b.node {
		ix.leads(v, func(row []int32) {
			for _, u := range row {
				of := int(b.rank[u])
				to, limit := &b.rows[of], at
				if of+1 < n {
					limit = b.rows[of+1].begin
				}
				// Two arcs may join the same nodes.
				if to.end < limit && (to.end == to.begin || b.best[to.end-1] != int32(r)) {
					b.best[to.end] = int32(r)
					to.end++
				}
			}
		})
	}
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

// leads hands over the rows of the nodes from which a walk comes to v.
func (ix *Index) leads(v int32, do func(row []int32)) {
	if !ix.g.Directed || ix.dir != Out {
		do(ix.g.Adj(v))
	}
	if ix.g.Directed && ix.dir != In {
		do(ix.in(v))
	}
}

// rankNodes fills node and rank.
func (ix *Index) rankNodes() {
	b, g := &ix.bound, ix.g
	n := g.N()
	here, next := resize(b.hashes[0], n), resize(b.hashes[1], n)
	for v := range int32(n) {
		here[v] = mix(uint64(g.Degree(v))<<32 | uint64(ix.degree(v)))
	}
	for range 2 {
		for v := range int32(n) {
			h := here[v]
			for _, u := range g.Adj(v) {
				h += mix(here[u])
			}
			if g.Directed {
				for _, u := range ix.in(v) {
					h += mix(^here[u])
				}
			}
			next[v] = mix(h)
		}
		here, next = next, here
	}
	b.hashes = [2][]uint64{here, next}
	b.keys = resize(b.keys, n)
	for v := range b.keys {
		b.keys[v] = rankKey{here[v], uint32(ix.degree(int32(v))), int32(v)}
	}
	slices.SortFunc(b.keys, func(x, y rankKey) int {
		c := cmp.Or(cmp.Compare(x.degree, y.degree), cmp.Compare(x.hash, y.hash))
		if c == 0 && g.HasNodeAttributes() {
			c = refine.CompareNodes(g, x.node, y.node)
		}
		return cmp.Or(c, cmp.Compare(x.node, y.node))
	})
	b.node, b.rank = resize(b.node, n), resize(b.rank, n)
	for r, key := range b.keys {
		b.node[r] = key.node
	}
	for r, v := range b.node {
		b.rank[v] = int32(r)
	}
	if n > 1<<16 {
		b.hashes, b.keys = [2][]uint64{}, nil // a large graph is not one of many
	}
}

// mix scatters the bits of x (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
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
		for _, u := range a.hood[begin:end] {
			a.merge(b.best[b.rows[u].begin:b.rows[u].end], end, b.most)
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
