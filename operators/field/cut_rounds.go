package field

import (
	"cmp"
	"math/bits"
	"slices"
)

// round1 is the rank of a node inside its level after one round: its list has p
// entries of the level before, s of its own and q of the next. More of a smaller
// level make a smaller list, but a list that ends is smaller than one that goes
// on. p and s are at most 127; see round1Last for the last level.
func round1(p, s, q uint32) uint64 {
	if q == 0 {
		return uint64(round1Last(p, s)) << 32
	}
	return uint64(1<<31|(127-p)<<24|1<<23|(127-s)<<16)<<32 | uint64(q)
}

// round1Last is round1 where q is 0 and s less than 2²³.
func round1Last(p, s uint32) uint32 {
	if s == 0 {
		return p
	}
	return 1<<31 | (127-p)<<24 | s
}

// secondRoundAside tells tied nodes, which have the same number of neighbours in
// the last level, apart by the colours of those.
func (c *cut) secondRoundAside(z *Normalizer) bool {
	c.colors = resize(c.colors, len(c.lists))
	for _, j := range c.tied {
		colors := c.colors[c.at[j] : c.at[j]+c.side[j]]
		for i, v := range c.aside(j) {
			colors[i] = round1Last(uint32(bits.OnesCount64(c.inner[v])), c.side[v])
		}
		slices.Sort(colors)
	}
	for i := range c.side[c.tied[0]] {
		for _, j := range c.tied {
			c.key[j] = c.colors[c.at[j]+i]
		}
		if c.narrow() {
			return true
		}
	}
	return false
}

// colorBefore computes the colours of the level before, which begins at near,
// after one round, and returns its nodes. It fills c.rows.
func (c *cut) colorBefore(z *Normalizer, near int) uint64 {
	z.local.rows(z.ix, z.hood, c.base, c.rows[:])
	rows := &c.rows
	before := uint64(1)<<c.base - 1
	level := before &^ (1<<near - 1)
	for i := near; i < c.base; i++ {
		c.color[i] = round1(uint32(bits.OnesCount64(rows[i]&before&^level)), uint32(bits.OnesCount64(rows[i]&level)), c.down[i])
	}
	return level
}

// byColorsBefore tells tied nodes apart by the colours of their neighbours in
// the level before.
func (c *cut) byColorsBefore(level uint64) bool {
	return c.byLevelBefore(level, func(u, v uint8) int { return cmp.Compare(c.color[u], c.color[v]) })
}

// thirdRound tells tied nodes, which have no neighbours aside, apart by the
// colours that the second round gives to their neighbours in the level before:
// by colour of the first and the list of those of all neighbours.
func (c *cut) thirdRound(z *Normalizer, near int) bool {
	rows := &c.rows
	before := uint64(1)<<c.base - 1
	level := before &^ (1<<near - 1)
	if near > 0 {
		far := firstOf(z.dist[:near], z.dist[near-1])
		here := uint64(1)<<near - 1<<far
		for i := far; i < near; i++ {
			c.color[i] = round1(uint32(bits.OnesCount64(rows[i]&(1<<far-1))), uint32(bits.OnesCount64(rows[i]&here)), uint32(bits.OnesCount64(rows[i]&level)))
		}
	}
	asked := uint64(0)
	for _, j := range c.tied {
		asked |= c.inner[j]
	}
	c.around = c.around[:0]
	for m := asked; m != 0; m &= m - 1 {
		u := bits.TrailingZeros64(m)
		c.from[u] = uint32(len(c.around))
		for _, part := range [...]uint64{rows[u] & before &^ level, rows[u] & level} {
			begin := len(c.around)
			for ; part != 0; part &= part - 1 {
				c.around = append(c.around, c.color[bits.TrailingZeros64(part)])
			}
			slices.Sort(c.around[begin:])
		}
		begin := len(c.around)
		for _, v := range z.ix.g.Adj(z.hood[u]) {
			if j := int(z.local.place[v]) - 1 - c.base; j >= 0 {
				c.around = append(c.around, round1(uint32(bits.OnesCount64(c.inner[j])), c.side[j], 0))
			}
		}
		slices.Sort(c.around[begin:])
		c.to[u] = uint32(len(c.around))
	}
	return c.byLevelBefore(asked, func(u, v uint8) int {
		return cmp.Or(cmp.Compare(c.color[u], c.color[v]),
			slices.Compare(c.around[c.from[u]:c.to[u]], c.around[c.from[v]:c.to[v]]))
	})
}

// byLevelBefore tells tied nodes apart by the lists of their neighbours in the
// level before, whose order is given. level holds all of these.
func (c *cut) byLevelBefore(level uint64, compare func(u, v uint8) int) bool {
	// The level in the order of its colours, and the rank of each node in it.
	var order, rank [maxWords]uint8
	n := 0
	for m := level; m != 0; m &= m - 1 {
		v := uint8(bits.TrailingZeros64(m))
		at := n
		for ; at > 0 && compare(order[at-1], v) > 0; at-- {
			order[at] = order[at-1]
		}
		order[at] = v
		n++
	}
	for i := 1; i < n; i++ {
		rank[order[i]] = rank[order[i-1]]
		if compare(order[i-1], order[i]) != 0 {
			rank[order[i]] = uint8(i)
		}
	}
	// Lists are compared four entries at a time.
	for done := 0; done < bits.OnesCount64(c.inner[c.tied[0]]); done += 4 {
		for _, j := range c.tied {
			c.key[j] = fourOf(c.inner[j], done, &rank)
		}
		if c.narrow() {
			return true
		}
	}
	return false
}

// fourOf returns the entries from the given one on of the ascending list of the
// ranks of some nodes, packed.
func fourOf(nodes uint64, from int, rank *[maxWords]uint8) uint32 {
	if nodes&(nodes-1) == 0 {
		return uint32(rank[bits.TrailingZeros64(nodes)&63])
	}
	var list [maxWords]uint8
	n := 0
	for ; nodes != 0; nodes &= nodes - 1 {
		x := rank[bits.TrailingZeros64(nodes)&63]
		at := n
		for ; at > 0 && list[at-1] > x; at-- {
			list[at] = list[at-1]
		}
		list[at] = x
		n++
	}
	packed := uint32(0)
	for i := from; i < from+4; i++ {
		packed <<= 8
		if i < n {
			packed |= uint32(list[i])
		}
	}
	return packed
}
