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

// indexer makes or finds the index of the graph of a row for a worker. It indexes the graphs of a
// collection one after the other in the same memory. A row with a record of its own may be a chunk
// of a large graph. All workers then share one index, which the first of them makes. A small graph
// is not shared, since indexing it again costs less than finding the shared index.
type indexer struct {
	always bool // share small graphs too, since other results are shared with the index
	shared *sharedGraphs
	held   *sharedGraph // shared graph of the last row, or nil
	own    field.Index
}

// of returns the index of g, the graph of a row of rec, and the shared graph if there is one. given
// is the shared graph of the stage before, or nil. build makes the index.
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

// smallGraph is the largest number of nodes of a graph that is not shared.
const smallGraph = 64

// release ends the use of the shared graph by the worker.
func (x *indexer) release() {
	if x.held != nil {
		x.shared.put(x.held)
		x.held = nil
	}
}

// graphColumns are the columns from which a graph borrows its memory. Normalize drops them.
var graphColumns = record.GraphColumns()

// sharedGraph is a graph of several rows, with results that workers share.
type sharedGraph struct {
	once  sync.Once
	graph graph.Graph
	index field.Index

	labelsOnce sync.Once
	labels     []float64 // labels of the whole graph
	labelsErr  error

	numbersMu sync.Mutex
	numbers   []float32 // Describe's numbers of the nodes; nil before they are computed

	// columns hold the memory of graph, so no other graph can have its address while graph.Same
	// compares addresses.
	columns []arrow.Array
	users   int
}

// Graphs keeps the index of the last large graph at the end of a run. The next run of one Normalize
// over the same graph in the same memory, such as the next part of a plan, reuses it. The zero
// value is ready.
type Graphs struct{ shared sharedGraphs }

// Close frees the graph. No run may use the Graphs then.
func (p *Graphs) Close() { p.shared.free() }

// Normalize returns z with its index kept in p.
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

// sharedGraphs has the graphs that workers use: one, or two while one follows another.
type sharedGraphs struct {
	mu   sync.Mutex
	list []*sharedGraph
	keep bool // keep a graph without users until another graph comes
}

// get returns the shared graph with the memory of g, the graph of the only row of rec. It makes one
// if there is none.
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

// put ends the use of s by one worker. The last user frees s, unless keep is set.
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
		record.Release(s.columns)
		return true
	})
}

func (p *sharedGraphs) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}
