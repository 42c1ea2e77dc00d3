package count

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Graphlets counts the induced subgraphs of Size nodes up to isomorphism, as the graphlet
// kernel does (Shervashidze et al., "Efficient graphlet kernels for large graph comparison",
// 2009). By default it counts connected graphlets; with All it counts every set of nodes, as in
// their first definition. Labels of nodes, types of edges and directions distinguish graphlets;
// Plain ignores these, as their kernel does. Graphs without labels have graphlets of structure
// alone. Arcs connect in both directions.
//
// Up to 5 nodes all graphlets are counted. Connected ones are listed one by one (Wernicke,
// "Efficient detection of network motifs", 2006), in time proportional to their number, at most
// nˢⁱᶻᵉ; without labels and directions the last node is counted and not listed, at most
// nˢⁱᶻᵉ⁻¹. Graphlets of 6 and 7 nodes, and smaller ones with Samples, are counted exactly in
// graphs with at most Samples of them, or 100 times as many if they are counted and not listed.
// Larger graphs are sampled: Samples sets with equal probability, or Samples connected
// graphlets grown along random edges, each weighted by 1 over its probability. The estimates
// are unbiased, need not be whole, and depend on node numbers and on Seed.
//
// Package canon finds the forms, and up to 6 MB of them are cached. A graph of n nodes takes
// n²/8 bytes, and none for n above 8192.
type Graphlets struct {
	// Size is the number of nodes, 3 to 7. 0 means 4; the PATCHY-SAN paper takes 7.
	Size int
	// All counts sets of nodes that are not connected too.
	All bool
	// Samples bounds the graphlets that are looked at in a graph. 0 is no bound for
	// sizes up to 5, and 2000 above.
	Samples int
	// Seed is the seed of the sample, which does not depend on the position of a graph in the
	// stream.
	Seed uint64
	// Plain leaves out all attributes and the direction of arcs.
	Plain bool
	// Bins lets continuous attributes take part. The default leaves them out.
	Bins Bins
}

// String returns "graphlets(size=5)" with all other settings that are not the default.
func (c Graphlets) String() string { return describe(c) }

// maxGraphlet is the largest number of nodes.
const maxGraphlet = 7

// Prepare implements Counter.
func (c Graphlets) Prepare() (Worker, error) {
	size, most := cmp.Or(c.Size, 4), c.Samples
	switch {
	case size < 3 || size > maxGraphlet:
		return nil, fmt.Errorf("Size is %d, want 3 to %d", size, maxGraphlet)
	case most < 0:
		return nil, fmt.Errorf("Samples is %d, want 0 or more", most)
	case most == 0 && size > 5:
		most = 2000
	}
	return &graphletCounter{Graphlets: c, size: size, most: most}, c.Bins.check()
}

type graphletCounter struct {
	Graphlets
	size, most int // nodes, and sets that are looked at, 0 for all

	forms forms
	near  nearness
	list  lister
	plain structures
	ids   map[uint64]uint64 // of structures, by their matrices
	draws drawer
	first Bag // what was counted before it became too much
}

// Count counts exactly where that is not too much, and draws otherwise.
func (c *graphletCounter) Count(in Input, bag *Bag) error {
	either, err := c.begin(in.Graph)
	if err != nil || either.N() < c.size {
		return err
	}
	done, err := c.exact(in, either, bag)
	if done || err != nil {
		return err
	}
	if c.All {
		return c.draws.sets(in, c, c.rng(either), bag)
	}
	return c.draws.connected(in, either, c, c.rng(either), bag)
}

// begin takes a graph in hand, and returns it with arcs taken either way.
func (c *graphletCounter) begin(g *graph.Graph) (either *graph.Graph, err error) {
	bins := c.Bins
	if c.Plain {
		bins = Bins{}
		if g, err = plain(g); err != nil {
			return nil, err
		}
	}
	if err := c.forms.reset(g, bins); err != nil {
		return nil, err
	}
	if g.Directed {
		if g, err = plain(g); err != nil {
			return nil, err
		}
	}
	c.near.reset(g)
	c.forms.near = &c.near
	return g, nil
}

// rng begins the random numbers of a graph.
func (c *graphletCounter) rng(g *graph.Graph) *rand.Rand {
	return rand.New(rand.NewPCG(c.Seed, uint64(g.N())<<32|uint64(len(g.Neighbors))))
}

// contextWalks and contextSteps are the contexts of one graph, and graphlets in
// each.
const (
	contextWalks = 32
	contextSteps = 16
)

// Contexts implements Contexter: graphlets that differ in one node stand together.
// Of each graph 32 graphlets are drawn, and from each a walk of 16 goes from one to
// the next.
func (c *graphletCounter) Contexts(in Input, emit func(ids []uint64)) error {
	either, err := c.begin(in.Graph)
	if err != nil || either.N() < c.size || len(either.Neighbors) == 0 && !c.All {
		return err
	}
	rng, ids := c.rng(either), make([]uint64, 0, contextSteps)
	c.draws.list(either)
	for range contextWalks {
		if err := in.Err(); err != nil {
			return err
		}
		if c.All {
			c.draws.nodes = c.draws.nodes[:0]
			c.draws.set(either.N(), c.size, rng)
		} else if !c.draws.grow(either, c, rng) {
			continue
		}
		ids = append(ids[:0], c.forms.of(c.draws.nodes))
		for len(ids) < contextSteps {
			c.draws.exchange(either, c, rng)
			ids = append(ids, c.forms.of(c.draws.nodes))
		}
		emit(ids)
	}
	return nil
}

// exact counts all graphlets, or reports that there are more than Samples, with
// nothing added to the bag.
func (c *graphletCounter) exact(in Input, either *graph.Graph, bag *Bag) (done bool, err error) {
	into, left := bag, -1
	if c.most > 0 {
		if c.All && binomial(either.N(), c.size) > float64(c.most) {
			return false, nil
		}
		c.first.Reset()
		into, left = &c.first, c.most
	}
	if !c.All && c.size <= maxStructure && c.near.words > 0 && !c.forms.g.Directed && !c.forms.labels.nodes && !c.forms.labels.edges {
		if left > 0 {
			left = min(left, math.MaxInt/100) * 100
		}
		return c.structures(in, bag, left)
	}
	c.list = lister{
		in: in, g: either, near: &c.near, size: c.size, all: c.All, left: left,
		nodes: c.list.nodes[:0], extension: c.list.extension[:0], marked: c.list.marked,
		found: func(nodes []int32) { into.Add(c.forms.of(nodes), 1) },
	}
	if done, err = c.list.run(); !done || err != nil || into == bag {
		return done, err
	}
	for _, e := range c.first.Entries() {
		bag.Add(e.ID, e.Count)
	}
	return true, nil
}

// structures is exact for graphs of which only the structure counts.
func (c *graphletCounter) structures(in Input, bag *Bag, left int) (done bool, err error) {
	c.plain.in, c.plain.near, c.plain.size, c.plain.left = in, &c.near, c.size, left
	if done, err = c.plain.run(); !done || err != nil {
		return done, err
	}
	if c.ids == nil {
		c.ids = map[uint64]uint64{}
	}
	for key, n := range c.plain.counts {
		if n == 0 {
			continue
		}
		id, ok := c.ids[uint64(key)]
		if !ok {
			id = c.forms.ofMatrix(c.size, uint64(key))
			c.ids[uint64(key)] = id
		}
		bag.Add(id, float64(n))
	}
	return true, nil
}

// binomial returns the number of sets of k out of n.
func binomial(n, k int) float64 {
	x := 1.0
	for i := range k {
		x = x * float64(n-i) / float64(i+1)
	}
	return x
}

// nearness tells quickly whether two nodes are adjacent.
type nearness struct {
	g     *graph.Graph
	words int
	bits  []uint64 // a row of words for each node; empty for large graphs
}

func (a *nearness) reset(g *graph.Graph) {
	n := g.N()
	a.g, a.words, a.bits = g, 0, a.bits[:0]
	if n > 8192 {
		return
	}
	a.words = (n + 63) / 64
	a.bits = scratch.Resize(a.bits, n*a.words)
	clear(a.bits)
	for v := range int32(n) {
		row := a.bits[int(v)*a.words : int(v+1)*a.words]
		for _, u := range g.Adj(v) {
			row[u>>6] |= 1 << (u & 63)
		}
	}
}

func (a *nearness) adjacent(u, v int32) bool {
	if a.words == 0 {
		if a.g.Degree(u) > a.g.Degree(v) {
			u, v = v, u
		}
		return a.g.Entry(u, v) >= 0
	}
	return a.bits[int(u)*a.words+int(v>>6)]>>(v&63)&1 != 0
}
