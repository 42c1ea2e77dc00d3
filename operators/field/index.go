package field

import (
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Direction says which arcs of a directed graph lead from a node to its
// neighbours. It does not matter for undirected graphs.
type Direction int

const (
	// Both follows arcs either way.
	Both Direction = iota
	// Out follows arcs from tail to head.
	Out
	// In follows arcs from head to tail.
	In
)

func (d Direction) String() string {
	switch d {
	case Both:
		return "both"
	case Out:
		return "out"
	case In:
		return "in"
	}
	return "invalid direction"
}

// Index is a graph made ready for cutting neighbourhoods out of it. It is
// read-only and may be shared by any number of workers.
type Index struct {
	g   *graph.Graph
	dir Direction
	// walks says that ix is good for walks only.
	walks bool

	// in holds the tails of arriving arcs, for directed graphs.
	inOff, inTails []int32

	// Every edge, or arc, is listed once more, at the end with the lower degree
	// (the lower number, if equal). Hubs then have short lists, so that inducing
	// a subgraph that holds a hub does not cost the degree of the hub. entry is
	// the CSR position, or its complement where the arc arrives at the owner of
	// the list; it is empty where no one asks, for undirected edges without attributes.
	off, other, entry []int32
	longest           int // of these lists
	most              int // entries of a row that rowsWhole reads without looking at its length

	next []int32 // scratch of Reset

	bound bound

	// rows holds the neighbours of each node as a set, for an undirected graph of
	// at most 64 nodes.
	rows  []uint64
	words [maxWords]uint64 // memory of rows
}

// NewIndex indexes g, which must not change and is borrowed. O(n + m).
func NewIndex(g *graph.Graph, dir Direction) *Index {
	ix := &Index{}
	ix.Reset(g, dir)
	return ix
}

// ResetForWalks makes ix good for Assemble, and for nothing else. It costs O(n + m)
// for a directed graph or one of at most 64 nodes, and nothing for others.
func (ix *Index) ResetForWalks(g *graph.Graph, dir Direction) {
	ix.g, ix.dir, ix.walks = g, dir, true
	ix.bound.most = 0
	ix.rows = nil
	if g.Directed {
		ix.inOff, ix.inTails, _ = g.Transpose()
	} else if g.N() <= maxWords {
		ix.setRows()
	}
}

// setRows fills rows, unless a neighbour is no node: the walk by lists says so.
func (ix *Index) setRows() {
	n := ix.g.N()
	ix.rows = ix.words[:n]
	for u := range n {
		row := uint64(0)
		for _, v := range ix.g.Adj(int32(u)) {
			if uint(v) >= uint(n) {
				ix.rows = nil
				return
			}
			row |= 1 << (v & 63)
		}
		ix.rows[u] = row
	}
}

// Reset makes ix the index of g, in the memory that it has: for a stream of
// small graphs. No one may be using ix.
func (ix *Index) Reset(g *graph.Graph, dir Direction) {
	ix.ResetForWalks(g, dir)
	ix.walks = false
	n := g.N()
	ix.off = scratch.Resize(ix.off, n+1)
	if !g.Directed {
		ix.listEdges()
		return
	}
	clear(ix.off)
	for u := range int32(n) {
		for _, v := range g.Adj(u) {
			if ix.owns(u, v) {
				ix.off[u+1]++
			} else {
				ix.off[v+1]++
			}
		}
	}
	ix.longest = 0
	for v := range n {
		ix.longest = max(ix.longest, int(ix.off[v+1]))
		ix.off[v+1] += ix.off[v]
	}
	ix.other = scratch.Resize(ix.other, int(ix.off[n]))
	ix.entry = scratch.Resize(ix.entry, int(ix.off[n]))
	ix.next = scratch.Resize(ix.next, n)
	next := ix.next
	copy(next, ix.off)
	put := func(owner, other, entry int32) {
		ix.other[next[owner]], ix.entry[next[owner]] = other, entry
		next[owner]++
	}
	for u := range int32(n) {
		for i := g.Offsets[u]; i < g.Offsets[u+1]; i++ {
			v := g.Neighbors[i]
			if ix.owns(u, v) {
				put(u, v, i)
			} else {
				put(v, u, ^i)
			}
		}
	}
}

// listEdges is the rest of Reset for an undirected graph, whose nodes list what
// stands in their own rows: so one pass does, and without a branch on which end
// owns an edge, which would be unpredictable.
func (ix *Index) listEdges() {
	off, neighbors := ix.g.Offsets, ix.g.Neighbors
	half := len(neighbors)/2 + 1 // one is written that does not stay
	other, entry := scratch.Resize(ix.other, half), ix.entry[:0]
	typed := ix.g.EdgeCats+ix.g.EdgeAttrs > 0
	if typed {
		entry = scratch.Resize(entry, half)
	}
	at, longest := 0, 0
	ix.off[0] = 0
	for u := range len(off) - 1 {
		first := at
		key := int64(off[u+1]-off[u])<<32 | int64(u)
		for i := off[u]; i < off[u+1]; i++ {
			v := neighbors[i]
			if at >= len(other) { // of a graph that lists edges at one end only
				other = append(other, 0)
				if typed {
					entry = append(entry, 0)
				}
			}
			other[at] = v
			if typed {
				entry[at] = i
			}
			at += int(uint64(key-(int64(off[v+1]-off[v])<<32|int64(v))) >> 63)
		}
		ix.off[u+1] = int32(at)
		longest = max(longest, at-first)
	}
	ix.longest = longest
	ix.most = 4
	if mean := len(ix.g.Neighbors) / len(ix.g.Offsets); mean >= 4 && mean < 6 { // as those of D&D
		ix.most = 8
	}
	ix.other, ix.entry = other[:at], entry
}

// listed returns, for a place in other, the CSR position in entry, and any
// number from 0 where that is not kept.
func (ix *Index) listed(e int32) int32 {
	if len(ix.entry) == 0 {
		return e
	}
	return ix.entry[e]
}

// owns tells which end of an arc lists it; of the two entries of an undirected
// edge only the one in the owner's row counts.
func (ix *Index) owns(u, v int32) bool {
	du, dv := ix.degree(u), ix.degree(v)
	return du < dv || du == dv && u < v
}

func (ix *Index) degree(v int32) int {
	d := ix.g.Degree(v)
	if ix.g.Directed {
		d += int(ix.inOff[v+1] - ix.inOff[v])
	}
	return d
}

// Graph returns the indexed graph.
func (ix *Index) Graph() *graph.Graph { return ix.g }

// in returns the tails of the arcs that arrive at v.
func (ix *Index) in(v int32) []int32 { return ix.inTails[ix.inOff[v]:ix.inOff[v+1]] }
