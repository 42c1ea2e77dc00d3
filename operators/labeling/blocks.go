package labeling

import (
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// blocks has the biconnected components of an undirected graph, found by one depth-first search
// (Hopcroft and Tarjan 1973). The top of a block is its first node in the search. A node is the top
// of the blocks below it and belongs to the one block that leads up.
//
//	  0           block 0: top 2, nodes 3
//	 ╱ ╲          block 1: top 0, nodes 1, 2
//	1───2───3
//
// If blocks meet at a node, all paths between the parts that it joins pass through it, so counting
// nodes replaces searching.
type blocks struct {
	met    []int32 // nodes in the order of the search; the roots of components come first
	number []int32 // by node: position in met plus one; 0 before
	root   []int32 // by node: root of its component
	up     []int32 // by node: block that leads up; -1 for a root
	// hanging[v] is 1 plus the number of nodes below v; for a root it is the size of the component.
	// squared[v] is the sum over the blocks below v of the squared number of their nodes.
	hanging []int32
	squared []uint64
	top     []int32 // by block: its first node in the search
	below   []int32 // by block: number of nodes below its top, in the block and beyond

	parent, low, next, stack []int32
}

// find computes the blocks of g. O(n + m).
func (b *blocks) find(g *graph.Graph) {
	n := g.N()
	b.number, b.root, b.up, b.hanging = scratch.Resize(b.number, n), scratch.Resize(b.root, n), scratch.Resize(b.up, n), scratch.Resize(b.hanging, n)
	b.parent, b.low, b.next, b.squared = scratch.Resize(b.parent, n), scratch.Resize(b.low, n), scratch.Resize(b.next, n), scratch.Resize(b.squared, n)
	b.met, b.stack, b.top, b.below = b.met[:0], b.stack[:0], b.top[:0], b.below[:0]
	clear(b.number)
	for root := range int32(n) {
		if b.number[root] != 0 {
			continue
		}
		b.meet(g, root, root, -1)
		for v := root; v >= 0; {
			if b.next[v] == g.Offsets[v+1] {
				b.leave(v)
				v = b.parent[v]
				continue
			}
			u := g.Neighbors[b.next[v]]
			b.next[v]++
			switch {
			case b.number[u] == 0:
				b.meet(g, u, root, v)
				b.stack = append(b.stack, u)
				v = u
			case u != b.parent[v]:
				b.low[v] = min(b.low[v], b.number[u])
			}
		}
	}
}

func (b *blocks) meet(g *graph.Graph, v, root, parent int32) {
	b.met = append(b.met, v)
	b.number[v] = int32(len(b.met))
	b.low[v] = b.number[v]
	b.root[v], b.parent[v], b.up[v] = root, parent, -1
	b.hanging[v], b.squared[v] = 1, 0
	b.next[v] = g.Offsets[v]
}

// leave closes the block below the parent of v if no edge leads from v further up.
func (b *blocks) leave(v int32) {
	p := b.parent[v]
	if p < 0 {
		return
	}
	b.low[p] = min(b.low[p], b.low[v])
	if b.low[v] < b.number[p] {
		return
	}
	block, below := int32(len(b.top)), int32(0)
	for done := false; !done; {
		u := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		b.up[u] = block
		below += b.hanging[u]
		done = u == v
	}
	b.top, b.below = append(b.top, p), append(b.below, below)
	b.hanging[p] += below
	b.squared[p] += uint64(below) * uint64(below)
}

// size returns the number of nodes in the component of v.
func (b *blocks) size(v int32) int32 { return b.hanging[b.root[v]] }

// hangingOnTop returns 1 plus the number of nodes that reach a block through its
// top.
func (b *blocks) hangingOnTop(block int) int32 { return b.size(b.top[block]) - b.below[block] }

// parted returns the number of ordered pairs of nodes of the component that v separates.
func (b *blocks) parted(v int32) uint64 {
	square := func(x int32) uint64 { return uint64(x) * uint64(x) }
	return square(b.size(v)-1) - b.squared[v] - square(b.size(v)-b.hanging[v])
}
