package field

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// arcCut is cut for directed graphs: it chooses the nodes that a cut to k leaves,
// where two rounds of the textbook numbering decide, and asks for the rows of a
// node of the last level only where that node may be at the cut.
//
// An entry of a list is a colour and whether the owner of the list is the head of
// the arc or its tail, 0 or 1, so the first round goes by the numbers of arcs that
// come from the first level, lead there, come from the second, and so on. What the
// levels before the last have is read from their own rows. The nodes of the last
// level are numbered from 0.
type arcCut struct {
	choice
	base   int
	levels []uint64 // by level before the last: its nodes

	// By one plus the number of a node: the nodes before the last level from
	// where it has arcs, and to where; at base+1 begins the last level.
	around [][2]uint64
	down   [maxWords][2]uint32 // by node before: its arcs from the last level, and to there
	rank   [maxWords]uint32    // by node before: of its colour after one round
	alone  []uint8             // by node of the last level: unknown, yes, no
	lists  [][]uint32
	memory []uint32 // of lists and of colours
	beside []int32  // nodes of the last level whose colours are asked for
	at     []int32  // by node of the last level: 1 + its place there before sorting
	colors []uint32 // in that place
	ranks  []uint32
	steps  int // entries of rows that may still be read
}

// What is known of a node of the last level: whether it has neighbours there.
const (
	notAsked = iota
	isAlone
	inCompany
)

// arcSteps bounds the entries that arcCut reads of the rows of the last level:
// beyond, the general way is no slower.
const arcSteps = 1 << 22

// cutsArcs reports whether arcCut may be asked.
func (z *Normalizer) cutsArcs(global []float64) bool {
	return !z.general && z.ix.g.Directed && len(z.hood) > maxWords && z.K <= maxWords && !z.Uniform && z.refinement(global)
}

// cropArcs writes the first k nodes to z.keep, ascending, and the arcs between
// them to z.arcs. It reports whether it could.
func (z *Normalizer) cropArcs() bool {
	c := &z.arcCut
	if !c.run(z) {
		return false
	}
	z.Stats.Cropped++
	z.keep = z.keep[:0]
	for v := range int32(c.base) {
		z.keep = append(z.keep, v)
	}
	slices.Sort(c.taken)
	for _, j := range c.taken {
		z.keep = append(z.keep, int32(c.base)+j)
	}
	z.member = resize(z.member, len(z.hood)+1)
	clear(z.member)
	for _, v := range z.keep {
		z.member[v+1] = 1
	}
	z.arcs = z.arcs[:0]
	for _, i := range z.keep {
		u := z.hood[i]
		for e := z.ix.off[u]; e < z.ix.off[u+1]; e++ {
			at := z.local.place[z.ix.other[e]]
			if z.member[at] == 0 {
				continue
			}
			if entry := z.ix.listed(e); entry >= 0 {
				z.arcs = append(z.arcs, arc{i, at - 1, entry})
			} else {
				z.arcs = append(z.arcs, arc{at - 1, i, ^entry})
			}
		}
	}
	return true
}

// run reports whether it could choose.
func (c *arcCut) run(z *Normalizer) bool {
	n := len(z.hood)
	c.base = firstOf(z.dist, z.dist[n-1])
	if c.base >= z.K {
		return false // not the last level is cut
	}
	c.begin(z.K-c.base, n-c.base)
	c.all()
	c.steps = arcSteps
	c.alone = resize(c.alone, n-c.base)
	clear(c.alone)
	c.read(z)
	if c.firstRound(z) {
		return true
	}
	side := c.steps >= 0 && c.alone[c.tied[0]] != isAlone
	if side && c.firstRoundAside(z) {
		return true
	}
	if c.steps < 0 {
		return false
	}
	if c.twins(z) {
		return true
	}
	c.rankBefore(z)
	if c.secondRound() || side && c.secondRoundAside(z) {
		return true
	}
	return c.steps >= 0 && c.twins(z)
}

// read fills levels, around and down from the rows of the nodes before the last
// level.
func (c *arcCut) read(z *Normalizer) {
	c.levels = c.levels[:0]
	for i := range c.base {
		if i == 0 || z.dist[i] != z.dist[i-1] {
			c.levels = append(c.levels, 0)
		}
		c.levels[len(c.levels)-1] |= 1 << i
	}
	// There is an entry for every place, 0 for nodes elsewhere.
	c.around = resize(c.around, len(z.hood)+1)
	clear(c.around)
	g, place, base := z.ix.g, z.local.place, int32(c.base)
	for i, u := range z.hood[:c.base] {
		down := [2]uint32{}
		for _, v := range g.Adj(u) {
			at := place[v]
			c.around[at][0] |= 1 << (i & 63)
			down[1] += uint32(base-at) >> 31
		}
		for _, v := range z.ix.in(u) {
			at := place[v]
			c.around[at][1] |= 1 << (i & 63)
			down[0] += uint32(base-at) >> 31
		}
		c.down[i&63] = down
	}
}

// last returns the nodes before the last level that node j of that has arcs from,
// and to.
func (c *arcCut) last(j int32) *[2]uint64 { return &c.around[c.base+1+int(j)] }

// firstRound tells the nodes of the last level apart by their arcs from and to
// the levels before.
func (c *arcCut) firstRound(z *Normalizer) bool {
	for l, level := range c.levels {
		rest := ^uint64(0) << (bits.Len64(level) & 63)
		if l == len(c.levels)-1 {
			rest = 0
		}
		for code := range 2 {
			for _, j := range c.tied {
				around := c.last(j)
				ends := around[0]&rest|around[1]&rest == 0 && (code == 1 || around[1]&level == 0)
				c.key[j] = listKey(uint32(bits.OnesCount64(around[code]&level)), ends && c.isAlone(z, j))
			}
			if c.steps < 0 {
				return false
			}
			if c.narrow() {
				return true
			}
		}
	}
	return false
}

// listKey is the rank by the number of entries of one kind among lists that are
// equal before: more of a kind make a smaller list, but a list that ends is
// smaller than one that goes on.
func listKey(count uint32, ends bool) uint32 {
	if ends {
		return count
	}
	return math.MaxUint32 - count
}

// isAlone reports whether a node of the last level has no neighbour there.
func (c *arcCut) isAlone(z *Normalizer, j int32) bool {
	if c.alone[j] == notAsked {
		c.alone[j] = inCompany
		if c.looksAlone(z, j) {
			c.alone[j] = isAlone
		}
	}
	return c.alone[j] == isAlone
}

func (c *arcCut) looksAlone(z *Normalizer, j int32) bool {
	ix, u, around := z.ix, z.hood[c.base+int(j)], c.last(j)
	if ix.degree(u) == bits.OnesCount64(around[0])+bits.OnesCount64(around[1]) {
		return true
	}
	base, place := int32(c.base), z.local.place
	// Neighbours of high degree are the likeliest.
	for _, row := range [...][]int32{ix.other[ix.off[u]:ix.off[u+1]], ix.g.Adj(u), ix.in(u)} {
		for i, w := range row {
			if place[w] > base {
				c.steps -= i
				return false
			}
		}
		c.steps -= len(row)
	}
	return true
}

// firstRoundAside tells tied nodes apart by their arcs from and to the last
// level.
func (c *arcCut) firstRoundAside(z *Normalizer) bool {
	c.lists, c.memory = c.lists[:0], c.memory[:0]
	for code := range 2 {
		for _, j := range c.tied {
			side, ok := c.aside(z, j)
			if !ok {
				return false
			}
			c.key[j] = listKey(side[code], code == 1 || side[1] == 0)
		}
		if c.narrow() {
			return true
		}
	}
	return false
}

// aside counts the arcs of a node from and to the last level.
func (c *arcCut) aside(z *Normalizer, j int32) (side [2]uint32, ok bool) {
	u, base := z.hood[c.base+int(j)], int32(c.base)
	for code, row := range [...][]int32{z.ix.in(u), z.ix.g.Adj(u)} {
		if c.steps -= len(row); c.steps < 0 {
			return side, false
		}
		for _, v := range row {
			side[code] += uint32(base-z.local.place[v]) >> 31
		}
	}
	return side, true
}

// twins takes the smallest of the tied nodes if they have the same neighbours,
// none of them in the last level, so that no round will tell them apart, and no
// attribute does.
func (c *arcCut) twins(z *Normalizer) bool {
	first := c.tied[0]
	for _, j := range c.tied {
		if c.alone[j] != isAlone || *c.last(j) != *c.last(first) {
			return false
		}
	}
	if z.edgeTypes() && !c.sameArcs(z) {
		return false
	}
	if z.nodeAttrs() {
		at := func(j int32) int32 { return z.hood[c.base+int(j)] }
		for _, j := range c.tied[1:] {
			if refine.CompareNodes(z.ix.g, at(first), at(j)) != 0 {
				return false
			}
		}
	}
	z.Stats.Ties++
	z.Stats.Searches++
	c.taken = append(c.taken, c.tied[:c.need]...)
	return true
}

// sameArcs reports whether the arcs of all tied nodes to a node before the last
// level, and from there, have the same attributes.
func (c *arcCut) sameArcs(z *Normalizer) bool {
	g := z.ix.g
	for code, nodes := range c.last(c.tied[0]) {
		for m := nodes; m != 0; m &= m - 1 {
			before := z.hood[bits.TrailingZeros64(m)]
			entry := func(j int32) int32 {
				u := z.hood[c.base+int(j)]
				if code == 0 {
					return int32(g.Entry(before, u))
				}
				return int32(g.Entry(u, before))
			}
			first := entry(c.tied[0])
			for _, j := range c.tied[1:] {
				if refine.CompareEdges(g, first, entry(j)) != 0 {
					return false
				}
			}
		}
	}
	return true
}
