package field

import (
	"slices"
	"sync/atomic"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Direction is the direction in which arcs of a directed graph are followed. Undirected graphs
// ignore it.
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

// Index is a graph prepared for cutting neighbourhoods out of it. It is read-only; any number
// of workers may share it.
type Index struct {
	g   *graph.Graph
	dir Direction

	adj adjacency // rows of g
	in  adjacency // tails of arriving arcs in a directed graph

	// short lists each edge or arc once, at the end with the lower degree, or the smaller number if
	// degrees are equal. Hubs then have short lists, so inducing a subgraph does not cost the
	// degree of a hub. entry is the CSR position, or its complement if the arc arrives at the owner
	// of the list. entry is empty for undirected edges without attributes.
	short adjacency
	entry []int32

	// level has about the logarithm of the degree of each node of a changing graph, which decides
	// the owners of its edges. It is nil for other graphs.
	level []uint8

	off, next []int32 // scratch of Reset

	// shared has a bit for each entry of adj. A cut sets the bit when the ends of the edge have a
	// common neighbour. It is empty for directed, small and changing graphs.
	shared []atomic.Uint64

	bound bound

	// rows has the neighbours of each node as a set, for an undirected graph of at most 64 nodes.
	rows  []uint64
	words [maxWords]uint64 // memory of rows
}

// NewIndex indexes g, which it borrows and which must not change. O(n + m).
func NewIndex(g *graph.Graph, dir Direction) *Index {
	ix := &Index{}
	ix.Reset(g, dir)
	return ix
}

// ResetForWalks makes ix an index for Assemble only. It costs O(n + m) for a directed graph or
// a graph of at most 64 nodes, and nothing for others.
func (ix *Index) ResetForWalks(g *graph.Graph, dir Direction) {
	ix.g, ix.dir = g, dir
	ix.bound.most, ix.level = 0, nil
	ix.rows = nil
	ix.adj = adjacencyOf(g.Offsets, g.Neighbors)
	if g.Directed {
		offsets, tails, _ := g.Transpose()
		ix.in = adjacencyOf(offsets, tails)
	} else if g.N() <= maxWords {
		ix.setRows()
	}
}

// setRows sets rows. They are nil if a neighbour is not a node of the graph; the walk by lists then
// panics with the number of that neighbour.
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

// Reset makes ix the index of g and reuses its memory: for a stream of small graphs. Other
// goroutines may not use ix meanwhile.
func (ix *Index) Reset(g *graph.Graph, dir Direction) {
	ix.ResetForWalks(g, dir)
	n := g.N()
	ix.off = scratch.Resize(ix.off, n+1)
	ix.shared = ix.shared[:0]
	if !g.Directed {
		if n > maxWords {
			ix.shared = scratch.Resize(ix.shared, len(g.Neighbors)/64+1)
			clear(ix.shared)
		}
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
	for v := range n {
		ix.off[v+1] += ix.off[v]
	}
	other := scratch.Resize(ix.short.items, int(ix.off[n]))
	ix.short = adjacencyOf(ix.off, other)
	ix.entry = scratch.Resize(ix.entry, int(ix.off[n]))
	ix.next = scratch.Resize(ix.next, n)
	next := ix.next
	copy(next, ix.off)
	put := func(owner, to, entry int32) {
		other[next[owner]], ix.entry[next[owner]] = to, entry
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

// listEdges is the part of Reset for undirected graphs. A node lists entries of its own row only,
// so one pass suffices. The loop has no branch on which end owns an edge, since that is
// unpredictable.
func (ix *Index) listEdges() {
	off, neighbors := ix.g.Offsets, ix.g.Neighbors
	half := len(neighbors)/2 + 1 // the loop writes one entry behind the last
	other, entry := scratch.Resize(ix.short.items, half), ix.entry[:0]
	typed := ix.g.EdgeCats+ix.g.EdgeAttrs > 0
	if typed {
		entry = scratch.Resize(entry, half)
	}
	at := 0
	ix.off[0] = 0
	for u := range len(off) - 1 {
		key := int64(off[u+1]-off[u])<<32 | int64(u)
		for i := off[u]; i < off[u+1]; i++ {
			v := neighbors[i]
			if at >= len(other) { // only if a graph lists edges at one end
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
	}
	ix.short, ix.entry = adjacencyOf(ix.off, other[:at]), entry
}

// listed returns the CSR position of entry e of the short list of u, or any number from 0 if
// positions are not stored.
func (ix *Index) listed(u, e int32) int32 {
	if len(ix.entry) == 0 {
		return e
	}
	if ix.level != nil && ix.g.EdgeCats+ix.g.EdgeAttrs > 0 {
		return ix.lookUp(u, e)
	}
	return ix.entry[e]
}

// owns reports whether u lists the arc u→v. Of the two entries of an undirected edge only the one
// in the owner's row counts.
func (ix *Index) owns(u, v int32) bool {
	if ix.level != nil {
		return before(ix.level[u], ix.level[v], u, v)
	}
	du, dv := ix.degree(u), ix.degree(v)
	return du < dv || du == dv && u < v
}

func (ix *Index) degree(v int32) int {
	d := ix.adj.degree(v)
	if ix.g.Directed {
		d += ix.in.degree(v)
	}
	return d
}

// Graph returns the indexed graph. That of a graph that changes has attributes and no rows.
func (ix *Index) Graph() *graph.Graph { return ix.g }

// N returns n, the number of nodes.
func (ix *Index) N() int { return len(ix.adj.begin) }

// adjacency has a list of nodes for each node v: items[begin[v]:end[v]].
type adjacency struct{ begin, end, items []int32 }

func adjacencyOf(offsets, items []int32) adjacency {
	if len(offsets) == 0 {
		return adjacency{}
	}
	n := len(offsets) - 1
	return adjacency{offsets[:n], offsets[1:], items}
}

func (a *adjacency) row(v int32) []int32 { return a.items[a.begin[v]:a.end[v]] }

func (a *adjacency) degree(v int32) int { return int(a.end[v] - a.begin[v]) }

// find returns the position of v in the row of u, which ascends, or -1.
func (a *adjacency) find(u, v int32) int32 {
	i, ok := slices.BinarySearch(a.row(u), v)
	if !ok {
		return -1
	}
	return a.begin[u] + int32(i)
}
