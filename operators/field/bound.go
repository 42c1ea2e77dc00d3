package field

import (
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// bound is the data of bounded walks. It stores, for each node, the first entries of its row in
// rank order. All rows are in one array, also in rank order. A node is identified by the start of
// its row, in units of rowUnit words, so these identifiers ascend by rank.
//
// A row is the complement of the node's number, which is negative, then the identifiers of the
// neighbours, then negative words up to the next row. A walk reads about one cache line per node.
type bound struct {
	most int     // largest number of nodes of a neighbourhood
	at   []int32 // start of the row of each node
	rows []int32
	ranker
}

// rowUnit is the granularity of rows in words, a quarter of a cache line.
const rowUnit = 4

// SetBound limits neighbourhoods to most nodes; 0 is no limit. Call it after Reset or
// ResetForWalks, which undo it, and before workers share ix. It takes O(n log n + m) time. A
// node takes 4 bytes and a row of 4 bytes for itself and each neighbour, for most entries at
// most, rounded up to 16.
//
// Levels stay whole while they fit. Of the first level that does not fit, Assemble takes the
// first nodes in a rank of all nodes of the graph and does not read the rest. The cost of a
// walk then does not depend on hubs: about one cache line per node of the neighbourhood
// (go test -bench Hubs measures fields).
//
// The rank is by rising degree, since the exact order also prefers nodes with few neighbours
// around the root; then by the structure within two steps, with directions; then by the
// attributes of the node; then by the attributes of nodes and edges within two steps; then by
// number. Renumbering the graph therefore leaves a field unchanged, byte for byte, unless the
// cut parts nodes that are equal in all but the number. Around a hub most of these are leaves
// of the hub, which are interchangeable. A neighbourhood within the bound gives the same field
// as without a bound.
//
// Other fields differ: at k = 10 and bounds of 10, 20 and 64 the members of exact and bounded
// fields agree to 65, 66 and 70 % in email-Enron, 75, 87 and 96 % in Cora, 67, 79 and 91 % in
// WordNet3. The accuracy of benchmark -task nodes did not change beyond the noise of seeds: Cora 81.6
// % exact, 81.8 with a bound of 20; polblogs 90.7 and 90.3; WordNet3 84.9 and 85.6.
func (ix *Index) SetBound(most int) {
	if most < 0 {
		panic(fmt.Sprintf("field: bound is %d, want 0 or more", most))
	}
	b := &ix.bound
	if b.most = min(most, maxBound); most == 0 {
		return
	}
	ix.rankNodes()
	ix.placeRows()
	ix.fillRows()
	if len(b.keys) > 1<<16 {
		b.ranker = ranker{} // frees the memory of a large graph; small graphs reuse theirs
	}
}

// maxBound caps a bound, so that arithmetic on it cannot overflow.
const maxBound = 1 << 30

// cursor is a position in rows: an index above the lowest 31 bits, which count the entries that still fit into the row.
type cursor uint64

func cursorAt(word, size int) cursor { return cursor(word)<<31 | cursor(size) }

func (c cursor) word() int  { return int(c >> 31) }
func (c cursor) full() bool { return c&(1<<31-1) == 0 }

// placeRows assigns a start to each row and sets b.next to the first entries.
func (ix *Index) placeRows() {
	b, n := &ix.bound, ix.N()
	b.at, b.next = scratch.Resize(b.at, n), scratch.Resize(b.next, n)
	unit := 0
	for _, key := range b.keys {
		size := min(ix.walkedDegree(key.node), b.most)
		b.at[key.node] = int32(unit)
		b.next[key.node] = cursorAt(unit*rowUnit+1, size)
		unit += size/rowUnit + 1
	}
	b.rows = scratch.Resize(b.rows, unit*rowUnit+1)
	for i := range b.rows {
		b.rows[i] = -1
	}
}

// fillRows visits the nodes by rank and appends each to the rows from which a walk reaches it,
// until a row is full. The rows ascend without a sort.
func (ix *Index) fillRows() {
	b := &ix.bound
	rows, next := b.rows, b.next
	for _, key := range b.keys {
		at, own := b.at[key.node], int(b.at[key.node])*rowUnit
		rows[own] = ^key.node
		ix.walkedFrom(key.node, func(row []int32) {
			for _, u := range row {
				// Two arcs may join the same nodes, one in each direction.
				if c := next[u]; !c.full() && rows[c.word()-1] != at {
					rows[c.word()] = at
					next[u] = c + 1<<31 - 1
				}
			}
		})
	}
}

// walkedDegree returns the number of entries in the rows of v that a walk follows.
func (ix *Index) walkedDegree(v int32) int {
	d := 0
	if !ix.g.Directed || ix.dir != In {
		d = ix.adj.degree(v)
	}
	if ix.g.Directed && ix.dir != Out {
		d += ix.in.degree(v)
	}
	return d
}

// walkedFrom calls do with each row of nodes from which a walk reaches v.
func (ix *Index) walkedFrom(v int32, do func(row []int32)) {
	if !ix.g.Directed || ix.dir != Out {
		do(ix.adj.row(v))
	}
	if ix.g.Directed && ix.dir != In {
		do(ix.in.row(v))
	}
}

// bounded is Assemble for an index with a bound. It identifies nodes by the starts of their rows
// and converts these to numbers at the end.
func (a *Assembler) bounded(ix *Index, root int32, k int) (hood []int32, dist []uint8) {
	b := &ix.bound
	if k > b.most {
		panic(fmt.Sprintf("field: k is %d, want at most the bound, %d", k, b.most))
	}
	a.few = fewNodes{}
	if b.most > maxWords {
		a.seen.next(len(b.rows) / rowUnit)
	}
	a.fresh(b.at[root], b.most)
	a.hood = append(a.hood[:0], b.at[root])
	a.dist = append(a.dist[:0], 0)
	for begin := 0; len(a.hood) < k; {
		end := len(a.hood)
		a.touchRows(b, begin)
		for _, u := range a.hood[begin:end] {
			a.merge(b.rows[int(u)*rowUnit+1:], end, b.most)
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
	for i, at := range a.hood {
		a.hood[i] = ^b.rows[int(at)*rowUnit]
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

// touchRows reads the first word of the row of each node of a.hood[begin:]. In a large graph each
// row is a cache miss. These reads do not depend on each other, so the processor overlaps them;
// those of merge wait for one another.
func (a *Assembler) touchRows(b *bound, begin int) {
	sum := int32(0)
	for _, at := range a.hood[begin:] {
		sum += b.rows[int(at)*rowUnit]
	}
	a.readSum = sum // keeps the reads from being optimised away
}

// Prefetch loads the memory that Assemble reads first for the next roots, up to 16, if ix is
// bounded and large. It saves 6 to 16 % of a field (RMAT of 29 million edges, bounds of 10 and
// 16). It has no other effect and skips roots of -1.
func (a *Assembler) Prefetch(ix *Index, roots []int32) {
	b := &ix.bound
	if b.most == 0 || len(b.rows) <= inCache {
		return
	}
	var at [16]int32
	roots = roots[:min(len(roots), len(at))]
	for i, v := range roots {
		if v >= 0 {
			at[i] = b.at[v]
		}
	}
	readSum := int32(0)
	for _, p := range at[:len(roots)] {
		readSum += b.rows[int(p)*rowUnit]
	}
	for _, p := range at[:len(roots)] {
		for _, q := range b.rows[int(p)*rowUnit+1:] {
			if q < 0 {
				break
			}
			readSum += b.rows[int(q)*rowUnit]
		}
	}
	a.readSum = readSum
}

// merge inserts the new nodes of a row into the level a.hood[begin:], which ascends. It keeps the
// first most nodes.
func (a *Assembler) merge(row []int32, begin, most int) {
	for _, at := range row {
		n := len(a.hood)
		full := n == most
		if at < 0 || full && at > a.hood[n-1] {
			return // the rest of the row ranks behind too
		}
		if !a.fresh(at, most) {
			continue
		}
		if full {
			n--
		} else {
			a.hood = append(a.hood, 0)
		}
		for ; n > begin && a.hood[n-1] > at; n-- {
			a.hood[n] = a.hood[n-1]
		}
		a.hood[n] = at
	}
}

// fresh adds a node to the walk and reports whether it was absent. Up to 64 nodes it uses a filter
// and a scan, since marks as large as the graph would miss the cache.
func (a *Assembler) fresh(at int32, most int) bool {
	if most > maxWords {
		return a.seen.add(at)
	}
	if a.few.maybe(at) && slices.Contains(a.hood, at) {
		return false
	}
	a.few.add(at)
	return true
}

// fewNodes is a filter of a set of a few dozen nodes. It excludes nearly all nodes outside the set.
type fewNodes [64]uint64

func (f *fewNodes) add(v int32)        { f[v>>6&63] |= 1 << (v & 63) }
func (f *fewNodes) maybe(v int32) bool { return f[v>>6&63]>>(v&63)&1 == 1 }
