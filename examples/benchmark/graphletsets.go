package main

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// lister lists connected sets of nodes, each once, by algorithm ESU (Wernicke 2006): a set grows from its smallest node.
// A node is added only if its number is larger and if it is no neighbour of the nodes that were in the set before
// the node whose neighbour it is.
type lister struct {
	in   count.Input
	size int
	left int // sets that may still be listed; negative: any number
	// found is called with sets that share all nodes but one of last.
	found func(nodes, last []int32)

	nodes     []int32
	extension []int32
	marked    []bool // nodes in the set, adjacent to it, or with a number below the first node
	met       int
	stopped   bool
	err       error
}

// run lists the sets. It reports false if there are more than left.
func (l *lister) run() (done bool, err error) {
	n := l.in.Graph.N()
	if len(l.marked) < n {
		l.marked = make([]bool, n)
	}
	for v := int32(0); int(v) < n && !l.stopped; v++ {
		l.marked[v] = true // nodes below v stay marked
		l.nodes, l.extension = append(l.nodes[:0], v), l.extension[:0]
		l.join(v)
		near := len(l.extension)
		l.extend(0)
		for _, u := range l.extension[:near] {
			l.marked[u] = false
		}
	}
	clear(l.marked[:n])
	return !l.stopped, l.err
}

// join adds to the extension the neighbours of w that are not marked.
func (l *lister) join(w int32) {
	for _, u := range l.in.Graph.Adj(w) {
		if !l.marked[u] {
			l.marked[u] = true
			l.extension = append(l.extension, u)
		}
	}
}

// extend adds each of the nodes in l.extension[from:] to the set in turn. A node is not used again after
// its turn.
func (l *lister) extend(from int) {
	end := len(l.extension)
	if len(l.nodes)+1 == l.size {
		l.complete(l.extension[from:end])
		return
	}
	for i := from; i < end && !l.stopped; i++ {
		w := l.extension[i]
		l.nodes = append(l.nodes, w)
		// The next call reads the rest of the extension and the new neighbours of w as one slice.
		begin := len(l.extension)
		l.extension = append(l.extension, l.extension[i+1:end]...)
		fresh := len(l.extension)
		l.join(w)
		l.extend(begin)
		for _, u := range l.extension[fresh:] {
			l.marked[u] = false
		}
		l.extension = l.extension[:begin]
		l.nodes = l.nodes[:len(l.nodes)-1]
	}
}

// complete calls found for l.nodes with one node of last.
func (l *lister) complete(last []int32) {
	if l.left >= 0 {
		if l.left -= len(last); l.left < 0 {
			l.stopped = true
			return
		}
	}
	if l.met += 1 + len(last)/64; l.met >= 4096 {
		if l.met = 0; l.in.Err() != nil {
			l.stopped, l.err = true, l.in.Err()
			return
		}
	}
	l.found(l.nodes, last)
}

// drawer draws random connected sets of nodes.
type drawer struct {
	edges []graph.Edge // of the graph, each once
	nodes []int32
	prob  [1 << maxGraphlet]float64
	rows  [maxGraphlet]uint64
	cut   [1 << maxGraphlet]int
}

// connected draws connected sets. A set begins with a random edge, and grows by a random edge out of the
// set until it has size nodes. A set without such an edge is dropped. This keeps the estimate unbiased:
// the set was drawn, and contains no graphlet.
func (d *drawer) connected(in count.Input, c *graphletCounter, rng *rand.Rand, bag *count.Bag) error {
	g := in.Graph
	d.list(g)
	for i := range c.samples {
		if i%256 == 0 && in.Err() != nil {
			return in.Err()
		}
		if d.grow(g, c, rng) {
			bag.Add(c.forms.of(d.nodes), 1/(d.probability(g, c.forms.near)*float64(c.samples)))
		}
	}
	return nil
}

// list sets the edges of a graph.
func (d *drawer) list(g *graph.Graph) {
	d.edges = d.edges[:0]
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			if v < u {
				d.edges = append(d.edges, graph.Edge{U: v, V: u})
			}
		}
	}
}

// grow draws a connected set. It reports false where the component has too few nodes.
func (d *drawer) grow(g *graph.Graph, c *graphletCounter, rng *rand.Rand) bool {
	e := d.edges[rng.IntN(len(d.edges))]
	d.nodes = append(d.nodes[:0], e.U, e.V)
	for len(d.nodes) < c.size {
		v, ok := d.step(g, c.forms.near, rng)
		if !ok {
			return false
		}
		d.nodes = append(d.nodes, v)
	}
	return true
}

// exchange replaces a random node of the set, if the new set is connected.
func (d *drawer) exchange(g *graph.Graph, c *graphletCounter, rng *rand.Rand) {
	at := rng.IntN(len(d.nodes))
	old := d.nodes[at]
	d.nodes = slices.Delete(d.nodes, at, at+1)
	v, ok := d.step(g, c.forms.near, rng)
	if !ok {
		v = old
	}
	d.nodes = append(d.nodes, v)
	if v != old && !d.joined(c.forms.near) {
		d.nodes[len(d.nodes)-1] = old
	}
}

// joined reports whether the set is connected.
func (d *drawer) joined(near *nearness) bool {
	met, next := uint(1), uint(1)
	for next != 0 {
		i := bits.TrailingZeros(next)
		next &= next - 1
		for j, u := range d.nodes {
			if met>>j&1 == 0 && near.adjacent(d.nodes[i], u) {
				met |= 1 << j
				next |= 1 << j
			}
		}
	}
	return met == 1<<len(d.nodes)-1
}

// step draws a random edge out of the set and returns its other end.
func (d *drawer) step(g *graph.Graph, near *nearness, rng *rand.Rand) (int32, bool) {
	entries, inside := 0, 0
	for i, v := range d.nodes {
		entries += g.Degree(v)
		for _, u := range d.nodes[:i] {
			if near.adjacent(u, v) {
				inside += 2
			}
		}
	}
	if entries == inside {
		return 0, false
	}
	for {
		at := rng.IntN(entries)
		for _, v := range d.nodes {
			if at >= g.Degree(v) {
				at -= g.Degree(v)
				continue
			}
			if u := g.Adj(v)[at]; !slices.Contains(d.nodes, u) {
				return u, true
			}
			break
		}
	}
}

// probability returns the probability of drawing the current set, summed over all orders of its nodes. An edge has the
// probability 1/m. The probability of a larger set is a sum over its nodes: the probability of the set without the
// node, times the share of the edges out of that set which end at the node. O(2ˢⁱᶻᵉ · size).
func (d *drawer) probability(g *graph.Graph, near *nearness) float64 {
	n := len(d.nodes)
	for i, v := range d.nodes {
		d.rows[i] = 0
		for j, u := range d.nodes {
			if i != j && near.adjacent(v, u) {
				d.rows[i] |= 1 << j
			}
		}
	}
	d.prob[0], d.cut[0] = 0, 0
	for set := 1; set < 1<<n; set++ {
		low := bits.TrailingZeros(uint(set))
		rest := set & (set - 1)
		d.cut[set] = d.cut[rest] + g.Degree(d.nodes[low]) - 2*bits.OnesCount64(d.rows[low]&uint64(rest))
		d.prob[set] = 0
		switch bits.OnesCount(uint(set)) {
		case 1:
			continue
		case 2:
			if d.rows[low]&uint64(rest) != 0 {
				d.prob[set] = 1 / float64(len(d.edges))
			}
			continue
		}
		for m := set; m != 0; m &= m - 1 {
			i := bits.TrailingZeros(uint(m))
			others := set &^ (1 << i)
			if p := d.prob[others]; p > 0 {
				d.prob[set] += p * float64(bits.OnesCount64(d.rows[i]&uint64(others))) / float64(d.cut[others])
			}
		}
	}
	return d.prob[1<<n-1]
}
