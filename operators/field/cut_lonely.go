package field

import (
	"math/bits"
	"slices"
)

// lonely chooses among the nodes of the last level that have no neighbour there,
// if these are enough: the first round puts them before all others, those with
// fewer neighbours in the level before first. Beside a hub they are many, and a
// node that is not one of them mostly shows it by the first of its neighbours
// that is looked at, so that the rows of the last level stay nearly unread. It
// reports whether it could choose; countBefore comes first.
func (c *cut) lonely(z *Normalizer, near int) bool {
	if !c.likely(z) {
		return false
	}
	level := c.colorBefore(z, near)
	done, ok := c.lonelyBelowOne(z, level)
	if done {
		return ok
	}
	c.tied = c.tied[:0]
	for j, inner := range c.inner {
		if inner&(inner-1) != 0 && c.alone(z, int32(j)) {
			c.tied = append(c.tied, int32(j))
			c.key[j] = uint32(bits.OnesCount64(inner))
		}
	}
	if c.need > len(c.tied) {
		return false
	}
	return c.narrow() || c.twins(z, false) || !c.same() && (c.byColorsBefore(level) || c.twins(z, false))
}

// likely reports whether a sample of the nodes that have one neighbour in the
// level before lets expect enough that have none in their own.
func (c *cut) likely(z *Normalizer) bool {
	m := len(c.inner)
	step := max(8, m/256)
	hits := 0
	for j := step / 2; j < m; j += step {
		if inner := c.inner[j]; inner&(inner-1) == 0 && c.alone(z, int32(j)) {
			hits++
		}
	}
	return hits*step > c.need
}

// lonelyBelowOne is lonely for nodes with one neighbour in the level before, hub
// by hub in the order of the colours that these have.
func (c *cut) lonelyBelowOne(z *Normalizer, level uint64) (done, ok bool) {
	for level != 0 {
		// The hubs of least colour.
		first := uint64(0)
		least := ^uint64(0)
		for m := level; m != 0; m &= m - 1 {
			switch v := bits.TrailingZeros64(m); {
			case c.color[v] < least:
				least, first = c.color[v], 1<<v
			case c.color[v] == least:
				first |= 1 << v
			}
		}
		level &^= first
		one := first&(first-1) == 0 && !z.attributed()
		c.tied = c.tied[:0]
		for m := first; m != 0; m &= m - 1 {
			hub := bits.TrailingZeros64(m)
			for _, v := range z.ix.g.Adj(z.hood[hub]) {
				j := z.local.place[v] - 1 - int32(c.base)
				if j < 0 || c.inner[j] != 1<<hub || !c.alone(z, j) {
					continue
				}
				c.tied = append(c.tied, j)
				if one && len(c.tied) > c.need {
					break // the rest are twins of greater number
				}
			}
		}
		if c.need < len(c.tied) {
			slices.Sort(c.tied)
			return true, c.twins(z, false)
		}
		c.taken = append(c.taken, c.tied...)
		if c.need -= len(c.tied); c.need == 0 {
			return true, true
		}
	}
	return false, false
}

// alone reports whether a node of the last level has no neighbour there.
func (c *cut) alone(z *Normalizer, j int32) bool {
	u := z.hood[c.base+int(j)]
	if z.ix.g.Degree(u) == bits.OnesCount64(c.inner[j]) {
		return true
	}
	base, place := int32(c.base), z.local.place
	// Neighbours of high degree are the likeliest.
	for _, w := range z.ix.other[z.ix.off[u]:z.ix.off[u+1]] {
		if place[w] > base {
			return false
		}
	}
	for _, w := range z.ix.g.Adj(u) {
		if place[w] > base {
			return false
		}
	}
	return true
}
