package field

import (
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// same reports whether all tied nodes have the same neighbours in the level
// before.
func (c *cut) same() bool {
	first := c.inner[c.tied[0]]
	for _, j := range c.tied[1:] {
		if c.inner[j] != first {
			return false
		}
	}
	return true
}

// twins takes the smallest of the tied nodes if they are interchangeable, so
// that no round will tell them apart, and no attribute does.
func (c *cut) twins(z *Normalizer, side bool) bool {
	if !c.same() || z.nodeAttrs() && !c.sameNodes(z) || z.edgeTypes() && (side || !c.sameEdges(z)) {
		return false
	}
	if side {
		first := c.tied[0]
		open, closed := true, true
		for _, j := range c.tied[1:] {
			open = open && slices.Equal(c.aside(first), c.aside(j))
			closed = closed && slices.Contains(c.aside(j), first) && equalBut(c.aside(first), c.aside(j), j, first)
		}
		if !open && !closed {
			return false
		}
	}
	z.Stats.Ties++
	z.Stats.Searches++
	c.taken = append(c.taken, c.tied[:c.need]...)
	return true
}

// sameNodes reports whether all tied nodes have the same attributes.
func (c *cut) sameNodes(z *Normalizer) bool {
	first := z.hood[c.base+int(c.tied[0])]
	for _, j := range c.tied[1:] {
		if refine.CompareNodes(z.ix.g, first, z.hood[c.base+int(j)]) != 0 {
			return false
		}
	}
	return true
}

// sameEdges reports whether the edges of all tied nodes to a node of the level
// before have the same attributes.
func (c *cut) sameEdges(z *Normalizer) bool {
	entry := func(j int32, v int) int32 { return z.ix.entryOf(z.hood[c.base+int(j)], z.hood[v]) }
	for m := c.inner[c.tied[0]]; m != 0; m &= m - 1 {
		v := bits.TrailingZeros64(m)
		first := entry(c.tied[0], v)
		for _, j := range c.tied[1:] {
			if refine.CompareEdges(z.ix.g, first, entry(j, v)) != 0 {
				return false
			}
		}
	}
	return true
}

// equalBut reports whether a without x is b without y; a and b ascend.
func equalBut(a, b []int32, x, y int32) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for _, v := range b {
		if v == y {
			continue
		}
		if i < len(a) && a[i] == x {
			i++
		}
		if i == len(a) || a[i] != v {
			return false
		}
		i++
	}
	return true
}

// aside returns the neighbours of a tied node in the last level, ascending.
func (c *cut) aside(j int32) []int32 { return c.lists[c.at[j] : c.at[j]+c.side[j]] }

// listAside lists the neighbours in the last level of all tied nodes. It gives
// up on nodes with far more neighbours elsewhere.
func (c *cut) listAside(z *Normalizer) bool {
	l, g := &z.local, z.ix.g
	c.lists = c.lists[:0]
	c.at = resize(c.at, len(c.key))
	for _, j := range c.tied {
		u := z.hood[c.base+int(j)]
		if g.Degree(u) > 32*len(z.hood) {
			return false
		}
		c.at[j] = uint32(len(c.lists))
		for _, v := range g.Adj(u) {
			if i := int(l.place[v]) - 1 - c.base; i >= 0 {
				c.lists = append(c.lists, int32(i))
			}
		}
	}
	return true
}
