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
	far  far // where edges are asked for
	ranker
}

// rowUnit is the number of words that a row is a multiple of: a quarter of a line.
const rowUnit = 4

// SetBound makes Assemble gather at most the given number of nodes, 0 for any number.
// It is called after Reset or ResetForWalks, which undo it, and before workers share
// ix. O(n log n + m), and 4 bytes for every node, and a row for each: 4 for the node
// itself and for each neighbour, at most as many as the bound says, rounded up to 16.
// For Normalize there are 4 bytes more for an edge between two nodes that have at least
// as many neighbours as the bound says, where that is at most 64: 6.1 bytes an edge in
// all at a bound of 16 in an RMAT graph of 29 million edges.
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
// A field costs about one cache line per node of the neighbourhood, plus one lookup per
// pair of hubs, so the rate depends on the caches where the graph is larger. Over RMAT graphs of 0.4, 1.7, 7 and 29
// million edges, random roots and k = 10, pipelines of one worker give 553, 477, 348 and
// 501 thousand fields per second of processor time with a bound of 10, and 365, 298, 308
// and 287 with 16. Huge pages for all of these arrays saved 6 % at a bound of 10.
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
