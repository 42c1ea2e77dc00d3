package field

import (
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// cropLarge is crop for a neighbourhood of more than 64 nodes of what onWords
// accepts: it writes the first k nodes to z.keep, ascending.
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

// cut chooses the nodes that a cut to k leaves, as crop does, where that is easy
// and U is too large for words; see wordCut.
//
// All levels but the last are kept as they are, so only the last one has to be
// ranked, and of it only what stands at the cut. Two rounds of the textbook
// numbering decide nearly always, and are computed here for the nodes that ask
// for them, from the edges at the last level: G[U] is neither built nor refined.
// The nodes of the last level are numbered from 0.
type cut struct {
	choice
	base int // nodes of the levels before

	inner    []uint64         // by node of the last level: its neighbours before, by local number
	side     []uint32         // by node of the last level: its number of neighbours there
	innerAll []uint64         // memory of inner
	sideAll  []uint32         // memory of side
	down     [maxWords]uint32 // by node of the level before: its neighbours in the last level
	rows     [maxWords]uint64 // of the nodes before the last level

	lists  []int32  // for tied nodes: their neighbours in the last level
	at     []uint32 // by tied node: where its list begins
	colors []uint32 // of what lists holds, sorted

	color    [maxWords]uint64 // by node before the last level: its colour after one round
	around   []uint64         // lists of colours
	from, to [maxWords]uint32 // by node: where its list is
}

// run reports whether it could choose.
func (c *cut) run(z *Normalizer) bool {
	n := len(z.hood)
	c.base = firstOf(z.dist, z.dist[n-1])
	c.need = z.K - c.base
	if c.need <= 0 {
		return false // not the last level is cut
	}
	near := firstOf(z.dist[:c.base], z.dist[c.base-1])
	m := n - c.base
	c.begin(c.need, m)
	c.countBefore(z, near)
	if c.lonely(z, near) {
		return true
	}
	c.begin(z.K-c.base, m)
	c.countAside(z)
	c.all()

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
		if !c.listAside(z) {
			return false
		}
	}
	if c.twins(z, side) {
		return true
	}

	// Second round: by the lists of the colours that the first one gives, which
	// begin with those of the level before.
	if !c.same() && c.byColorsBefore(c.colorBefore(z, near)) {
		return true
	}
	if side && c.secondRoundAside(z) {
		return true
	}
	if c.twins(z, side) {
		return true
	}
	return !side && !c.same() && (c.thirdRound(z, near) || c.twins(z, side))
}

// firstOf returns the first place of a level; levels ascend.
func firstOf(dist []uint8, level uint8) int {
	if n := len(dist); n > 0 && n <= maxWords && dist[n-1] == level {
		return bits.Len64(refine.Starts(dist)) - 1
	}
	i, _ := slices.BinarySearch(dist, level)
	return i
}

// countBefore finds the neighbours of the last level in the level before, which
// begins at near.
func (c *cut) countBefore(z *Normalizer, near int) {
	// There is an entry for every place that local gives, so that nothing has to
	// be decided; only those of the last level are looked at.
	n := len(z.hood)
	c.innerAll = resize(c.innerAll, n+1)
	clear(c.innerAll)
	ix, place, base := z.ix, z.local.place, c.base
	inner := c.innerAll
	for i := near; i < base; i++ {
		down := uint32(0)
		for _, v := range ix.g.Adj(z.hood[i]) {
			at := place[v]
			inner[at] |= 1 << (i & 63)
			down += uint32(int32(base)-at) >> 31
		}
		c.down[i] = down
	}
	c.inner = inner[base+1:]
}

// countAside counts the neighbours of the last level inside of it, after
// countBefore.
func (c *cut) countAside(z *Normalizer) {
	c.sideAll = resize(c.sideAll, len(z.hood)+1)
	clear(c.sideAll)
	ix, place, base := z.ix, z.local.place, c.base
	side := c.sideAll
	c.side = side[base+1:]
	for j, u := range z.hood[base:] {
		if ix.g.Degree(u) == bits.OnesCount64(c.inner[j]) {
			continue
		}
		own := uint32(0)
		for _, v := range ix.other[ix.off[u]:ix.off[u+1]] {
			at := place[v]
			side[at]++
			own += uint32(int32(base)-at) >> 31
		}
		c.side[j] += own
	}
}
