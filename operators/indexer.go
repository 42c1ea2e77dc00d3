package operators

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
)

// indexer hands a worker the index of the graph of a row. The graphs of a
// collection are indexed one after the other in the same memory. A row that has
// a record for itself may be a piece of a large graph, as Chunk cuts them: then
// all workers share one index, made by the first that meets the graph. A small
// graph is indexed again in less time than it takes to find a shared index.
type indexer struct {
	always bool // share small graphs too, for what else is computed of them
	shared *sharedGraphs
	held   *sharedGraph // of the last row; nil where that was not shared
	own    field.Index
}

// of returns the index of g, the graph of a row of rec, and the shared graph where
// workers share it: that of the stage before, if there is one. build makes the index.
func (x *indexer) of(g *graph.Graph, rec arrow.Record, given *sharedGraph, build func(*field.Index, *graph.Graph)) (*field.Index, *sharedGraph) {
	if given != nil && given.graph.Same(g) {
		x.release()
		return &given.index, given
	}
	if rec.NumRows() != 1 || !x.always && g.N() <= smallGraph && len(g.Neighbors) <= 8*smallGraph {
		x.release()
		build(&x.own, g)
		return &x.own, nil
	}
	if x.held == nil || !x.held.graph.Same(g) {
		x.release()
		x.held = x.shared.get(g, rec)
	}
	s := x.held
	s.once.Do(func() { build(&s.index, &s.graph) })
	return &s.index, s
}

// smallGraph is the number of nodes up to which a graph is not shared.
const smallGraph = 64

// release gives up the shared graph.
func (x *indexer) release() {
	if x.held != nil {
		x.shared.put(x.held)
		x.held = nil
	}
}

// graphColumns are the columns that a graph borrows its memory from, and that
// Normalize makes superfluous.
var graphColumns = record.GraphColumns()

// sharedGraph is a graph that several rows are cut from.
type sharedGraph struct {
	once  sync.Once
	graph graph.Graph
	index field.Index

	labelsOnce sync.Once
	labels     []float64 // of the whole graph
	labelsErr  error

	// columns keep the memory of graph, so that no other graph can lie at the
	// same place while this one is compared with.
	columns []arrow.Array
	users   int
}

// sharedGraphs holds the graphs that workers have in hand: one, or two where one
// follows another.
type sharedGraphs struct {
	mu   sync.Mutex
	list []*sharedGraph
}

// get returns the shared graph that is g, the graph of the only row of rec.
func (p *sharedGraphs) get(g *graph.Graph, rec arrow.Record) *sharedGraph {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.list {
		if s.graph.Same(g) {
			s.users++
			return s
		}
	}
	s := &sharedGraph{graph: *g, users: 1}
	for _, name := range graphColumns {
		for _, i := range rec.Schema().FieldIndices(name) {
			rec.Column(i).Retain()
			s.columns = append(s.columns, rec.Column(i))
		}
	}
	p.list = append(p.list, s)
	return s
}

// put gives s back; the last user frees it.
func (p *sharedGraphs) put(s *sharedGraph) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	for _, c := range s.columns {
		c.Release()
	}
	for i, other := range p.list {
		if other == s {
			p.list = append(p.list[:i], p.list[i+1:]...)
			return
		}
	}
}
