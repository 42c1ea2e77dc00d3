package sinks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
)

// OpenGraph is a graph prepared by Predictor.Open for predictions about its nodes. Any number
// of goroutines may call Predict.
type OpenGraph struct {
	p       *Predictor
	own     *Predictor  // p if Close closes it too, else nil
	as      calibration // calibration of the answers
	nodes   int
	ids     graph.IDs
	before  []flow.Operator // operators before the Roots
	graph   prepared        // output of before
	schema  *arrow.Schema   // schema of the rows: graph and the column roots
	width   int             // number of roots of a row; 0 with an operators.Chunk
	fields  *flow.Direct    // operators behind the Roots, forked by workers
	said    []float32       // smoothed answers, (nodes, classes); nil without a Smoothing
	workers workers
}

// Open makes a graph ready for questions about single nodes, for a recipe with one
// operators.Roots:
//
//	open, err := p.Open(ctx, g)
//	…
//	defer open.Close()
//	answers, err := open.Predict(ctx, 17)
//
// Open copies the graph and runs the operators before the Roots, such as operators.Propagate and
// operators.Channel. Then it computes the data that the operators behind the Roots share: the index
// of the graph and, with Normalize.Global, the labels of all nodes. It takes the time of g.Check
// and of these operators, plus O(n + m) for the index, and the memory of the graph, of the columns
// that the operators add, and of the index: 4 bytes for each node and each edge, those of
// field.Index.SetBound with a Bound. Each goroutine at work, GOMAXPROCS at most, keeps up to 8
// bytes for each node, and a model of its own. The cost of Predict is the cost of the rows of its
// nodes.
//
// BenchmarkOpenGraph predicts random nodes of a preferential and of an RMAT graph of a million
// nodes and 8 and 16 million edges, with 18 words a node. On two shared cores Open takes 7 and 20
// s, half of the questions to nn.Best on count.Around 0.6 and 0.1 ms, and 99 of a hundred at most
// 4.7 and 4.8 ms; to nn.Pooled on fields of 20 nodes 0.2 and 0.3 ms, and 2.9 and 2.0 ms.
//
// The cost of an answer depends on the neighbourhood of the node. Without a Bound a receptive field
// beside a hub costs the degree of the hub; Assemble.Bound and Normalize.Bound make it cost the
// same as elsewhere, and are set before the model is trained. count.Around is bounded by itself. A
// count.Fields indexes the graph for each row, and is slow here.
//
// An answer about a pair of nodes that are joined is that for the graph without their edge, since a model of
// links learns of edges that are hidden: see links.Split. It costs a copy of the graph and the time of Open.
// A pair of a node with itself is an error.
//
// Later changes of g have no effect; open a changed graph again. The answers of a model that was kept with a
// Smoothing propagate over the edges.
//
// Open is OpenIDs of a graph whose nodes have no ids but their numbers.
func (p *Predictor) Open(ctx context.Context, g *graph.Graph) (*OpenGraph, error) {
	return p.OpenIDs(ctx, g, graph.IDs{})
}

// OpenIDs is Open for a graph whose nodes have ids, which the result borrows. What the model knows of
// nodes by ids takes part, see Known; a node whose id the model does not know has no such knowledge.
// Answers have the id of their root. A wrong number of ids and a repeated id are errors.
func (p *Predictor) OpenIDs(ctx context.Context, g *graph.Graph, ids graph.IDs) (o *OpenGraph, err error) {
	return p.openIDs(ctx, g, ids, true)
}

// openIDs implements OpenIDs. Without prepare, the first call of Predict computes the shared data.
func (p *Predictor) openIDs(ctx context.Context, g *graph.Graph, ids graph.IDs, prepare bool) (o *OpenGraph, err error) {
	if ids.Len() > 0 {
		if g != nil && ids.Len() != g.N() {
			return nil, fmt.Errorf("sinks: predictor: there are %d ids, want one for each of the %d nodes", ids.Len(), g.N())
		}
		if _, err := ids.Index(); err != nil {
			return nil, fmt.Errorf("sinks: predictor: %w", err)
		}
	}
	if g, err = p.identified(g, ids); err != nil {
		return nil, err
	}
	if g != nil {
		of := p
		if p, err = p.Knowing(g.N(), ids); err != nil {
			return nil, err
		}
		if p != of {
			defer func() {
				if err != nil {
					_ = p.Close() // no graph was opened with it
				} else {
					o.own = p
				}
			}()
		}
	}
	if p.as.smoothing == nil {
		o, err = p.openAll(ctx, g, prepare)
	} else {
		o, err = p.openSmoothed(ctx, g, *p.as.smoothing)
	}
	if err == nil {
		o.ids = ids
	}
	return o, err
}

// Knowing returns a Predictor for one graph of n nodes with these ids, which has the classes that the
// model knows of them; see Known.WithClasses. A model that reads known classes in an
// operators.KnownClasses or operators.Beliefs answers about no graph of which it knows no node: that is an error. Open and
// OpenIDs call Knowing. A model that knows no classes is p. The caller closes another Predictor than p, which an
// Update of p does not change.
func (p *Predictor) Knowing(n int, ids graph.IDs) (*Predictor, error) {
	classes, _ := operators.Find[operators.KnownClasses](p.recipe)
	beliefs, believes := operators.Find[operators.Beliefs](p.recipe)
	reads := p.readsClasses()
	believes = believes && beliefs.Probs == nil
	known := p.as.known
	switch {
	case reads && (known == nil || known.class == nil) || believes && (known == nil || len(known.beliefs) != len(known.ids)*len(beliefs.Names)):
		return nil, errors.New("sinks: predictor: the model reads known classes of nodes, and its file has none")
	case !reads && !believes && (p.as.smoothing == nil || !p.as.smoothing.Classes || p.as.smoothing.Class != nil):
		return p, nil
	}
	class, probs, any := classes.Class, beliefs.Probs, true
	if believes {
		probs, any = known.Believed(n, ids)
	}
	if known.class != nil {
		class = known.classes(n, ids)
		any = any && (!reads || slices.Max(append(class, -1)) >= 0)
	}
	if !any {
		return nil, errors.New("sinks: predictor: the model has learned from the known classes of the nodes of one graph, and none of this graph is among them: a portable model answers about other graphs (choose.Choice.Portable, sanflow train -portable)")
	}
	return p.withClasses(class, probs)
}

// readsClasses reports whether the recipe needs known classes.
func (p *Predictor) readsClasses() bool {
	c, ok := operators.Find[operators.KnownClasses](p.recipe)
	return ok && c.Class == nil
}

// withClasses returns a Predictor with the given classes and class probabilities of the nodes.
func (p *Predictor) withClasses(class []int32, probs []float32) (*Predictor, error) {
	recipe := slices.Clone(p.recipe)
	for i, op := range recipe {
		switch op := op.(type) {
		case operators.KnownClasses:
			op.Class = class
			recipe[i] = op
		case operators.Beliefs:
			op.Probs = probs
			recipe[i] = op
		}
	}
	q, err := of(newPredictor(p.net, recipe, &p.layout))
	if err != nil {
		return nil, err
	}
	if q.as = p.as; q.as.smoothing != nil && q.as.smoothing.Classes {
		s := *q.as.smoothing
		s.Class = class
		q.as.smoothing = &s
	}
	return q, nil
}

// within returns a Predictor for a part of the graph of p. number has the number of each node in that graph.
func (p *Predictor) within(number []int32) (*Predictor, error) {
	known, _ := operators.Find[operators.KnownClasses](p.recipe)
	beliefs, _ := operators.Find[operators.Beliefs](p.recipe)
	if known.Class == nil && beliefs.Probs == nil {
		return p, nil
	}
	var class []int32
	var probs []float32
	for _, v := range number {
		if known.Class != nil {
			class = append(class, known.Class[v])
		}
		if n := len(beliefs.Names); beliefs.Probs != nil {
			probs = append(probs, beliefs.Probs[int(v)*n:][:n]...)
		}
	}
	return p.withClasses(class, probs)
}

func (p *Predictor) openAll(ctx context.Context, g *graph.Graph, prepare bool) (*OpenGraph, error) {
	o, err := p.openGraph(ctx, g)
	if err != nil || !prepare {
		return o, err
	}
	if err := o.prepare(ctx); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// identified is Known.Identify, but keeps the features of a graph without ids.
func (p *Predictor) identified(g *graph.Graph, ids graph.IDs) (_ *graph.Graph, err error) {
	if g != nil && (ids.Len() > 0 || g.SparseCard != p.layout.NodeSparse.Card) {
		g, _, err = p.as.known.Identify(g, ids)
	}
	return g, err
}

// PredictRoots is Open and one OpenGraph.Predict. If the model knows nodes by ids, give it the graph of
// Known.Identify.
func (p *Predictor) PredictRoots(ctx context.Context, g *graph.Graph, roots ...int32) ([]Answer, error) {
	o, err := p.openIDs(ctx, g, graph.IDs{}, false)
	if err != nil {
		return nil, err
	}
	all, err := o.Predict(ctx, roots...)
	if err := errors.Join(err, o.Close()); err != nil {
		return nil, err
	}
	return all, nil
}

// openGraph is Open without the shared data that the first call of Predict computes.
func (p *Predictor) openGraph(ctx context.Context, g *graph.Graph) (*OpenGraph, error) {
	i := slices.IndexFunc(p.recipe, func(op flow.Operator) bool { _, ok := op.(operators.Roots); return ok })
	if i < 0 {
		return nil, errors.New("sinks: predictor: the recipe has no operators.Roots")
	}
	roots, behind := p.recipe[i].(operators.Roots), p.recipe[i+1:]
	o := &OpenGraph{p: p, as: p.as, width: len(roots.Nodes), before: p.recipe[:i]}
	if _, ok := operators.Find[operators.PerRoot](behind); ok {
		o.width = 1
	}
	if _, ok := operators.Find[operators.Chunk](behind); ok {
		o.width = 0
	}
	var err error
	if o.graph, err = o.ahead(ctx, g); err != nil {
		return nil, err
	}
	o.nodes = g.N()
	o.schema, err = record.Extend(o.graph.ready.Schema(), record.ListField[int32](record.Roots, []int{max(1, o.width)}))
	if err == nil {
		o.fields, err = flow.OpenDirect(o.schema, flow.Options{}, behind...)
	}
	if err != nil {
		o.graph.release()
		return nil, err
	}
	o.workers.open = func() (*worker, error) { return p.fork(o.fields, o.as) }
	o.workers.free = func() error {
		o.graph.release()
		return o.fields.Close()
	}
	return o, nil
}

// prepared is the output of the operators before the Roots for a graph. If rows are pairs, it keeps the
// input too.
type prepared struct {
	came  graph.Graph  // the graph of the input, a view of whole
	whole arrow.Record // the input record; nil unless rows are pairs
	ready arrow.Record
}

func (g *prepared) release() {
	g.ready.Release()
	if g.whole != nil {
		g.whole.Release()
	}
}

// ahead applies the operators before the Roots. The caller releases the result.
func (o *OpenGraph) ahead(ctx context.Context, g *graph.Graph) (of prepared, err error) {
	err = o.p.work(ctx, &o.p.workers, func(w *worker) error {
		rec, err := o.p.record(ctx, w.graphs, g)
		if err != nil {
			return err
		}
		defer rec.Release()
		if of.ready, err = o.behind(ctx, rec); err != nil || o.width != 2 {
			return err
		}
		gs, err := record.GraphsOf(rec)
		if err == nil {
			gs.At(0, &of.came)
			rec.Retain()
			of.whole = rec
		}
		return err
	})
	return of, err
}

// behind returns the output of the operators before the Roots for a record of a graph.
func (o *OpenGraph) behind(ctx context.Context, rec arrow.Record) (arrow.Record, error) {
	d, err := flow.OpenDirect(rec.Schema(), flow.Options{}, o.before...)
	if err != nil {
		return nil, err
	}
	rows, err := d.Process(ctx, rec)
	o.p.count(d, new(int64))
	if err := errors.Join(err, d.Close()); err != nil || len(rows) != 1 || rows[0].NumRows() != 1 {
		record.Release(rows)
		if err == nil {
			err = errors.New("sinks: predictor: the operators in front of operators.Roots do not make one row of a graph")
		}
		return nil, err
	}
	return rows[0], nil
}

// prepare processes one row, so that the operators compute the data that their forks share. The row may
// be refused.
func (o *OpenGraph) prepare(ctx context.Context) error {
	rec, err := o.row(o.graph.ready, make([]int32, max(1, o.width)))
	if err != nil {
		return err
	}
	defer rec.Release()
	outs, _ := o.fields.Process(ctx, rec)
	record.Release(outs)
	return context.Cause(ctx)
}

// row returns a record with one row of roots. graph is an output of ahead. The caller owns the record.
func (o *OpenGraph) row(graph arrow.Record, nodes []int32) (arrow.Record, error) {
	roots := record.NewLists[int32](memory.DefaultAllocator)
	roots.Append(nodes)
	return record.Project(o.schema, graph, map[string]arrow.Array{record.Roots: roots.Finish()})
}

// about returns the record of some roots as in training: the graph of a pair lacks the edge between the
// two nodes. The caller owns the record.
func (o *OpenGraph) about(ctx context.Context, of *prepared, nodes []int32) (arrow.Record, error) {
	if o.width != 2 || !joined(&of.came, nodes) {
		return o.row(of.ready, nodes)
	}
	apart, err := of.came.Without(nil, []graph.Edge{{U: nodes[0], V: nodes[1]}})
	if err != nil {
		return nil, err
	}
	b := record.NewBuilder(memory.DefaultAllocator, o.p.layout)
	defer b.Release()
	rec, err := o.p.record(ctx, b, apart)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	ready, err := o.behind(ctx, rec)
	if err != nil {
		return nil, err
	}
	defer ready.Release()
	return o.row(ready, nodes)
}

// joined reports whether an edge joins a pair, in either direction.
func joined(g *graph.Graph, pair []int32) bool {
	return pair[0] >= 0 && pair[1] >= 0 && (g.Entry(pair[0], pair[1]) >= 0 || g.Entry(pair[1], pair[0]) >= 0)
}

// Predict returns an Answer for each node, in order, or for each pair if a row has two roots. A row
// has as many roots as the Roots of the recipe, or one if operators.PerRoot makes a row of each.
// The answers equal the answers for a stream of all nodes, and of pairs that are not joined. A node that the graph does not have, a
// node that a stage refuses, and the end of ctx are errors.
func (o *OpenGraph) Predict(ctx context.Context, nodes ...int32) (all []Answer, err error) {
	if err := o.check(nodes); err != nil {
		return nil, err
	}
	if o.said != nil {
		all, err = o.lookup(nodes)
	} else {
		all, err = o.ask(ctx, &o.graph, nodes)
	}
	for i := range all {
		all[i].ID = o.ids.At(all[i].Root)
	}
	return all, err
}

// ask predicts nodes of an output of ahead.
func (o *OpenGraph) ask(ctx context.Context, of *prepared, nodes []int32) (all []Answer, err error) {
	err = o.p.work(ctx, &o.workers, func(w *worker) error {
		size := o.width
		if size == 0 {
			size = len(nodes)
		}
		for part := range slices.Chunk(nodes, size) {
			rec, err := o.about(ctx, of, part)
			if err != nil {
				return err
			}
			said, err := w.predict(ctx, o.p, rec)
			rec.Release()
			if err != nil {
				return err
			}
			all = append(all, said...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// check checks that roots are nodes, and that their number is a multiple of the roots of a row.
func (o *OpenGraph) check(nodes []int32) error {
	if len(nodes) == 0 || o.width > 0 && len(nodes)%o.width != 0 {
		return fmt.Errorf("sinks: predictor: there are %d nodes, want %d for each answer, and one answer or more", len(nodes), max(1, o.width))
	}
	return o.has(nodes)
}

// has checks that roots are nodes, and that the nodes of a pair differ.
func (o *OpenGraph) has(nodes []int32) error {
	for i, v := range nodes {
		if o.width == 2 && i%2 == 1 && v == nodes[i-1] {
			return fmt.Errorf("sinks: predictor: pair %d is a node with itself, want two nodes", i/2)
		}
		if v < -1 || int(v) >= o.nodes {
			return fmt.Errorf("sinks: predictor: root %d is not among the %d nodes", v, o.nodes)
		}
	}
	return nil
}

// Close frees the prepared data. Running calls finish; later calls are errors.
func (o *OpenGraph) Close() error {
	err := o.workers.close()
	if o.own != nil {
		err = errors.Join(err, o.own.Close())
	}
	return err
}
