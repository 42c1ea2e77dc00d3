package field

import (
	"fmt"

	"github.com/sanflow/sanflow/internal/scratch"
)

// bound is what a bounded walk reads. Of the row of every node it keeps the first
// entries in rank order, and the rows of all nodes lie in that order too, one behind
// the other in one array: nodes go by where their row begins there, in units of
// rowUnit words, which is in the order of ranks. A row holds the complement of the
// node's number, which is negative, and its neighbours; up to the next row there is
// nothing but negative numbers. So all that is read of a node lies together, mostly in
// one line of the cache, and an entry of a row is the place of the neighbour's row.
type bound struct {
	most int     // nodes of a neighbourhood
	at   []int32 // by node: where its row begins
	rows []int32
	far  far // if edges are asked for
	ranker
}

// rowUnit is the number of words that a row is a multiple of: a quarter of a line.
const rowUnit = 4

// SetBound limits neighbourhoods to most nodes; 0 is no limit. Call it after Reset or
// ResetForWalks, which undo it, and before workers share ix. It takes O(n log n + m) time. A
// node takes 4 bytes and a row of 4 bytes for itself and each neighbour, for most entries at
// most, rounded up to 16. If most is at most 64, Normalize needs 4 bytes more for each edge
// between two nodes with at least most neighbours.
//
// Levels stay whole while they fit. Of the first level that does not fit, Assemble takes the
// first nodes in a rank of all nodes of the graph and does not read the rest. The cost of a
// field then does not depend on hubs: about one cache line per node of the neighbourhood, and
// one lookup per pair of hubs. Pipelines of one worker make 350 to 550 thousand fields per
// second of processor time at a bound of 10, and 290 to 370 thousand at 16 (RMAT graphs of 0.4
// to 29 million edges, k = 10).
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
	b.far.known = !ix.walks && !ix.g.Directed && most <= maxWords
	if b.far.known {
		ix.fillFar()
	}
	if len(b.keys) > 1<<16 {
		b.ranker = ranker{} // a large graph is not one of many
	}
}

// maxBound is as good as none.
const maxBound = 1 << 30

// cursor tells where the next entry of a row goes, and in the lowest 31 bits how many
// were offered: counted from that many below maxBound that fit, so that a bit tells
// whether the row is full.
type cursor uint64

func cursorAt(word, size int) cursor { return cursor(word)<<31 | cursor(maxBound-size) }

func (c cursor) word() int  { return int(c >> 31) }
func (c cursor) full() bool { return c&maxBound != 0 }

// placeRows decides where the rows are, and leaves the cursors of all nodes in b.next.
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

// fillRows goes through the nodes by rank and enters each in the rows of those from
// which a walk comes to it, until these are full: so they ascend, and nothing is sorted.
// The cursors of full rows count nodes that come behind their own and may have full
// rows too: see far.
func (ix *Index) fillRows() {
	b := &ix.bound
	rows, next := b.rows, b.next
	for _, key := range b.keys {
		at, own := b.at[key.node], int(b.at[key.node])*rowUnit
		rows[own] = ^key.node
		counts := cursor(0)
		if int(key.degree) >= b.most {
			counts = 1
		}
		ix.walkedFrom(key.node, func(row []int32) {
			for _, u := range row {
				switch c := next[u]; {
				case c.full():
					if c.word() <= own {
						next[u] = c + counts
					}
				case rows[c.word()-1] != at: // not joined to the same node twice
					rows[c.word()] = at
					next[u] = c + 1<<31 + 1
				}
			}
		})
	}
}

// walkedDegree is the number of entries in the rows that a walk follows from v.
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

// walkedFrom hands over the nodes from which a walk comes to v.
func (ix *Index) walkedFrom(v int32, do func(row []int32)) {
	if !ix.g.Directed || ix.dir != Out {
		do(ix.adj.row(v))
	}
	if ix.g.Directed && ix.dir != In {
		do(ix.in.row(v))
	}
}
