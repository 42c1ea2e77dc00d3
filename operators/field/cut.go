package field

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// cut selects the nodes that a cut to k keeps of a neighbourhood of more than 64 nodes. It gives
// the result of lists.crop where two rounds of the textbook numbering decide.
//
// All levels except the last are kept whole, so only nodes of the last level are ranked, and of
// these only the ones near the cut. cut reads all rows of the nodes before the last level, and a
// row of the last level only if its node may be at the cut. The nodes of the last level have
// numbers from 0.
//
// An entry of a list is a colour and, in a directed graph, a code: 0 if the owner of the list is
// the head of the arc, 1 if it is the tail. In an undirected graph all codes are 0. The first round
// therefore compares the numbers of arcs that come from the first level, lead to it, come from the
// second, and so on.
type cut struct {
	choice
	ix     *Index
	nodes  []int32
	place  []int32 // place of each node; see numbering
	types  bool    // attributes take part in the order
	codes  int
	base   int      // number of nodes before the last level
	first  int      // first level with neighbours of the last one
	levels []uint64 // nodes of each level before the last, as a set

	// around has, by code and place, the nodes before the last level with an arc to the node, and
	// from it. The last level begins at base+1. In an undirected graph both codes share memory, and
	// only the first counts.
	around   [2][]uint64
	arriving []uint64            // memory of around[1]
	down     [maxWords][2]uint32 // by node before the last level: number of arcs from the last level, and to it
	rank     [maxWords]uint8     // by node before the last level: rank of its colour after one round
	ranked   int                 // first level whose nodes have a rank

	alone  []uint8     // by node of the last level: unknown, isAlone or inCompany
	lists  []int32     // neighbours in the last level, each with its code in the lowest bit
	from   []int32     // by node of the last level: start of its list in lists; -1 = not listed yet
	side   [2][]uint32 // by code and node of the last level: number of arcs from the last level, and to it
	sides  [2][]uint32 // memory of side, by place
	colors []color     // colours of the nodes in beside
	beside []int32     // nodes of the last level whose colours are needed
	at     []int       // by node of the last level: its index in beside plus one, then its start in sorted
	ranks  []int32     // by node of the last level: rank of its colour
	sorted []int32     // sorted lists of ranks
	steps  int         // remaining budget of row entries

	by      how
	ends    []int32
	scratch []int32
	counted bool // side and alone are complete

	noEnding bool // benchmarks set it; leaves then returns false
}

// States of a node of the last level: whether it has neighbours in that level.
const (
	unknown = iota
	isAlone
	inCompany
)

// cutSteps bounds the entries that are read of rows of the last level. Beyond it lists are as fast.
const cutSteps = 1 << 22

// run selects the first nodes of the last level, as many as k lacks, and leaves them in c.taken.
// place numbers the nodes. It returns false if it cannot decide.
func (c *cut) run(ix *Index, nodes []int32, dist []uint8, place []int32, k int, ignore bool) bool {
	n, g := len(nodes), ix.g
	c.ix, c.nodes, c.place = ix, nodes, place
	c.base, _ = slices.BinarySearch(dist, dist[n-1])
	if c.base >= k {
		return false // the cut divides an earlier level
	}
	c.types = !ignore && (g.HasNodeAttributes() || g.EdgeCats+g.EdgeAttrs > 0)
	c.steps, c.ranked, c.by = cutSteps, maxWords, byRank
	if n > ix.N()/2 { // lists would copy nearly the whole graph
		c.steps = max(c.steps, len(ix.adj.items))
	}
	m := n - c.base
	c.begin(k-c.base, m)
	c.alone = scratch.Resize(c.alone, m)
	clear(c.alone)
	c.readBefore(dist[:c.base])
	if c.codes == 2 && ix.dir != Both && c.codes*len(c.levels) > colorCounts {
		return false // a walk in one direction leaves arcs between any two levels
	}
	for code := range c.codes {
		c.sides[code] = scratch.Resize(c.sides[code], n+1)
		c.side[code] = c.sides[code][c.base+1:]
	}
	if c.counted = false; c.codes == 1 && !c.leaves() {
		c.countAside()
	}
	if c.firstRound() {
		return true
	}
	side := !c.isAlone(c.tied[0])
	if side && (c.counted && c.firstRoundAside() || !c.listAside() || !c.counted && c.firstRoundAside()) {
		return c.steps >= 0
	}
	if c.twins() || c.secondRound() || side && c.secondRoundAside() {
		return true
	}
	if c.steps < 0 {
		return false
	}
	return c.twins()
}

// row returns the neighbours of u by the arcs that have a code in the list of u.
func (c *cut) row(u int32, code int) []int32 {
	if c.codes == 2 && code == 0 {
		return c.ix.in.row(u)
	}
	return c.ix.adj.row(u)
}

// readBefore reads the rows of the nodes before the last level. dist has their distances.
func (c *cut) readBefore(dist []uint8) {
	c.levels = c.levels[:0]
	for i, d := range dist {
		if i == 0 || d != dist[i-1] {
			c.levels = append(c.levels, 0)
		}
		c.levels[len(c.levels)-1] |= 1 << i
	}
	c.codes, c.first = 1, len(c.levels)-1
	// There is an entry for each place. Place 0 is that of all nodes outside the neighbourhood.
	c.around[0] = scratch.Resize(c.around[0], len(c.nodes)+1)
	clear(c.around[0])
	if c.ix.g.Directed {
		c.codes, c.first = 2, 0
		c.arriving = scratch.Resize(c.arriving, len(c.nodes)+1)
		clear(c.arriving)
		c.around[1] = c.arriving
	} else {
		c.around[1] = c.around[0]
	}
	place, base := c.place, int32(c.base)
	for i, u := range c.nodes[:c.base] {
		for code := range c.codes {
			around, down, own := c.around[code], uint32(0), c.codes-1-code
			for _, v := range c.row(u, own) {
				at := place[v]
				around[at] |= 1 << (i & 63)
				down += uint32(base-at) >> 31
			}
			c.down[i&63][own] = down
		}
	}
}

// before returns the nodes before the last level with an arc to node j, and from it.
func (c *cut) before(j int32) (b [2]uint64) {
	at := c.base + 1 + int(j)
	b[0] = c.around[0][at]
	if c.codes == 2 {
		b[1] = c.around[1][at]
	}
	return b
}

// firstRound separates the nodes of the last level by their arcs from and to the levels before.
// More entries of a kind make a smaller list, but a list that ends is smaller than one that
// continues. Afterwards either all tied nodes have neighbours in the last level or none has.
func (c *cut) firstRound() bool {
	if c.codes == 1 && !c.counted {
		c.endingAtOne(c.levels[c.first], 0) // nodes of degree one suffice
		return c.need == 0
	}
	if c.counted { // all counts are known
		c.all()
		for j, n := range c.side[0] {
			c.key[j] = uint32(bits.OnesCount64(c.around[0][c.base+1+j]))
			if n > 0 {
				c.key[j] = 2*maxWords - c.key[j]
			}
		}
		return c.narrow()
	}
	sole := true
	for l, level := range c.levels {
		if l < c.first {
			continue
		}
		rest := ^uint64(0) << (bits.Len64(level) & 63) &^ (^uint64(0) << c.base)
		for code := range c.codes {
			if c.ending(level, rest, code, sole) {
				return c.need == 0
			}
			for _, j := range c.tied {
				c.key[j] = math.MaxUint32 - c.count(j, level, code)
			}
			if c.narrow() {
				return true
			}
			sole = sole && c.count(c.tied[0], level, code) == 0
		}
	}
	return false
}

// count returns the number of arcs with a code between node j and a level.
func (c *cut) count(j int32, level uint64, code int) uint32 {
	return uint32(bits.OnesCount64(c.around[code][c.base+1+int(j)] & level))
}

// ending takes the tied nodes whose lists end with the entries of a level and a code, those with
// fewer entries first: a list that ends comes before all others. It reports whether they suffice.
// If not, it removes them from the tied nodes. sole says that the tied nodes have no earlier
// entries.
func (c *cut) ending(level, rest uint64, code int, sole bool) bool {
	from, to := c.around[0][c.base+1:], c.around[1][c.base+1:]
	own, later := c.around[code][c.base+1:], uint64(0)
	if code < c.codes-1 {
		later = level
	}
	taken := len(c.taken)
	if sole && c.endingAtOne(level, code) {
		return true
	}
	if len(c.tied) == 0 {
		c.all()
	}
	counts := uint64(0)
	c.ends = c.ends[:0]
	for _, j := range c.tied {
		if (from[j]|to[j])&rest == 0 && to[j]&later == 0 && c.alone[j] == unknown {
			c.ends = append(c.ends, j)
			counts |= 1 << (bits.OnesCount64(own[j]&level) & 63)
		}
	}
	for ; counts != 0; counts &= counts - 1 {
		n := bits.TrailingZeros64(counts)
		c.scratch = c.scratch[:0]
		for _, j := range c.ends {
			if bits.OnesCount64(own[j]&level) == n && c.isAlone(j) {
				c.scratch = append(c.scratch, j)
			}
		}
		if c.enough() {
			return true
		}
	}
	if len(c.taken) > taken {
		c.tied = slices.DeleteFunc(c.tied, func(j int32) bool { return c.alone[j] == isAlone })
	}
	return false
}

// enough takes the nodes in c.scratch, or ties them if they are more than needed. It reports
// whether no other nodes are needed.
func (c *cut) enough() bool {
	if c.need < len(c.scratch) {
		c.tied, c.scratch = c.scratch, c.tied
		return true
	}
	c.taken = append(c.taken, c.scratch...)
	c.need -= len(c.scratch)
	return c.need == 0
}

// endingAtOne is ending for nodes with one neighbour. It visits the hubs in the order of their
// colours. A hub has many such nodes, and the rows of those that are not needed stay unread.
func (c *cut) endingAtOne(level uint64, code int) bool {
	c.rankBefore(c.first)
	place, base := c.place, int32(c.base)
	shared := c.ix.shared
	for level != 0 {
		first, least := uint64(0), uint8(math.MaxUint8) // hubs of the smallest colour
		for m := level; m != 0; m &= m - 1 {
			switch v := bits.TrailingZeros64(m) & 63; {
			case c.rank[v] < least:
				least, first = c.rank[v], 1<<v
			case c.rank[v] == least:
				first |= 1 << v
			}
		}
		level &^= first
		one := first&(first-1) == 0 && !c.types
		c.scratch = c.scratch[:0]
		for m := first; m != 0; m &= m - 1 {
			hub := bits.TrailingZeros64(m)
			own, other, wanted := c.around[code], c.around[1-code], uint64(0)
			if c.codes == 1 {
				wanted = 1 << hub // both codes share memory
			}
			u := c.nodes[hub]
			row, begin := c.row(u, c.codes-1-code), int(c.ix.adj.begin[u])
			// If the walk took the whole row of the hub, a neighbour shared by the hub and a node
			// without other nodes before it is in the last level.
			known := len(shared) > 0 && int(c.down[hub&63][0])+bits.OnesCount64(own[hub+1]) == len(row)
			for e := 0; e < len(row); e++ {
				if known {
					rest := ^shared[(begin+e)>>6].Load() >> ((begin + e) & 63)
					if e += bits.TrailingZeros64(rest | 1<<(63-(begin+e)&63)); e >= len(row) {
						break
					}
				}
				at := place[row[e]]
				if at <= base || own[at] != 1<<hub || other[at] != wanted {
					continue
				}
				j := at - 1 - base
				if beside := c.besideOf(j); beside > 0 {
					c.alone[j] = inCompany
					if known && own[beside]>>hub&1 > 0 {
						shared[(begin+e)>>6].Or(1 << ((begin + e) & 63))
					}
					continue
				}
				c.alone[j] = isAlone
				c.scratch = append(c.scratch, j)
				if one && len(c.scratch) > c.need {
					break // the other nodes are twins with greater numbers
				}
			}
		}
		slices.Sort(c.scratch)
		if c.enough() {
			return true
		}
	}
	return false
}

// isAlone reports whether node j has no neighbour in the last level.
func (c *cut) isAlone(j int32) bool {
	if c.counted {
		return c.side[0][j] == 0
	}
	if c.alone[j] == unknown {
		c.alone[j] = isAlone
		if c.besideOf(j) > 0 {
			c.alone[j] = inCompany
		}
	}
	return c.alone[j] == isAlone
}

// besideOf returns the place of a neighbour of node j in the last level, or 0.
func (c *cut) besideOf(j int32) int32 {
	ix, u := c.ix, c.nodes[c.base+int(j)]
	if b := c.before(j); ix.degree(u) == bits.OnesCount64(b[0])+bits.OnesCount64(b[1]) {
		return 0
	}
	base, place := int32(c.base), c.place
	// Neighbours of high degree are the most likely ones.
	for _, w := range ix.short.row(u) {
		if at := place[w]; at > base {
			return at
		}
	}
	for code := range c.codes {
		row := c.row(u, code)
		c.steps -= len(row)
		for _, w := range row {
			if at := place[w]; at > base {
				return at
			}
		}
	}
	return 0
}

// leaves reports whether enough nodes of the last level have degree one.
func (c *cut) leaves() bool {
	if c.noEnding {
		return false
	}
	begin, end, n := c.ix.adj.begin, c.ix.adj.end, 0
	for _, u := range c.nodes[c.base:] {
		if end[u]-begin[u] == 1 {
			if n++; n == c.need {
				return true
			}
		}
	}
	return false
}

// countAside counts the neighbours in the last level of each node of that level. It reads the short
// lists of an undirected graph.
func (c *cut) countAside() {
	ix, base := c.ix, c.base
	// There is an entry for each place. Only those of the last level are read.
	side := c.sides[0]
	clear(side)
	for j, u := range c.nodes[base:] {
		if ix.adj.degree(u) == bits.OnesCount64(c.around[0][base+1+j]) {
			continue
		}
		own := uint32(0)
		for _, v := range ix.short.row(u) {
			at := c.place[v]
			side[at]++
			own += uint32(int32(base)-at) >> 31
		}
		side[base+1+j] += own
	}
	c.counted = true
}

// rows writes the rows of the kept nodes of an undirected graph: those before the last level, then
// those taken. c.around has all edges except those between taken nodes.
func (c *cut) rows(rows []uint64) {
	copy(rows[:c.base], c.around[0][1:])
	beside := 0 // taken nodes that may have neighbours in the last level
	for t, j := range c.taken {
		at := c.base + t
		row := c.before(j)[0]
		rows[at] = row
		for ; row != 0; row &= row - 1 {
			rows[bits.TrailingZeros64(row)&63] |= 1 << (at & 63)
		}
		if c.alone[j] != isAlone && (!c.counted || c.side[0][j] > 0) {
			c.alone[j] = inCompany + 1 + uint8(at)
			beside++
		}
	}
	if beside < 2 {
		return
	}
	for _, j := range c.taken {
		if c.alone[j] <= inCompany {
			continue
		}
		at := c.alone[j] - inCompany - 1
		for _, v := range c.ix.short.row(c.nodes[c.base+int(j)]) {
			if other := int(c.place[v]) - 1 - c.base; other >= 0 && c.alone[other] > inCompany {
				to := c.alone[other] - inCompany - 1
				rows[at&63] |= 1 << (to & 63)
				rows[to&63] |= 1 << (at & 63)
			}
		}
	}
}
