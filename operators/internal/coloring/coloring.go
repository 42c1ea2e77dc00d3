// Package coloring refines the colours of one large graph on several goroutines: the
// same cells in the same order as package refine gives, in less memory.
package coloring

import (
	"slices"
	"sort"
	"sync/atomic"

	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/operators/internal/scatter"
)

// Coloring is Number of refine.Refiner for one large graph, from one colour, on several
// goroutines: the same cells in the same order, O((n + m) log n).
//
// A cell that splits leaves its name to the largest fragment. Each node carries
// the change of a sum, over its neighbours, of a hash of the names of their
// cells: only nodes beside those that got a new name have one that is not 0, and
// nodes of a cell stay together if the change is the same. Which fragment comes
// first is decided by the lists of one node of each, so that no list is sorted
// of nodes that do not part. Nodes are taken to be alike where 128 bits of hash
// agree.
//
// Of a directed graph the rows of the arcs that arrive are made beside those that
// leave; both sides of an arc tell each other of new names, by hashes of the name and
// the side.
//
// 42 bytes a node, and lists of the nodes that stand for fragments; for directed
// graphs also 4 bytes a node and an arc.
type Coloring struct {
	Workers int                   // 1 or more; they do not change the result
	Rounds  int                   // as in Number
	Stop    func() bool           // ends the work early, if not nil
	Told    func(done, total int) // is told how many nodes have a colour of their own, if not nil

	Directed bool // the rows are the heads of arcs

	off, nbr   []int32
	inOff, in  []int32 // where Directed: the tails of the arcs that arrive
	elems, pos []int32
	cell       []int32 // by node: the name of its cell
	first      []int32 // by name
	size       []int32 // by name
	cells      int32
	single     []uint64 // nodes that are a cell
	met        []uint64 // nodes in dirty
	delta      [][2]uint64
	dirty      [][]int32 // by worker: nodes of its range beside a change
	ranges     []int32   // where the range of each worker begins
	changed    []renamed
	hit        []hitCell // cells with dirty nodes, in no order
	at         []int32   // by name: 1 + its place in hit
	alone      int
	next       atomic.Int64 // in hit, for the workers to take
}

// renamed are nodes that got a new name for their cell.
type renamed struct{ begin, end, old, new int32 }

// hitCell is a cell whose first nodes are dirty; bounds is where its fragments
// begin, and the end.
type hitCell struct {
	cell, dirty int32
	bounds      []int32
}

// Number writes the colour of each node of rows without codes, the number of nodes of
// smaller colour, to colors. It reports false if it was stopped. A panic, of rows that
// are damaged, is an error.
func (c *Coloring) Number(off, nbr, colors []int32) (bool, error) {
	if c.Directed {
		if done, err := c.transpose(off, nbr); !done || err != nil {
			return false, err
		}
	}
	c.begin(off, nbr)
	if c.Directed {
		c.byDegrees()
	} else {
		c.byDegree()
	}
	for round := 1; round != c.Rounds && len(c.changed) > 0; round++ {
		if c.Told != nil {
			c.Told(c.alone, len(colors))
		}
		if c.stopped() {
			return false, nil
		}
		for _, step := range []func(int){c.push, nil, c.split} {
			if step == nil {
				c.collect()
				continue
			}
			if err := c.together(step); err != nil {
				return false, err
			}
			if c.stopped() {
				return false, nil
			}
		}
		c.rename()
	}
	for v, x := range c.cell {
		colors[v] = c.first[x]
	}
	if c.Told != nil {
		c.Told(len(colors), len(colors))
	}
	return true, nil
}

func (c *Coloring) stopped() bool { return c.Stop != nil && c.Stop() }

func (c *Coloring) begin(off, nbr []int32) {
	n := len(off) - 1
	c.off, c.nbr = off, nbr
	c.elems, c.pos, c.cell = make([]int32, n), make([]int32, n), make([]int32, n)
	c.first, c.size, c.at = make([]int32, n+1), make([]int32, n+1), make([]int32, n+1)
	c.single, c.met = make([]uint64, n/64+1), make([]uint64, n/64+1)
	c.delta = make([][2]uint64, n)
	c.dirty = make([][]int32, c.Workers)
	// Ranges of as many entries, and of whole words of the sets.
	entries := func(v int) int64 {
		if c.Directed {
			return int64(off[v]) + int64(c.inOff[v])
		}
		return int64(off[v])
	}
	for w := range c.Workers {
		v := sort.Search(n, func(v int) bool { return entries(v) >= entries(n)*int64(w)/int64(c.Workers) })
		c.ranges = append(c.ranges, int32(v)&^63)
	}
	c.ranges = append(c.ranges, int32(n))
}

// byDegree is the first round.
func (c *Coloring) byDegree() {
	n := len(c.cell)
	c.cells = 1
	c.size[0] = int32(n)
	most := int32(0)
	for v := range n {
		most = max(most, c.off[v+1]-c.off[v])
	}
	begin := make([]int32, most+2)
	for v := range n {
		begin[c.off[v+1]-c.off[v]+1]++
	}
	bounds := []int32{0}
	for d, count := range begin[1:] {
		if count > 0 {
			bounds = append(bounds, bounds[len(bounds)-1]+count)
		}
		begin[d+1] += begin[d]
	}
	for v := range int32(n) {
		d := c.off[v+1] - c.off[v]
		c.elems[begin[d]], c.pos[v] = v, begin[d]
		begin[d]++
	}
	if n > 0 {
		c.hit = append(c.hit[:0], hitCell{bounds: bounds})
		c.rename()
	}
}

// rename gives names to the fragments of all cells that split, but for the
// largest of each, and empties hit.
func (c *Coloring) rename() {
	c.changed = c.changed[:0]
	for _, h := range c.hit {
		c.at[h.cell] = 0
		keep := 1
		for i := 2; i < len(h.bounds); i++ {
			if h.bounds[i]-h.bounds[i-1] > h.bounds[keep]-h.bounds[keep-1] {
				keep = i
			}
		}
		for i := 1; i < len(h.bounds); i++ {
			begin, end, name := h.bounds[i-1], h.bounds[i], h.cell
			if i != keep {
				name = c.cells
				c.cells++
				c.changed = append(c.changed, renamed{begin, end, h.cell, name})
				for _, v := range c.elems[begin:end] {
					c.cell[v] = name
				}
			}
			c.first[name], c.size[name] = begin, end-begin
			if end-begin == 1 {
				v := c.elems[begin]
				c.single[v>>6] |= 1 << (v & 63)
				c.alone++
			}
		}
	}
	c.hit = c.hit[:0]
}

// The sides of an arc by which a node tells its neighbours of its name: they see it at
// the tail of an arc that arrives, or at the head of one that leaves.
const atTail, atHead = 0, 1

// hashOf returns the hash of the name of a cell on a side of an arc.
func hashOf(name int32, side uint64) [2]uint64 {
	x := uint64(name) | side<<32
	return [2]uint64{scatter.Bits(x), scatter.Bits(^x)}
}

// push tells the neighbours of renamed nodes in the range of a worker, but for
// those that are a cell already.
func (c *Coloring) push(worker int) {
	c.dirty[worker] = c.dirty[worker][:0]
	c.pushSide(worker, c.off, c.nbr, atTail)
	if c.Directed && !c.stopped() {
		c.pushSide(worker, c.inOff, c.in, atHead)
	}
}

// pushSide tells those that see the renamed nodes on a side of an arc.
func (c *Coloring) pushSide(worker int, off, nbr []int32, side uint64) {
	low, high := c.ranges[worker], c.ranges[worker+1]
	dirty, steps := c.dirty[worker], 0
	for _, r := range c.changed {
		was, is := hashOf(r.old, side), hashOf(r.new, side)
		d := [2]uint64{is[0] - was[0], is[1] - was[1]}
		for _, u := range c.elems[r.begin:r.end] {
			row := nbr[off[u]:off[u+1]]
			if c.Workers > 1 {
				from, _ := slices.BinarySearch(row, low)
				to, _ := slices.BinarySearch(row, high)
				row = row[from:to]
			}
			for _, v := range row {
				word, bit := v>>6, uint64(1)<<(v&63)
				if c.single[word]&bit != 0 {
					continue
				}
				if c.met[word]&bit == 0 {
					c.met[word] |= bit
					dirty = append(dirty, v)
				}
				c.delta[v][0] += d[0]
				c.delta[v][1] += d[1]
			}
			if steps += len(row) + 16; steps > 1<<22 {
				if steps = 0; c.stopped() {
					return
				}
			}
		}
	}
	c.dirty[worker] = dirty
}

// collect moves the dirty nodes whose sum has changed to the front of their
// cells.
func (c *Coloring) collect() {
	for _, dirty := range c.dirty {
		for _, v := range dirty {
			c.met[v>>6] &^= 1 << (v & 63)
			if c.delta[v] == [2]uint64{} {
				continue
			}
			x := c.cell[v]
			if c.at[x] == 0 {
				c.hit = append(c.hit, hitCell{cell: x})
				c.at[x] = int32(len(c.hit))
			}
			h := &c.hit[c.at[x]-1]
			from, to := c.pos[v], c.first[x]+h.dirty
			w := c.elems[to]
			c.elems[from], c.elems[to] = w, v
			c.pos[w], c.pos[v] = from, to
			h.dirty++
		}
	}
}

// together runs a step on all workers, this goroutine among them.
func (c *Coloring) together(step func(worker int)) error {
	c.next.Store(0)
	if c.Workers == 1 {
		step(0)
		return nil
	}
	return pool.Together(c.Workers, step)
}
