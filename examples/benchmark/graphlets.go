package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/count"
)

// graphlets counts the connected induced subgraphs of size nodes up to isomorphism, as the graphlet
// kernel does (Shervashidze et al., "Efficient graphlet kernels for large graph comparison", 2009).
// Labels of nodes and types of edges distinguish graphlets. Graphs without labels have graphlets of
// structure alone. Graphs are undirected.
//
// All graphlets are listed one by one (Wernicke, "Efficient detection of network motifs", 2006), in
// time proportional to their number, at most nˢⁱᶻᵉ. A graph with more than samples graphlets, or 100 times as
// many of up to 5 nodes without labels, is sampled: samples connected graphlets grow along random
// edges, each with a weight of 1 over its probability. The estimates are unbiased and need not be
// integers. They depend on node numbers and on the seed.
//
// Package canon finds the canonical forms, of which up to 6 MB are cached. A graph of n nodes takes
// n²/8 bytes, up to n = 8192.
type graphlets struct {
	size    int // 3 to 7
	samples int // 0: no bound
	seed    uint64
}

// String is part of the identity of a cell.
func (c graphlets) String() string {
	text := fmt.Sprintf("graphlets(size=%d", c.size)
	if c.samples > 0 {
		text += fmt.Sprintf(", samples=%d, seed=%d", c.samples, c.seed)
	}
	return text + ")"
}

// Prepare implements count.Counter.
func (c graphlets) Prepare() (count.Worker, error) { return &graphletCounter{graphlets: c}, nil }

// maxGraphlet is the largest size.
const maxGraphlet = 7

type graphletCounter struct {
	graphlets

	forms forms
	near  nearness
	list  lister
	draws drawer
	// counts and ids are of graphlets of up to five nodes without labels, by the bits of the matrix below its
	// diagonal. An id of 0 is not found yet.
	counts [1 << 10]int64
	ids    [1 << 10]uint64
	first  count.Bag // the counts so far; dropped where the bound is exceeded
}

// Count implements count.Worker. It counts exactly within the bound, and samples beyond.
func (c *graphletCounter) Count(in count.Input, bag *count.Bag) error {
	if err := c.begin(in.Graph); err != nil || in.Graph.N() < c.size {
		return err
	}
	done, err := c.exact(in, bag)
	if done || err != nil {
		return err
	}
	return c.draws.connected(in, c, c.rng(in.Graph), bag)
}

func (c *graphletCounter) begin(g *graph.Graph) error {
	if g.Directed {
		return errors.New("graphlets of directed graphs are not counted")
	}
	c.near.reset(g)
	c.forms.near = &c.near
	c.forms.reset(g)
	return nil
}

// rng returns the random numbers of a graph.
func (c *graphletCounter) rng(g *graph.Graph) *rand.Rand {
	return rand.New(rand.NewPCG(c.seed, uint64(g.N())<<32|uint64(len(g.Neighbors))))
}

// contextWalks is the number of contexts of a graph, contextSteps the number of graphlets of a context.
const (
	contextWalks = 32
	contextSteps = 16
)

// Contexts implements count.Contexter. A context is a random walk over graphlets, each of which differs
// from the one before in one node.
func (c *graphletCounter) Contexts(in count.Input, emit func(ids []uint64)) error {
	g := in.Graph
	if err := c.begin(g); err != nil || g.N() < c.size || len(g.Neighbors) == 0 {
		return err
	}
	rng, ids := c.rng(g), make([]uint64, 0, contextSteps)
	c.draws.list(g)
	for range contextWalks {
		if err := in.Err(); err != nil {
			return err
		}
		if !c.draws.grow(g, c, rng) {
			continue
		}
		ids = append(ids[:0], c.forms.of(c.draws.nodes))
		for len(ids) < contextSteps {
			c.draws.exchange(g, c, rng)
			ids = append(ids, c.forms.of(c.draws.nodes))
		}
		emit(ids)
	}
	return nil
}

// exact counts all graphlets. If there are more than samples it reports false and adds nothing to the bag.
func (c *graphletCounter) exact(in count.Input, bag *count.Bag) (done bool, err error) {
	c.list = lister{in: in, size: c.size, left: -1, nodes: c.list.nodes[:0], extension: c.list.extension[:0], marked: c.list.marked}
	plain := c.size <= 5 && c.near.words > 0 && c.forms.nodes == nil && c.forms.edges == nil
	if c.samples > 0 {
		c.list.left = c.samples
		if plain {
			c.list.left *= 100
		}
	}
	c.first.Reset()
	c.counts = [1 << 10]int64{}
	c.list.found = func(nodes, last []int32) {
		for _, u := range last {
			c.first.Add(c.forms.of(append(nodes, u)), 1)
		}
	}
	if plain {
		c.list.found = c.count
	}
	if done, err = c.list.run(); !done || err != nil {
		return done, err
	}
	for matrix, n := range c.counts {
		if n > 0 {
			c.first.Add(c.ids[matrix], float64(n))
		}
	}
	for _, e := range c.first.Entries() {
		bag.Add(e.ID, e.Count)
	}
	return true, nil
}

// count counts the sets of nodes and one node of last by their matrices.
func (c *graphletCounter) count(nodes, last []int32) {
	matrix, width := uint64(0), 0
	for i, v := range nodes {
		matrix |= c.near.row(v, nodes[:i]) << width
		width += i
	}
	for _, u := range last {
		at := matrix | c.near.row(u, nodes)<<width
		if c.ids[at] == 0 {
			c.ids[at] = c.forms.of(append(nodes, u))
		}
		c.counts[at]++
	}
}

// nearness is the adjacency matrix of a graph as bits.
type nearness struct {
	g     *graph.Graph
	words int
	bits  []uint64 // a row of words for each node; empty above 8192 nodes
}

func (a *nearness) reset(g *graph.Graph) {
	n := g.N()
	a.g, a.words, a.bits = g, 0, a.bits[:0]
	if n > 8192 {
		return
	}
	a.words = (n + 63) / 64
	a.bits = slices.Grow(a.bits, n*a.words)[:n*a.words]
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

// row has a bit for each of some nodes: whether v is adjacent to it.
func (a *nearness) row(v int32, nodes []int32) (row uint64) {
	for j, u := range nodes {
		if a.adjacent(v, u) {
			row |= 1 << j
		}
	}
	return row
}

// forms returns ids of small induced subgraphs: hashes of their canonical forms.
type forms struct {
	near  *nearness
	g     *graph.Graph
	nodes []uint64 // hashes of the labels of nodes, nil without labels
	edges []uint64 // hashes of the labels of CSR entries, nil without labels

	known  map[uint64]uint64 // ids by the hash of the subgraph in the order of its nodes
	solver canon.Solver
	rows   [maxGraphlet]uint64
	codes  [maxGraphlet * maxGraphlet]uint16
	colors [maxGraphlet]int32
	kinds  []uint64 // hashes of the labels of the edges of a subgraph, ascending
}

var kindGraphlet = count.Kind("graphlet")

// mostForms bounds known, which takes about 40 bytes an entry.
const mostForms = 1 << 17

func (f *forms) reset(g *graph.Graph) {
	f.g = g
	if f.known == nil || len(f.known) > mostForms {
		f.known = map[uint64]uint64{}
	}
	f.nodes, f.edges = count.LabelsOf(g)
}

// of returns the id of the subgraph that some nodes induce.
func (f *forms) of(nodes []int32) uint64 {
	key, shift := uint64(0), 0
	for i, v := range nodes {
		row := f.near.row(v, nodes[:i])
		f.rows[i] = row
		key |= row << shift
		shift += i
	}
	h := count.Hash(0).Add(key)
	if f.nodes != nil {
		for _, v := range nodes {
			h = h.Add(f.nodes[v])
		}
	}
	if f.edges != nil {
		for i := range nodes {
			for row := f.rows[i]; row != 0; row &= row - 1 {
				h = h.Add(f.edge(nodes[i], nodes[bits.TrailingZeros64(row)]))
			}
		}
	}
	if id, ok := f.known[uint64(h)]; ok {
		return id
	}
	id := f.canonical(nodes)
	if len(f.known) <= mostForms {
		f.known[uint64(h)] = id
	}
	return id
}

// edge returns the hash of the label of the edge between u and v, 1 without labels, 0 without an edge.
func (f *forms) edge(u, v int32) uint64 {
	switch e := f.g.Entry(u, v); {
	case e < 0:
		return 0
	case f.edges == nil:
		return 1
	default:
		return f.edges[e]
	}
}

// canonical hashes the number of nodes, their labels in canonical order, the bits of the matrix below the
// diagonal, and the labels of the edges.
func (f *forms) canonical(nodes []int32) uint64 {
	n := len(nodes)
	colors := f.colors[:n]
	clear(colors)
	if f.nodes != nil {
		for i, v := range nodes {
			for _, u := range nodes {
				if cmp.Less(f.nodes[u], f.nodes[v]) {
					colors[i]++
				}
			}
		}
	}
	order, _ := f.solver.Matrix(n, f.matrix(nodes), colors)
	h := kindGraphlet.Add(uint64(n))
	if f.nodes != nil {
		for _, i := range order {
			h = h.Add(f.nodes[nodes[i]])
		}
	}
	for i, a := range order {
		row := uint64(0)
		for j, b := range order[:i] {
			if f.near.adjacent(nodes[a], nodes[b]) {
				row |= 1 << j
			}
		}
		h = h.Add(row)
	}
	for i, a := range order {
		for _, b := range order[:i] {
			if e := f.edge(nodes[a], nodes[b]); e != 0 && f.edges != nil {
				h = h.Add(e)
			}
		}
	}
	return uint64(h)
}

// matrix returns the adjacency matrix, with the rank of the label of an edge plus 1.
func (f *forms) matrix(nodes []int32) []uint16 {
	n := len(nodes)
	codes := f.codes[:n*n]
	f.kinds = f.kinds[:0]
	for _, v := range nodes {
		for _, u := range nodes {
			if e := f.edge(v, u); e != 0 {
				f.kinds = append(f.kinds, e)
			}
		}
	}
	slices.Sort(f.kinds)
	f.kinds = slices.Compact(f.kinds)
	for i, v := range nodes {
		for j, u := range nodes {
			codes[i*n+j] = 0
			if e := f.edge(v, u); e != 0 {
				at, _ := slices.BinarySearch(f.kinds, e)
				codes[i*n+j] = uint16(at) + 1
			}
		}
	}
	return codes
}
