package count

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// drawer draws graphlets.
type drawer struct {
	edges []graph.Edge // of a graph, each once
	nodes []int32
	prob  [1 << maxGraphlet]float64
	rows  [maxGraphlet]uint64
	cut   [1 << maxGraphlet]int
}

// sets draws sets of nodes, all with equal chances.
func (d *drawer) sets(in Input, c *graphletCounter, rng *rand.Rand, bag *Bag) error {
	n := in.Graph.N()
	weight := binomial(n, c.size) / float64(c.most)
	for i := range c.most {
		if i%1024 == 0 && in.Err() != nil {
			return in.Err()
		}
		d.nodes = d.nodes[:0]
		d.set(n, c.size, rng)
		bag.Add(c.forms.of(d.nodes), weight)
	}
	return nil
}

// set completes a set of nodes to that size, by equal chances.
func (d *drawer) set(n, size int, rng *rand.Rand) {
	d.nodes = d.nodes[:min(len(d.nodes), size)]
	for len(d.nodes) < size {
		if v := rng.Int32N(int32(n)); !slices.Contains(d.nodes, v) {
			d.nodes = append(d.nodes, v)
		}
	}
}

// connected draws connected sets: an edge with equal chances, then again and again
// one of the edges that lead out of the set, with equal chances, until there are
// enough nodes. A set that has no such edge is given up, which keeps the mean
// right, since it was drawn and is of no graphlet.
func (d *drawer) connected(in Input, g *graph.Graph, c *graphletCounter, rng *rand.Rand, bag *Bag) error {
	d.list(g)
	for i := range c.most {
		if i%256 == 0 && in.Err() != nil {
			return in.Err()
		}
		if d.grow(g, c, rng) {
			bag.Add(c.forms.of(d.nodes), 1/(d.probability(g, c.forms.near)*float64(c.most)))
		}
	}
	return nil
}

// list lists the edges of a graph.
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

// grow draws one connected set, or reports that there are too few nodes around.
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

// exchange puts another node in the place of one, if what comes of it is connected
// where it has to be.
func (d *drawer) exchange(g *graph.Graph, c *graphletCounter, rng *rand.Rand) {
	at := rng.IntN(len(d.nodes))
	old := d.nodes[at]
	d.nodes = slices.Delete(d.nodes, at, at+1)
	if c.All {
		d.set(g.N(), c.size, rng)
		return
	}
	v, ok := d.step(g, c.forms.near, rng)
	if !ok {
		v = old
	}
	d.nodes = append(d.nodes, v)
	if v != old && !d.joined(c.forms.near) {
		d.nodes[len(d.nodes)-1] = old
	}
}

// joined reports whether the set in hand is connected.
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

// step draws an edge out of the set and returns its other end.
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
			u := g.Adj(v)[at]
			for _, w := range d.nodes {
				if w == u {
					at = -1
				}
			}
			if at >= 0 {
				return u, true
			}
			break
		}
	}
}

// probability returns that of drawing the set in hand, in whatever order: that of
// its pairs is 1/m for an edge, and that of a larger set is the sum, over its nodes
// as the last one, of the probability of the others times the part of the edges
// that lead out of these which lead to it. O(2ˢⁱᶻᵉ · size).
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
