package field

import (
	"math/bits"
	"slices"
)

// rankBefore ranks the nodes before the last level by level and their colours
// after one round.
func (c *arcCut) rankBefore(z *Normalizer) {
	var keys [maxWords][]uint32
	var order [maxWords]int
	c.memory = c.memory[:0]
	for i := range c.base {
		order[i] = i
		begin := len(c.memory)
		c.memory = c.appendColor(c.memory, &c.around[i+1], c.down[i])
		keys[i] = c.memory[begin:len(c.memory):len(c.memory)]
	}
	compare := func(a, b int) int {
		if z.dist[a] != z.dist[b] {
			return int(z.dist[a]) - int(z.dist[b])
		}
		return slices.Compare(keys[a], keys[b])
	}
	slices.SortFunc(order[:c.base], compare)
	for x, i := range order[:c.base] {
		c.rank[i] = uint32(x)
		if x > 0 && compare(order[x-1], i) == 0 {
			c.rank[i] = c.rank[order[x-1]]
		}
	}
}

// secondRound tells tied nodes apart by the lists of the colours of their
// neighbours before the last level.
func (c *arcCut) secondRound() bool {
	return c.byLists(func(j int32, list []uint32) ([]uint32, bool) {
		for code, nodes := range c.last(j) {
			for m := nodes; m != 0; m &= m - 1 {
				list = append(list, c.rank[bits.TrailingZeros64(m)]<<1|uint32(code))
			}
		}
		return list, true
	})
}

// secondRoundAside tells tied nodes apart by the colours of their neighbours in
// the last level. It gives up on nodes with too much to read.
func (c *arcCut) secondRoundAside(z *Normalizer) bool {
	rows := func(j int32, do func(code int, other int32) bool) bool {
		u := z.hood[c.base+int(j)]
		for code, row := range [...][]int32{z.ix.in(u), z.ix.g.Adj(u)} {
			if c.steps -= len(row); c.steps < 0 {
				return false
			}
			for _, v := range row {
				if at := z.local.place[v] - 1 - int32(c.base); at >= 0 && !do(code, at) {
					return false
				}
			}
		}
		return true
	}
	// The colours of all nodes that the tied ones have beside them.
	c.beside, c.colors = c.beside[:0], c.colors[:0]
	c.at = resize(c.at, len(c.key))
	clear(c.at)
	for _, j := range c.tied {
		ok := rows(j, func(_ int, other int32) bool {
			if c.at[other] > 0 {
				return true
			}
			side, ok := c.aside(z, other)
			c.colors = c.appendColor(c.colors, c.last(other), side)
			c.beside = append(c.beside, other)
			c.at[other] = int32(len(c.beside))
			return ok
		})
		if !ok {
			return false
		}
	}
	width := 2*len(c.levels) + 2
	compare := func(a, b int32) int {
		x, y := int(c.at[a]-1)*width, int(c.at[b]-1)*width
		return slices.Compare(c.colors[x:x+width], c.colors[y:y+width])
	}
	slices.SortFunc(c.beside, compare)
	c.ranks = resize(c.ranks, len(c.beside))
	for x, v := range c.beside {
		c.ranks[c.at[v]-1] = uint32(x)
		if x > 0 && compare(c.beside[x-1], v) == 0 {
			c.ranks[c.at[v]-1] = c.ranks[c.at[c.beside[x-1]]-1]
		}
	}
	return c.byLists(func(j int32, list []uint32) ([]uint32, bool) {
		ok := rows(j, func(code int, other int32) bool {
			list = append(list, c.ranks[c.at[other]-1]<<1|uint32(code))
			return true
		})
		return list, ok
	})
}

// appendColor appends what ranks the colour of a node after one round: its
// numbers of arcs from and to each of the levels before the last, and the last.
func (c *arcCut) appendColor(to []uint32, around *[2]uint64, side [2]uint32) []uint32 {
	begin, left := len(to), side[0]+side[1]
	for _, level := range c.levels {
		for _, nodes := range around {
			n := uint32(bits.OnesCount64(nodes & level))
			to = append(to, n)
			left += n
		}
	}
	to = append(to, side[:]...)
	for i, n := range to[begin:] {
		left -= n
		to[begin+i] = listKey(n, left == 0)
	}
	return to
}

// byLists tells tied nodes apart by lists of equal length, the smaller first.
func (c *arcCut) byLists(list func(j int32, to []uint32) ([]uint32, bool)) bool {
	c.lists, c.memory = c.lists[:0], c.memory[:0]
	for _, j := range c.tied {
		begin, ok := len(c.memory), false
		if c.memory, ok = list(j, c.memory); !ok {
			return false
		}
		own := c.memory[begin:len(c.memory):len(c.memory)]
		slices.Sort(own)
		c.lists = append(c.lists, own)
	}
	order := c.beside[:0]
	for i := range c.tied {
		order = append(order, int32(i))
	}
	c.beside = order
	slices.SortFunc(order, func(a, b int32) int { return slices.Compare(c.lists[a], c.lists[b]) })
	rank := uint32(0)
	for x, i := range order {
		if x > 0 && !slices.Equal(c.lists[order[x-1]], c.lists[i]) {
			rank++
		}
		c.key[c.tied[i]] = rank
	}
	return c.narrow()
}
