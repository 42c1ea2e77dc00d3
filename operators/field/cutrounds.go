package field

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// listAside lists the neighbours of the tied nodes in the last level. It returns false if the
// budget of steps does not suffice.
func (c *cut) listAside() bool {
	m := len(c.alone)
	all := 0
	for _, j := range c.tied {
		all += c.ix.adj.degree(c.nodes[c.base+int(j)])
	}
	// Memory is allocated once, since the lists of a dense last level would be copied at each growth.
	c.lists, c.from = slices.Grow(c.lists[:0], min(all, c.steps, m*len(c.tied))), scratch.Resize(c.from, m)
	for j := range c.from {
		c.from[j] = -1
	}
	for _, j := range c.tied {
		if !c.aside(j) {
			return false
		}
	}
	return true
}

// aside counts the arcs of node j from and to the last level. It appends the nodes at their other
// ends to c.lists, each once, with the code of the arc.
func (c *cut) aside(j int32) bool {
	if c.from[j] >= 0 {
		return true
	}
	u, base := c.nodes[c.base+int(j)], int32(c.base)
	c.from[j] = int32(len(c.lists))
	for code := range c.codes {
		row, begin := c.row(u, code), len(c.lists)
		if c.steps -= len(row); c.steps < 0 {
			return false
		}
		for _, v := range row {
			if at := c.place[v] - 1 - base; at >= 0 {
				c.lists = append(c.lists, at<<1|int32(code))
			}
		}
		c.side[code][j] = uint32(len(c.lists) - begin)
	}
	return true
}

// sideOf returns the numbers of arcs of node j from the last level, and to it.
func (c *cut) sideOf(j int32) (side [2]uint32) {
	for code := range c.codes {
		side[code] = c.side[code][j]
	}
	return side
}

// listOf returns the neighbours of node j in the last level, with their codes. aside has listed
// them.
func (c *cut) listOf(j int32) []int32 {
	n := int32(c.side[0][j])
	if c.codes == 2 {
		n += int32(c.side[1][j])
	}
	return c.lists[c.from[j]:][:n]
}

// listKey returns the rank of a list among lists that are equal so far, by its number of entries of
// one kind. More entries make a smaller list, but a list that ends is smaller than one that
// continues.
func listKey(count uint32, ends bool) uint32 {
	if ends {
		return count
	}
	return math.MaxUint32 - count
}

// firstRoundAside separates tied nodes by their arcs from and to the last level.
func (c *cut) firstRoundAside() bool {
	for code := range c.codes {
		for _, j := range c.tied {
			c.key[j] = listKey(c.side[code][j], code == c.codes-1 || c.side[1][j] == 0)
		}
		if c.narrow() {
			return true
		}
	}
	return false
}

// rankBefore ranks the nodes of the levels first and later, before the last one, by level and by
// colour after one round.
func (c *cut) rankBefore(first int) {
	if c.ranked <= first {
		return
	}
	c.ranked = first
	var order [maxWords]uint8
	var colors [maxWords]color
	next := uint8(0)
	for l, level := range c.levels[first:] {
		n := 0
		for m := level; m != 0; m &= m - 1 {
			i := uint8(bits.TrailingZeros64(m)) & 63
			if level&(level-1) != 0 {
				colors[i] = c.color(first+l, int(i)+1, c.down[i])
			}
			at := n
			for ; at > 0 && colors[i].less(&colors[order[at-1]&63]); at-- {
				order[at] = order[at-1]
			}
			order[at] = i
			n++
		}
		for x, i := range order[:n] {
			c.rank[i&63] = next + uint8(x)
			if x > 0 && colors[order[x-1]&63] == colors[i&63] {
				c.rank[i&63] = c.rank[order[x-1]&63]
			}
		}
		next += uint8(n)
	}
}

// color orders the nodes of a level as their colours after one round do. before has the numbers of
// arcs from and to the adjacent levels, last those from and to the last level.
type color struct{ before, last uint64 }

func (a *color) less(b *color) bool {
	return a.before < b.before || a.before == b.before && a.last < b.last
}

// colorCounts is the number of counts that fit color.before.
const colorCounts = 8

// color returns the colour of the node of level l at a place.
func (c *cut) color(l, at int, side [2]uint32) (x color) {
	low, high := max(0, l-1), min(l+2, len(c.levels))
	if c.codes == 2 && c.ix.dir != Both {
		low, high = 0, len(c.levels)
	}
	left := 0
	for code, n := range side[:c.codes] {
		left += int(n) + bits.OnesCount64(c.around[code][at])
	}
	for _, level := range c.levels[low:high] {
		for code := range c.codes {
			n := bits.OnesCount64(c.around[code][at] & level)
			left -= n
			x.before = x.before<<8 | uint64(uint8(listKey(uint32(n), left == 0)))
		}
	}
	for _, n := range side[:c.codes] {
		left -= int(n)
		x.last = x.last<<32 | uint64(listKey(n, left == 0))
	}
	return x
}

// secondRound separates tied nodes by the lists of their neighbours' colours before the last level,
// four entries at a time.
func (c *cut) secondRound() bool {
	if c.same() {
		return false
	}
	c.rankBefore(c.first)
	b := c.before(c.tied[0])
	for done := 0; done < bits.OnesCount64(b[0])+bits.OnesCount64(b[1]); done += 4 {
		for _, j := range c.tied {
			c.key[j] = c.fourOf(c.before(j), done)
		}
		if c.narrow() {
			return true
		}
	}
	return false
}

// fourOf packs the entries from to from+3 of a list into a word, the first in the high byte, 0 behind the
// end. The list has rank<<1 | code for each node of before[code], ascending.
func (c *cut) fourOf(before [2]uint64, from int) uint32 {
	if before[0]&(before[0]-1)|before[1] == 0 { // a single node
		return uint32(c.rank[bits.TrailingZeros64(before[0])&63]) << 25
	}
	var list [2 * maxWords]uint8
	n := 0
	for code, nodes := range before {
		for ; nodes != 0; nodes &= nodes - 1 {
			x := c.rank[bits.TrailingZeros64(nodes)&63]<<1 | uint8(code)
			at := n
			for ; at > 0 && list[at-1] > x; at-- {
				list[at] = list[at-1]
			}
			list[at] = x
			n++
		}
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

// secondRoundAside separates tied nodes by the colours of their neighbours in the last level. It
// returns false if the budget of steps does not suffice.
func (c *cut) secondRoundAside() bool {
	m := len(c.alone)
	c.at, c.ranks = scratch.Resize(c.at, m), scratch.Resize(c.ranks, m)
	clear(c.at)
	c.beside, c.colors = c.beside[:0], c.colors[:0]
	for _, j := range c.tied {
		for _, x := range c.listOf(j) {
			if v := x >> 1; c.at[v] == 0 {
				if !c.counted && !c.aside(v) {
					return false
				}
				c.beside = append(c.beside, v)
				c.at[v] = len(c.beside)
				c.colors = append(c.colors, c.color(len(c.levels), c.base+1+int(v), c.sideOf(v)))
			}
		}
	}
	color := func(v int32) color { return c.colors[c.at[v]-1] }
	slices.SortFunc(c.beside, func(a, b int32) int {
		x, y := color(a), color(b)
		return cmp.Or(cmp.Compare(x.before, y.before), cmp.Compare(x.last, y.last))
	})
	for x, v := range c.beside {
		c.ranks[v] = int32(x)
		if x > 0 && color(c.beside[x-1]) == color(v) {
			c.ranks[v] = c.ranks[c.beside[x-1]]
		}
	}
	// All tied nodes have lists of one length.
	c.sorted = c.sorted[:0]
	for _, j := range c.tied {
		begin := len(c.sorted)
		c.at[j] = begin
		for _, x := range c.listOf(j) {
			c.sorted = append(c.sorted, c.ranks[x>>1]<<1|x&1)
		}
		slices.Sort(c.sorted[begin:])
	}
	for i := range c.listOf(c.tied[0]) {
		for _, j := range c.tied {
			c.key[j] = uint32(c.sorted[c.at[j]+i])
		}
		if c.narrow() {
			return true
		}
	}
	return false
}

// twins takes the tied nodes with the smallest numbers if the tied nodes are interchangeable and
// have equal attributes. No further round would separate them.
func (c *cut) twins() bool {
	side := !c.isAlone(c.tied[0])
	if !c.same() || c.types && !c.sameTypes(side) || side && !c.sameAside() {
		return false
	}
	c.taken, c.need = append(c.taken, c.tied[:c.need]...), 0
	c.by = bySearch
	return true
}

// same reports whether all tied nodes have the same neighbours before the last level.
func (c *cut) same() bool {
	first := c.before(c.tied[0])
	for _, j := range c.tied[1:] {
		if c.before(j) != first {
			return false
		}
	}
	return true
}

// sameAside reports whether the tied nodes have the same neighbours in the last level or, in an
// undirected graph, the same apart from each other.
func (c *cut) sameAside() bool {
	first := c.tied[0]
	open, closed := true, c.codes == 1
	for _, j := range c.tied[1:] {
		open = open && slices.Equal(c.listOf(first), c.listOf(j))
		closed = closed && slices.Contains(c.listOf(j), first<<1) && equalBut(c.listOf(first), c.listOf(j), j<<1, first<<1)
	}
	return open || closed
}

// sameTypes reports whether the tied nodes have equal attributes and equal arcs from and to each
// node before the last level. It returns false if there are arcs inside the last level, whose types
// it does not compare.
func (c *cut) sameTypes(side bool) bool {
	g := c.ix.g
	at := func(j int32) int32 { return c.nodes[c.base+int(j)] }
	first := at(c.tied[0])
	for _, j := range c.tied[1:] {
		if refine.CompareNodes(g, first, at(j)) != 0 {
			return false
		}
	}
	if g.EdgeCats+g.EdgeAttrs == 0 {
		return true
	}
	for code, nodes := range c.before(c.tied[0]) {
		for m := nodes; m != 0; m &= m - 1 {
			before := c.nodes[bits.TrailingZeros64(m)]
			entry := func(u int32) int32 {
				if c.codes == 2 && code == 0 {
					return c.ix.adj.find(before, u)
				}
				return c.ix.adj.find(u, before)
			}
			for _, j := range c.tied[1:] {
				if refine.CompareEdges(g, entry(first), entry(at(j))) != 0 {
					return false
				}
			}
		}
	}
	return !side
}

// equalBut reports whether a without x equals b without y. Both ascend.
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
