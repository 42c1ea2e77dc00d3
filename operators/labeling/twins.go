package labeling

import (
	"cmp"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/scatter"
)

// copies has the nodes of the blocks of a graph, one copy for each block of a node. Node v is its
// own copy in the block that leads up, and n + b is the copy of the top of block b.
//
// Twins are copies with the same neighbours apart from each other. In a class of twins either all
// are joined or none.
type copies struct {
	off, nbr []int32 // rows, each ascending
	twin     []int32 // by copy: first copy of its class

	next   []int32
	hash   []uint64 // by copy: hash of its row
	byHash []int32
}

// split sets the rows of the copies. O(n + m log m).
func (c *copies) split(g *graph.Graph, b *blocks) {
	n := int32(g.N())
	count := int(n) + len(b.top)
	each := func(do func(u, v int32)) {
		for v := range n {
			for _, u := range g.Adj(v) {
				if b.number[u] > b.number[v] {
					continue
				}
				// The edge from v to a node met earlier is in the block that leads up from v.
				if up := b.up[v]; b.up[u] != up {
					u = n + up
				}
				do(u, v)
				do(v, u)
			}
		}
	}
	c.off = scratch.Resize(c.off, count+1)
	clear(c.off)
	each(func(u, _ int32) { c.off[u+1]++ })
	for v := range count {
		c.off[v+1] += c.off[v]
	}
	c.nbr = scratch.Resize(c.nbr, int(c.off[count]))
	c.next = append(c.next[:0], c.off[:count]...)
	each(func(u, v int32) {
		c.nbr[c.next[u]] = v
		c.next[u]++
	})
	for v := range int32(count) {
		slices.Sort(c.row(v))
	}
}

func (c *copies) row(v int32) []int32 { return c.nbr[c.off[v]:c.off[v+1]] }

// lonely reports whether the block of v is a single edge.
func (c *copies) lonely(v int32) bool { return len(c.row(v)) < 2 }

// match finds the twins that are not joined, by equal rows. Joined twins have equal rows if each
// row includes its own copy; see matchJoined. O(m log m).
func (c *copies) match() {
	count := len(c.off) - 1
	c.twin, c.hash = scratch.Resize(c.twin, count), scratch.Resize(c.hash, count)
	for v := range int32(count) {
		c.twin[v], c.hash[v] = v, 0
		for _, u := range c.row(v) {
			c.hash[v] += scatter.Bits(uint64(u))
		}
	}
	c.matchHashes()
}

// matchJoined finds the twins that are joined. It adds each copy to the hash of its own row.
func (c *copies) matchJoined() {
	for v := range int32(len(c.hash)) {
		c.hash[v] += scatter.Bits(uint64(v))
	}
	c.matchHashes()
}

// matchHashes finds twins among the copies of equal hash without a class.
func (c *copies) matchHashes() {
	c.byHash = c.byHash[:0]
	for v, t := range c.twin {
		if int(t) == v && !c.lonely(t) {
			c.byHash = append(c.byHash, t)
		}
	}
	slices.SortFunc(c.byHash, func(u, v int32) int {
		return cmp.Or(cmp.Compare(c.hash[u], c.hash[v]), cmp.Compare(u, v))
	})
	first := 0 // first copy of the current hash
	for i, v := range c.byHash {
		if c.hash[v] != c.hash[c.byHash[first]] {
			first = i
		}
		for _, u := range c.byHash[first:i] {
			if c.twin[u] == u && c.twins(u, v) {
				c.twin[v] = u
				break
			}
		}
	}
}

// twins reports whether u and v have the same neighbours apart from each other.
func (c *copies) twins(u, v int32) bool {
	a, b := c.row(u), c.row(v)
	if len(a) != len(b) {
		return false
	}
	for {
		if len(a) > 0 && a[0] == v {
			a = a[1:]
		}
		if len(b) > 0 && b[0] == u {
			b = b[1:]
		}
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
}
