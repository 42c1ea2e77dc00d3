package field

import (
	"math/bits"
	"slices"
)

// cropLarge is crop for a neighbourhood of more than 64 nodes of what onWords
// accepts: it writes the first k nodes to z.keep, ascending.
//
// All levels but the last are kept as they are, so only the last one has to be
// ranked, and of it only what stands at the cut. Two rounds of the textbook
// numbering decide nearly always, and are computed here for the nodes that ask
// for them, from the edges at the last level: G[U] is neither built nor refined.
// If they do not decide, the general way does, from the start.
func (z *Normalizer) cropLarge() error {
	z.Stats.Cropped++
	if z.cut.run(z) {
		z.keep = z.keep[:0]
		for v := range int32(z.cut.base) {
			z.keep = append(z.keep, v)
		}
		slices.Sort(z.cut.taken)
		for _, j := range z.cut.taken {
			z.keep = append(z.keep, int32(z.cut.base)+j)
		}
		return nil
	}
	z.arcs = z.local.induce(z.ix, z.hood, z.arcs[:0])
	return z.crop(nil)
}

// cut chooses among the nodes of the last level, which are numbered from 0.
type cut struct {
	base int // nodes of the levels before
	need int // nodes of the last level still to be chosen
	// taken have been chosen, tied have not been told apart yet; both ascend.
	taken, tied []int32

	inner []uint64         // by node of the last level: its neighbours before, by local number
	side  []uint32         // by node of the last level: its number of neighbours there
	down  [maxWords]uint32 // by node of the level before: its neighbours in the last level
	rows  [maxWords]uint64 // of the nodes before the last level
	key   []uint32         // by node of the last level, for narrow
}

// run reports whether it could choose.
func (c *cut) run(z *Normalizer) bool {
	n := len(z.hood)
	c.base = firstOf(z.dist, z.dist[n-1])
	c.need = z.K - c.base
	if c.need <= 0 {
		return false // not the last level is cut
	}
	near := firstOf(z.dist, z.dist[c.base-1])
	c.count(z, near)
	m := n - c.base
	c.key = resize(c.key, m)
	c.taken, c.tied = c.taken[:0], c.tied[:0]
	for j := range int32(m) {
		c.tied = append(c.tied, j)
	}

	// First round: by the list of the neighbours' levels. See round1.
	for j := range m {
		c.key[j] = uint32(bits.OnesCount64(c.inner[j]))
		if c.side[j] > 0 {
			c.key[j] = 2*maxWords - c.key[j]
		}
	}
	if c.narrow() {
		return true
	}
	side := c.side[c.tied[0]] > 0
	if side {
		for _, j := range c.tied {
			c.key[j] = c.side[j]
		}
		if c.narrow() {
			return true
		}
	}
	plain := !z.nodeAttrs()
	if c.same() {
		if !side {
			return plain && c.takeTwins(z)
		}
	} else if c.secondRound(z, near) {
		return true
	}
	if !side {
		return plain && c.same() && c.takeTwins(z)
	}
	return false
}

// firstOf returns the first place of a level; levels ascend.
func firstOf(dist []uint8, level uint8) int {
	i, _ := slices.BinarySearch(dist, level)
	return i
}

// count finds the neighbours of the last level, in the level before, which
// begins at near, and inside.
func (c *cut) count(z *Normalizer, near int) {
	ix, l, base := z.ix, &z.local, c.base
	m := len(z.hood) - base
	c.inner, c.side = resize(c.inner, m), resize(c.side, m)
	clear(c.inner)
	clear(c.side)
	for i := near; i < base; i++ {
		down := uint32(0)
		for _, v := range ix.g.Adj(z.hood[i]) {
			s := l.stamp[v]
			if j := int(uint32(s)) - base; s>>32 == l.now && j >= 0 {
				c.inner[j] |= 1 << i
				down++
			}
		}
		c.down[i] = down
	}
	for j, u := range z.hood[base:] {
		if ix.g.Degree(u) == bits.OnesCount64(c.inner[j]) {
			continue
		}
		own := uint32(0)
		for _, v := range ix.other[ix.off[u]:ix.off[u+1]] {
			s := l.stamp[v]
			if i := int(uint32(s)) - base; s>>32 == l.now && i >= 0 {
				c.side[i]++
				own++
			}
		}
		c.side[j] += own
	}
}

// round1 is the rank of a node inside its level after one round: its list has p
// entries of the level before, s of its own and q of the next. More of a smaller
// level make a smaller list, but a list that ends is smaller than one that goes
// on. p and s are at most 127, s more if q is 0.
func round1(p, s, q uint32) uint64 {
	switch {
	case s == 0 && q == 0:
		return uint64(p)
	case q == 0:
		return 1<<63 | uint64(127-p)<<56 | uint64(s)
	}
	return 1<<63 | uint64(127-p)<<56 | 1<<48 | uint64(127-s)<<40 | uint64(q)
}

// narrow takes the nodes of smaller key among the tied ones and drops those of
// greater key. It reports whether nothing is left to choose.
func (c *cut) narrow() bool {
	for shift := 24; shift >= 0 && c.need < len(c.tied); shift -= 8 {
		var count [256]int32
		first := c.key[c.tied[0]] >> shift & 255
		mixed := false
		for _, j := range c.tied {
			d := c.key[j] >> shift & 255
			count[d]++
			mixed = mixed || d != first
		}
		if !mixed {
			continue
		}
		at, need := uint32(0), int32(c.need)
		for need > count[at] {
			need -= count[at]
			at++
		}
		kept := c.tied[:0]
		for _, j := range c.tied {
			switch d := c.key[j] >> shift & 255; {
			case d < at:
				c.taken = append(c.taken, j)
			case d == at:
				kept = append(kept, j)
			}
		}
		c.tied, c.need = kept, int(need)
	}
	return c.settled()
}

// settled takes all tied nodes if all are needed.
func (c *cut) settled() bool {
	if c.need < len(c.tied) {
		return false
	}
	c.taken = append(c.taken, c.tied...)
	return true
}

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

// takeTwins takes the smallest of the tied nodes, which no round will tell apart.
func (c *cut) takeTwins(z *Normalizer) bool {
	z.Stats.Ties++
	z.Stats.Searches++
	c.taken = append(c.taken, c.tied[:c.need]...)
	return true
}

// secondRound tells tied nodes apart by the colours that the first round gives
// to their neighbours in the level before, which begins at near.
func (c *cut) secondRound(z *Normalizer, near int) bool {
	z.local.rows(z.ix, z.hood[:c.base], c.rows[:])
	level := (1<<c.base - 1) &^ uint64(1<<near-1)
	var order [maxWords]uint64
	var key [maxWords]uint64
	n := 0
	for i := near; i < c.base; i++ {
		key[i] = round1(uint32(bits.OnesCount64(c.rows[i]&^level)), uint32(bits.OnesCount64(c.rows[i]&level)), c.down[i])
		at := n
		for ; at > 0 && key[order[at-1]] > key[i]; at-- {
			order[at] = order[at-1]
		}
		order[at] = uint64(i)
		n++
	}
	for i := 0; i < n; {
		color, class := key[order[i]], uint64(0)
		for ; i < n && key[order[i]] == color; i++ {
			class |= 1 << order[i]
		}
		for _, j := range c.tied {
			c.key[j] = maxWords - uint32(bits.OnesCount64(c.inner[j]&class))
		}
		if c.narrow() {
			return true
		}
	}
	return false
}
