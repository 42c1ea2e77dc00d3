package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// wordCut is cut for at most 64 nodes: what has been chosen, what is tied and
// what tells the tied nodes apart are sets, and numbers are kept in planes, bit
// by bit for all nodes at once, so that hardly anything depends on a guess.
//
// Lists of equal length are compared without being written: the one that has
// more entries of the smallest colour is smaller, and so on.
type wordCut struct {
	need        int
	taken, tied uint64
	// The neighbours of the nodes of the last level, in the level before and in
	// their own.
	inner, side planes
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

// prefer takes the preferred among the tied nodes, or drops all others: which,
// nobody can guess, so there is no branch. Once nothing is left to choose, more of
// it changes nothing that matters.
func (c *wordCut) prefer(nodes uint64) {
	first := c.tied & nodes
	take := uint64(int64(bits.OnesCount64(first)-c.need) >> 63) // all ones if too few
	taken := first & take
	c.taken |= taken
	c.tied = (c.tied^taken)&take | first&^take
	c.need -= bits.OnesCount64(taken)
}

// fewer prefers the tied nodes with small numbers, more those with great ones.
func (c *wordCut) fewer(p *planes) {
	for i := p.n - 1; i >= 0; i-- {
		c.prefer(^p.bit[i%6])
	}
}

func (c *wordCut) more(p *planes) {
	for i := p.n - 1; i >= 0; i-- {
		c.prefer(p.bit[i%6])
	}
}

// settled reports whether all tied nodes are needed.
func (c *wordCut) settled() bool { return bits.OnesCount64(c.tied) == c.need }

// chosen returns what has been chosen, once it is.
func (c *wordCut) chosen() uint64 { return c.taken | lowest(c.tied, c.need) }

// run is cut.run: it reports whether it could choose. starts are those of the
// levels of the nodes; see refine.Starts.
func (c *wordCut) run(z *Normalizer, rows []uint64, starts uint64) bool {
	n := len(rows)
	base := bits.Len64(starts) - 1
	c.need = z.K - base
	if c.need <= 0 || base == 0 {
		return false // not the last level is cut
	}
	before := uint64(1)<<base - 1
	near := bits.Len64(starts&before) - 1
	last := ^uint64(0) >> (64 - n) &^ before
	c.taken = before

	// First round: by the list of the neighbours' levels. See round1.
	c.inner.n = 0
	if base-near > 1 { // else all have one neighbour there
		c.inner.set(rows, base, before&^(1<<near-1))
	}
	aside := uint64(0)
	for _, row := range rows[base:] {
		aside |= row
	}
	aside &= last
	c.tied = last
	c.prefer(^aside)
	side := c.tied&aside != 0
	if !side {
		c.fewer(&c.inner)
	} else {
		c.more(&c.inner)
		if c.settled() {
			return true
		}
		c.side.set(rows, base, last)
		c.fewer(&c.side)
	}
	if c.settled() || c.twins(z, rows) {
		return true
	}

	// Second round: by the lists of the colours that the first one gives, which
	// begin with those of the level before.
	if c.byLevelBefore(&z.cut.color, rows, near, base) && (c.settled() || c.twins(z, rows)) {
		return true
	}
	if !side {
		return false
	}
	return c.byLast(rows, last) && (c.settled() || c.twins(z, rows))
}

// byLevelBefore tells tied nodes apart by the colours that the first round gives
// to their neighbours in the level before, from near to base, and reports whether
// it could.
func (c *wordCut) byLevelBefore(colors *[maxWords]uint64, rows []uint64, near, base int) bool {
	// Who is a neighbour of all tied nodes or of none says nothing.
	mixed := uint64(0)
	for i := near; i < base; i++ {
		if in := rows[i&63] & c.tied; in != 0 && in != c.tied {
			mixed |= 1 << i
		}
	}
	if mixed == 0 {
		return false
	}
	tied := c.tied
	before := uint64(1)<<base - 1
	level := before &^ (1<<near - 1)
	if mixed&(mixed-1) != 0 {
		for m := mixed; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			colors[i] = round1(uint32(bits.OnesCount64(rows[i]&before&^level)), uint32(bits.OnesCount64(rows[i]&level)), uint32(bits.OnesCount64(rows[i]&^before)))
		}
	}
	for mixed != 0 && !c.settled() {
		least, class := ^uint64(0), uint64(0)
		for m := mixed; m != 0; m &= m - 1 {
			switch i := bits.TrailingZeros64(m); {
			case colors[i] < least:
				least, class = colors[i], 1<<i
			case colors[i] == least:
				class |= 1 << i
			}
		}
		mixed &^= class
		c.byNeighbors(rows, class)
	}
	return c.tied != tied
}

// byNeighbors prefers tied nodes with more neighbours in a class.
func (c *wordCut) byNeighbors(rows []uint64, class uint64) {
	if class&(class-1) == 0 {
		c.prefer(rows[bits.TrailingZeros64(class)])
		return
	}
	var p planes
	for m := class; m != 0; m &= m - 1 {
		p.add(rows[bits.TrailingZeros64(m)] & c.tied)
	}
	c.more(&p)
}

// byLast tells tied nodes apart by the colours that the first round gives to
// their neighbours in the last level, and reports whether it could.
func (c *wordCut) byLast(rows []uint64, last uint64) bool {
	tied, asked := c.tied, uint64(0)
	for m := c.tied; m != 0; m &= m - 1 {
		asked |= rows[bits.TrailingZeros64(m)]
	}
	asked &= last
	for asked != 0 && !c.settled() {
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
	return c.tied != tied
}

// twins reports whether the tied nodes are interchangeable, so that no round will
// tell them apart, and attributes alone can choose.
func (c *wordCut) twins(z *Normalizer, rows []uint64) bool {
	if !refine.Interchangeable(rows, c.tied) {
		return false
	}
	if z.nodeAttrs() {
		c.byAttributes(z)
	}
	if !c.settled() {
		if z.edgeTypes() && !c.sameEdges(z, rows) {
			return false
		}
		z.Stats.Searches++
	}
	z.Stats.Ties++
	return true
}

// byAttributes prefers tied nodes with smaller attributes.
func (c *wordCut) byAttributes(z *Normalizer) {
	for before := -1; before != c.need; {
		before = c.need
		c.prefer(z.leastNodes(z.hood, c.tied))
	}
}

// sameEdges reports whether the edges of all tied nodes to a node have the same
// attributes. It does not look at tied nodes that are neighbours of each other.
func (c *wordCut) sameEdges(z *Normalizer, rows []uint64) bool {
	if z.oneType() {
		return true
	}
	first := bits.TrailingZeros64(c.tied)
	around := rows[first]
	if around&c.tied != 0 {
		return false
	}
	entry := func(i, j int) int32 { return z.ix.entryOf(z.hood[i], z.hood[j]) }
	at := z.inTypes(z.hood, false)
	for ; around != 0; around &= around - 1 {
		v := bits.TrailingZeros64(around)
		for m := c.tied & (c.tied - 1); m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			if z.typed {
				if row := z.types[at[v]<<6:][:maxWords]; row[at[j]&63] != row[at[first]&63] {
					return false
				}
			} else if refine.CompareEdges(z.ix.g, entry(first, v), entry(j, v)) != 0 {
				return false
			}
		}
	}
	return true
}
