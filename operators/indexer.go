package operators

import (
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
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

	numbersMu sync.Mutex
	numbers   []float32 // of the nodes, by Describe; nil before

	// columns keep the memory of graph, so that no other graph can lie at the
	// same place while this one is compared with.
	columns []arrow.Array
	users   int
}

// Graphs keeps the index of the last large graph when a run ends, for the next run of one Normalize
// over the same graph in the same memory, such as the next part of a plan. The zero value is ready.
type Graphs struct{ shared sharedGraphs }

// Close gives up the graph. No run uses the Graphs then.
func (p *Graphs) Close() { p.shared.free() }

// Normalize returns z with its index kept here.
func (p *Graphs) Normalize(z Normalize) flow.Operator {
	p.shared.keep = true
	return keeping{z, p}
}

type keeping struct {
	Normalize
	graphs *Graphs
}

func (k keeping) Name() string { return flow.Name(k.Normalize) }

func (k keeping) Open(in *arrow.Schema) (flow.Stage, error) {
	return k.open(in, &k.graphs.shared)
}

// sharedGraphs holds the graphs that workers have in hand: one, or two where one
// follows another.
type sharedGraphs struct {
	mu   sync.Mutex
	list []*sharedGraph
	keep bool // a graph without users until another comes
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
	p.drop()
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

// put gives s back; the last user frees it, unless it is kept.
func (p *sharedGraphs) put(s *sharedGraph) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; !p.keep {
		p.drop()
	}
}

// drop frees the graphs without users. The caller holds mu.
func (p *sharedGraphs) drop() {
	p.list = slices.DeleteFunc(p.list, func(s *sharedGraph) bool {
		if s.users > 0 {
			return false
		}
		for _, c := range s.columns {
			c.Release()
		}
		return true
	})
}

func (p *sharedGraphs) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}
