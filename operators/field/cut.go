package field

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// cropLarge is crop for a neighbourhood of more than 64 nodes of what onWords
// accepts: it writes the first k nodes to z.keep, ascending.
func (z *Normalizer) cropLarge() error {
	z.Stats.Cropped++
	if z.cut.run(z, nil) {
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

// cut chooses the nodes that a cut to k leaves, as crop does, where that is easy.
//
// All levels but the last are kept as they are, so only the last one has to be
// ranked, and of it only what stands at the cut. Two rounds of the textbook
// numbering decide nearly always, and are computed here for the nodes that ask
// for them, from the edges at the last level: G[U] is neither built nor refined.
// The nodes of the last level are numbered from 0.
type cut struct {
	base int // nodes of the levels before
	need int // nodes of the last level still to be chosen
	// taken have been chosen, tied have not been told apart yet; both ascend.
	taken, tied []int32

	inner    []uint64         // by node of the last level: its neighbours before, by local number
	side     []uint32         // by node of the last level: its number of neighbours there
	innerAll []uint64         // memory of inner
	sideAll  []uint32         // memory of side
	down     [maxWords]uint32 // by node of the level before: its neighbours in the last level
	rows     [maxWords]uint64 // of the nodes before the last level
	key      []uint32         // by node of the last level, for narrow

	lists  []int32  // for tied nodes: their neighbours in the last level
	at     []uint32 // by tied node: where its list begins
	colors []uint32 // of what lists holds, sorted

	color    [maxWords]uint64 // by node before the last level: its colour after one round
	around   []uint64         // lists of colours
	from, to [maxWords]uint32 // by node: where its list is
}

// run reports whether it could choose. rows are those of U, or nil if U is too
// large for words.
func (c *cut) run(z *Normalizer, rows []uint64) bool {
	n := len(z.hood)
	c.base = firstOf(z.dist, z.dist[n-1])
	c.need = z.K - c.base
	if c.need <= 0 {
		return false // not the last level is cut
	}
	near := firstOf(z.dist, z.dist[c.base-1])
	m := n - c.base
	c.key = resize(c.key, m)
	if rows == nil {
		c.count(z, near)
	} else {
		c.countWords(rows, near)
	}
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
		if !c.listAside(z, rows) {
			return false
		}
	}
	if c.twins(z, side) {
		return true
	}

	// Second round: by the lists of the colours that the first one gives, which
	// begin with those of the level before.
	if !c.same() && c.secondRound(z, rows, near) {
		return true
	}
	if side && c.secondRoundAside(z) {
		return true
	}
	if c.twins(z, side) {
		return true
	}
	return !side && !c.same() && (c.thirdRound(z, rows, near) || c.twins(z, side))
}

// firstOf returns the first place of a level; levels ascend.
func firstOf(dist []uint8, level uint8) int {
	i, _ := slices.BinarySearch(dist, level)
	return i
}

// count finds the neighbours of the last level, in the level before, which
// begins at near, and inside.
func (c *cut) count(z *Normalizer, near int) {
	// There is an entry for every place that local gives, so that nothing has to
	// be decided; only those of the last level are looked at.
	n := len(z.hood)
	c.innerAll, c.sideAll = resize(c.innerAll, n+1), resize(c.sideAll, n+1)
	clear(c.innerAll)
	clear(c.sideAll)
	ix, place, base := z.ix, z.local.place, c.base
	inner, side := c.innerAll, c.sideAll
	for i := near; i < base; i++ {
		down := uint32(0)
		for _, v := range ix.g.Adj(z.hood[i]) {
			at := place[v]
			inner[at] |= 1 << (i & 63)
			down += uint32(int32(base)-at) >> 31
		}
		c.down[i] = down
	}
	c.inner, c.side = inner[base+1:], side[base+1:]
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

// countWords is count for rows on words.
func (c *cut) countWords(rows []uint64, near int) {
	before := uint64(1)<<c.base - 1
	m := len(rows) - c.base
	c.innerAll, c.sideAll = resize(c.innerAll, m), resize(c.sideAll, m)
	c.inner, c.side = c.innerAll, c.sideAll
	for j, row := range rows[c.base:] {
		c.inner[j] = row & before
		c.side[j] = uint32(bits.OnesCount64(row &^ before))
	}
	for i := near; i < c.base; i++ {
		c.down[i] = uint32(bits.OnesCount64(rows[i] &^ before))
	}
}

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

// narrow takes the nodes of smaller key among the tied ones and drops those of
// greater key. It reports whether nothing is left to choose.
func (c *cut) narrow() bool {
	if len(c.tied) <= few {
		return c.narrowFew()
	}
	for shift := 1; shift > 0 && c.need < len(c.tied); {
		low, high := c.key[c.tied[0]], uint32(0)
		for _, j := range c.tied {
			low, high = min(low, c.key[j]), max(high, c.key[j])
		}
		shift = max(0, bits.Len32(high-low)-8)
		var count [256]int32
		for _, j := range c.tied {
			count[(c.key[j]-low)>>shift&255]++
		}
		at, need := uint32(0), int32(c.need)
		for need > count[at] {
			need -= count[at]
			at++
		}
		kept := c.tied[:0]
		for _, j := range c.tied {
			switch d := (c.key[j] - low) >> shift; {
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

// few is where counting all smaller ones costs as much as a histogram does, by
// BenchmarkField on power and polbooks.
const few = 16

// narrowFew is narrow for a few nodes: it counts, for each, the smaller ones.
func (c *cut) narrowFew() bool {
	if c.need == len(c.tied) {
		return c.settled()
	}
	var key [few]int64
	for i, j := range c.tied {
		key[i] = int64(c.key[j])
	}
	var less [few]int
	keys, last := key[:len(c.tied)], 0
	for i, x := range keys {
		n := 0
		for _, y := range keys {
			n -= int((y - x) >> 63)
		}
		less[i] = n
		if n < c.need {
			last = max(last, n)
		}
	}
	kept := c.tied[:0]
	for i, j := range c.tied {
		switch n := less[i%few]; {
		case n < last:
			c.taken = append(c.taken, j)
		case n == last:
			kept = append(kept, j)
		}
	}
	c.tied = kept
	c.need -= last
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
func (c *cut) listAside(z *Normalizer, rows []uint64) bool {
	l, g := &z.local, z.ix.g
	c.lists = c.lists[:0]
	c.at = resize(c.at, len(c.key))
	for _, j := range c.tied {
		if rows != nil {
			c.at[j] = uint32(len(c.lists))
			for m := rows[c.base+int(j)] >> c.base; m != 0; m &= m - 1 {
				c.lists = append(c.lists, int32(bits.TrailingZeros64(m)))
			}
			continue
		}
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

// secondRound tells tied nodes apart by the colours that the first round gives
// to their neighbours in the level before, which begins at near.
func (c *cut) secondRound(z *Normalizer, rows []uint64, near int) bool {
	before := uint64(1)<<c.base - 1
	if rows == nil {
		rows = c.rows[:]
		z.local.rows(z.ix, z.hood, c.base, c.rows[:])
	}
	level := before &^ (1<<near - 1)
	for i := near; i < c.base; i++ {
		c.color[i] = round1(uint32(bits.OnesCount64(rows[i]&before&^level)), uint32(bits.OnesCount64(rows[i]&level)), c.down[i])
	}
	return c.byLevelBefore(level, func(u, v uint8) int { return cmp.Compare(c.color[u], c.color[v]) })
}

// thirdRound tells tied nodes, which have no neighbours aside, apart by the
// colours that the second round gives to their neighbours in the level before:
// by colour of the first and the list of those of all neighbours.
func (c *cut) thirdRound(z *Normalizer, rows []uint64, near int) bool {
	hood := rows
	if rows == nil {
		rows = c.rows[:]
	}
	before := uint64(1)<<c.base - 1
	level := before &^ (1<<near - 1)
	if near > 0 {
		far := firstOf(z.dist, z.dist[near-1])
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
		add := func(j int) {
			c.around = append(c.around, round1(uint32(bits.OnesCount64(c.inner[j])), c.side[j], 0))
		}
		if hood != nil {
			for part := hood[u] &^ before; part != 0; part &= part - 1 {
				add(bits.TrailingZeros64(part) - c.base)
			}
		} else {
			for _, v := range z.ix.g.Adj(z.hood[u]) {
				if j := int(z.local.place[v]) - 1 - c.base; j >= 0 {
					add(j)
				}
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
