package coloring

import "github.com/sanflow/sanflow/internal/pool"

// transpose makes the rows of the arcs that arrive. It reports false if it was
// stopped; a panic, of rows that are damaged, is an error.
func (c *Coloring) transpose(off, nbr []int32) (done bool, err error) {
	err = pool.Do(func() { done = c.arriving(off, nbr) })
	return done, err
}

func (c *Coloring) arriving(off, nbr []int32) bool {
	n := len(off) - 1
	c.inOff, c.in = make([]int32, n+1), make([]int32, len(nbr))
	const some = 1 << 20
	for i := 0; i < len(nbr); i += some {
		if c.stopped() {
			return false
		}
		for _, v := range nbr[i:min(len(nbr), i+some)] {
			c.inOff[v]++
		}
	}
	// inOff is where a row ends, and then, as it is filled from there, where it begins.
	for v := range n {
		c.inOff[v+1] += c.inOff[v]
	}
	steps := 0
	for u := int32(n) - 1; u >= 0; u-- {
		row := nbr[off[u]:off[u+1]]
		if steps += len(row) + 1; steps > some {
			if steps = 0; c.stopped() {
				return false
			}
		}
		for _, v := range row {
			c.inOff[v]--
			c.in[c.inOff[v]] = u
		}
	}
	return true
}

// byDegrees is the first round of a directed graph, in which the list of a node is a 0
// for each arc that arrives and a 1 for each that leaves. So nodes that no arc leaves
// come first, those with fewer arcs that arrive before others; then the rest, those
// with more arcs that arrive first, and of these the ones with fewer that leave.
func (c *Coloring) byDegrees() {
	n := int32(len(c.cell))
	if n == 0 {
		return
	}
	c.cells, c.size[0] = 1, n
	out := func(v int32) int32 { return c.off[v+1] - c.off[v] }
	most := int32(0)
	for v := range n {
		most = max(most, c.inOff[v+1]-c.inOff[v])
	}
	// Twice as many values as there are numbers of arcs would not fit.
	in := func(v int32) int64 {
		if d := int64(c.inOff[v+1] - c.inOff[v]); out(v) == 0 {
			return d
		} else {
			return 2*int64(most) + 1 - d
		}
	}
	from := make([]int32, n)
	for v := range from {
		from[v] = int32(v)
	}
	sortBy(from, c.pos, func(v int32) int64 { return int64(out(v)) })
	sortBy(c.pos, c.elems, in)
	bounds := []int32{0}
	for i, v := range c.elems {
		if c.pos[v] = int32(i); i > 0 {
			if w := c.elems[i-1]; out(v) != out(w) || in(v) != in(w) {
				bounds = append(bounds, int32(i))
			}
		}
	}
	c.hit = append(c.hit[:0], hitCell{bounds: append(bounds, n)})
	c.rename()
}

// sortBy writes the nodes of from to to, ascending by key and otherwise in their order.
func sortBy(from, to []int32, key func(v int32) int64) {
	most := int64(0)
	for _, v := range from {
		most = max(most, key(v))
	}
	next := make([]int32, most+2)
	for _, v := range from {
		next[key(v)+1]++
	}
	for k := range most {
		next[k+1] += next[k]
	}
	for _, v := range from {
		k := key(v)
		to[next[k]] = v
		next[k]++
	}
}
