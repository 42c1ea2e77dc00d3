package refine

import "math/bits"

// Cut finds the nodes that a cut leaves, as Words.Number does with a cut, where two
// rounds decide. What is taken, what is tied and what tells the tied nodes apart are
// sets, and numbers are kept in planes, bit by bit for all nodes at once, so that hardly
// anything has to be predicted.
//
// Lists of equal length are compared without being written: the one that has
// more entries of the smallest colour is smaller, and so on.
type Cut struct {
	Need        int // tied nodes that are needed
	Taken, Tied uint64
	// The neighbours of the nodes of the last level, in the level before and in
	// their own.
	inner, side planes
	colors      [64]uint64
}

// planes holds a number for each node: bit i of plane j is bit j of that of i.
type planes struct {
	bit [6]uint64
	n   int
}

// add adds 1 to the numbers of some nodes. No number may exceed 63.
func (p *planes) add(nodes uint64) {
	for i := 0; nodes != 0; i++ {
		if i == p.n {
			p.bit[i%6] = nodes
			p.n++
			return
		}
		p.bit[i%6], nodes = p.bit[i%6]^nodes, p.bit[i%6]&nodes
	}
}

// set makes the number of each node from base to n-1 that of its neighbours in a
// set. Eight numbers are bytes of a word until they are sorted by bits.
func (p *planes) set(rows []uint64, base int, nodes uint64) {
	*p = planes{}
	all := uint64(0)
	for from := base; from < len(rows); from += 8 {
		eight := uint64(0)
		for i, row := range rows[from:min(from+8, len(rows))] {
			eight |= uint64(bits.OnesCount64(row&nodes)) << (i * 8 & 63)
		}
		all |= eight
		for i := range p.bit {
			// The factor moves bit 8j to bit 56+j.
			p.bit[i] |= eight >> i & 0x0101010101010101 * 0x0102040810204080 >> 56 << (from & 63)
		}
	}
	all |= all >> 32
	all |= all >> 16
	p.n = bits.Len8(uint8(all | all>>8))
}

// Prefer takes the preferred among the tied nodes, or drops all others, without a
// branch on which. Once nothing is left to choose, more of it changes nothing that
// matters.
func (c *Cut) Prefer(nodes uint64) {
	first := c.Tied & nodes
	take := uint64(int64(bits.OnesCount64(first)-c.Need) >> 63) // all ones if too few
	taken := first & take
	c.Taken |= taken
	c.Tied = (c.Tied^taken)&take | first&^take
	c.Need -= bits.OnesCount64(taken)
}

// fewer prefers the tied nodes with small numbers, more those with great ones.
func (c *Cut) fewer(p *planes) {
	for i := p.n - 1; i >= 0; i-- {
		c.Prefer(^p.bit[i%6])
	}
}

func (c *Cut) more(p *planes) {
	for i := p.n - 1; i >= 0; i-- {
		c.Prefer(p.bit[i%6])
	}
}

// Settled reports whether all tied nodes are needed.
func (c *Cut) Settled() bool { return bits.OnesCount64(c.Tied) == c.Need }

// Chosen returns what has been chosen: of tied nodes the smallest.
func (c *Cut) Chosen() uint64 {
	rest := c.Tied
	for range c.Need {
		rest &= rest - 1
	}
	return c.Taken | c.Tied&^rest
}

// Run begins with the levels of a walk, which starts tells, and reports whether the cut
// to k nodes is settled, or tied nodes are interchangeable, so that no round will tell
// them apart. If not, c is of no use.
func (c *Cut) Run(rows []uint64, starts uint64, k int) bool {
	n := len(rows)
	base := bits.Len64(starts) - 1
	c.Need = k - base
	if c.Need <= 0 || base == 0 {
		return false // not the last level is cut
	}
	before := below(base)
	near := bits.Len64(starts&before) - 1
	level := before &^ below(near)
	last := ^uint64(0) >> (64 - n) &^ before
	c.Taken = before

	// First round: by the list of the neighbours' levels.
	c.inner.n = 0
	if base-near > 1 { // else all have one neighbour there
		c.inner.set(rows, base, level)
	}
	aside := uint64(0)
	for _, row := range rows[base:] {
		aside |= row
	}
	aside &= last
	c.Tied = last
	c.Prefer(^aside)
	side := c.Tied&aside != 0
	if !side {
		c.fewer(&c.inner)
	} else {
		c.more(&c.inner)
		if c.Settled() {
			return true
		}
		c.side.set(rows, base, last)
		c.fewer(&c.side)
	}
	if c.decided(rows) {
		return true
	}

	// Second round: by the lists of the colours that the first one gives, which
	// begin with those of the level before.
	if c.byLevelBefore(rows, near, base) && c.decided(rows) {
		return true
	}
	return side && c.byLast(rows, last) && c.decided(rows)
}

func (c *Cut) decided(rows []uint64) bool { return c.Settled() || Interchangeable(rows, c.Tied) }

// byLevelBefore tells tied nodes apart by the colours that the first round gives
// to their neighbours in the level before, from near to base, and reports whether
// it could.
func (c *Cut) byLevelBefore(rows []uint64, near, base int) bool {
	// Neighbours of all tied nodes or of none say nothing.
	mixed := uint64(0)
	for i := near; i < base; i++ {
		if in := rows[i&63] & c.Tied; in != 0 && in != c.Tied {
			mixed |= 1 << i
		}
	}
	if mixed == 0 {
		return false
	}
	tied, before := c.Tied, below(base)
	level := before &^ below(near)
	if mixed&(mixed-1) != 0 {
		for m := mixed; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			row := rows[i]
			c.colors[i] = uint64(listKey(uint32(bits.OnesCount64(row&before&^level)), uint32(bits.OnesCount64(row&level)), uint32(bits.OnesCount64(row&^before))))
		}
	}
	for mixed != 0 && !c.Settled() {
		least, class := ^uint64(0), uint64(0)
		for m := mixed; m != 0; m &= m - 1 {
			switch i := bits.TrailingZeros64(m); {
			case c.colors[i] < least:
				least, class = c.colors[i], 1<<i
			case c.colors[i] == least:
				class |= 1 << i
			}
		}
		mixed &^= class
		c.byNeighbors(rows, class)
	}
	return c.Tied != tied
}

// byNeighbors prefers tied nodes with more neighbours in a class.
func (c *Cut) byNeighbors(rows []uint64, class uint64) {
	if class&(class-1) == 0 {
		c.Prefer(rows[bits.TrailingZeros64(class)])
		return
	}
	var p planes
	for m := class; m != 0; m &= m - 1 {
		p.add(rows[bits.TrailingZeros64(m)] & c.Tied)
	}
	c.more(&p)
}

// byLast tells tied nodes apart by the colours that the first round gives to
// their neighbours in the last level, and reports whether it could.
func (c *Cut) byLast(rows []uint64, last uint64) bool {
	tied := c.Tied
	asked := neighbors(rows, tied) & last
	for asked != 0 && !c.Settled() {
		class := asked
		for i := c.inner.n - 1; i >= 0; i-- {
			if in := class & c.inner.bit[i%6]; in != 0 {
				class = in
			}
		}
		for i := c.side.n - 1; i >= 0; i-- {
			if out := class &^ c.side.bit[i%6]; out != 0 {
				class = out
			}
		}
		asked &^= class
		c.byNeighbors(rows, class)
	}
	return c.Tied != tied
}
