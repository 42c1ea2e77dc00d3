package sinks

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
)

// Predictor predicts single graphs, from any number of goroutines:
//
//	p, err := sinks.Load("model.safetensors")
//	…
//	answer, err := p.Predict(ctx, g)
//	fmt.Println(answer.Class, answer.Probs)
//
// At most GOMAXPROCS calls run at a time; further calls wait, and return an error when ctx
// ends. Each running call has its own operators and its own copy of the weights; a Predictor
// needs no other memory. A graph costs some tens of microseconds beyond the operators and the
// model (BenchmarkPredictor).
//
// If a model learns in a pipeline meanwhile, the Predictor uses the weights of the last Update and
// the Temperature of NewPredictor or Load.
type Predictor struct {
	net     nn.Predictor
	recipe  operators.Recipe
	layout  record.Layout // layout of the input graphs, without targets
	classes []string
	targets []record.TargetChannel // targets of an nn.Targets; nil for other models
	slots   chan struct{}          // has an entry for each running call; full at GOMAXPROCS
	workers workers
	unseen  atomic.Int64
	words   bool // the layout has words, so that unseen ones are counted

	as calibration // calibration from the metadata of net

	mu     sync.Mutex
	latest nn.Predictor // model of the last Update, which workers copy
	round  int          // number of calls of Update
}

// Answer is the prediction for a graph, or for nodes of it.
type Answer struct {
	Class string    `json:"class"`       // the most probable one, the first of equals; "" if a number was learned
	Index int       `json:"index"`       // of the class, -1 if there is none
	Probs []float32 `json:"probs"`       // of each class, in the order of Predictor.Classes
	Value float32   `json:"value"`       // if a number was learned
	Root  int32     `json:"root"`        // the node that the answer is about, or -1 if it is about the graph
	ID    graph.ID  `json:"id,omitzero"` // of Root, of Predictor.OpenIDs
	// Targets has the answers for Predictor.Targets, in their order, where there are several; the others are then those of none.
	Targets []Answer `json:"targets,omitempty"`
}

// NewPredictor makes a Predictor of a model in memory. The recipe must begin with an
// operators.Expect, which describes the graphs.
func NewPredictor(m nn.Predictor, r operators.Recipe) (*Predictor, error) {
	return of(newPredictor(m, r, nil))
}

// For returns a Predictor of the same model, as given or loaded, for graphs of another layout. If
// attributes have other words, the operators.Expect of the recipe maps them to the words of the
// model, and Unseen counts the words that the model lacks.
func (p *Predictor) For(l record.Layout) (*Predictor, error) {
	return of(newPredictor(p.net, p.recipe, &l))
}

func of(p *Predictor, err error) (*Predictor, error) {
	if err != nil {
		return nil, fmt.Errorf("sinks: predictor: %w", err)
	}
	return p, nil
}

// newPredictor is NewPredictor for graphs of a layout. nil is the layout of the recipe.
func newPredictor(m nn.Predictor, r operators.Recipe, graphs *record.Layout) (*Predictor, error) {
	layout := r.Graphs()
	switch {
	case m == nil:
		return nil, errors.New("the model is nil")
	case layout == nil:
		return nil, errNoLayout
	}
	for _, op := range r {
		if again, ok := op.(operators.Replay); ok && again.Epochs > 1 {
			return nil, fmt.Errorf("the recipe plays each row %d times: put operators.Replay behind the recipe, where a model learns", again.Epochs)
		}
	}
	classes, err := fitRecipe(m, r, *layout)
	if err != nil {
		return nil, err
	}
	if graphs == nil {
		graphs = layout
	}
	var several []int
	for _, t := range layout.Targets {
		several = append(several, len(t.Classes))
	}
	if got := m.Shape().Targets; !slices.Equal(got, several) {
		return nil, fmt.Errorf("the recipe has targets of %d classes, the model of %d", several, got)
	}
	p := &Predictor{net: m, recipe: r, layout: *graphs, classes: classes, targets: layout.Targets, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	p.layout.Targets = nil
	p.layout.Classes, p.layout.Real, p.layout.NodeClasses, p.layout.NodeIDs = nil, false, nil, graph.NoIDs
	for _, a := range layout.Attributes() {
		p.words = p.words || slices.ContainsFunc(a.Channels, func(c record.Channel) bool { return c.Words != nil })
	}
	if p.as, err = calibrationOf(m); err != nil {
		return nil, err
	}
	if err := p.update(m); err != nil {
		return nil, err
	}
	p.workers.open = p.worker
	w, err := p.worker()
	if err != nil {
		return nil, err
	}
	p.workers.idle = []*worker{w}
	return p, nil
}

// Net returns the model, as given or loaded.
func (p *Predictor) Net() nn.Predictor { return p.net }

// Smoothed reports whether Open smooths the answers over the edges; see Smoothing.Keep.
func (p *Predictor) Smoothed() bool { return p.as.smoothing != nil }

// Known returns what the model knows of rows by their ids, or nil.
func (p *Predictor) Known() *Known { return p.as.known }

// Recipe returns the recipe, which makes fields or counts of graphs.
func (p *Predictor) Recipe() operators.Recipe { return slices.Clone(p.recipe) }

// Unseen returns the number of values in all graphs so far that the model does not know. See
// operators.Expect.
func (p *Predictor) Unseen() int64 { return p.unseen.Load() }

// Layout returns the layout of the graphs, without targets and ids.
func (p *Predictor) Layout() record.Layout { return p.layout }

// Classes returns the names of the classes of graphs or of nodes; none if the model predicts a
// number.
func (p *Predictor) Classes() []string { return slices.Clone(p.classes) }

// Targets returns the targets of an nn.Targets with the names of their classes; none of another model.
func (p *Predictor) Targets() []record.TargetChannel { return slices.Clone(p.targets) }

// Of returns a Predictor of one of Targets, by its number, which the caller closes.
func (p *Predictor) Of(target int) (*Predictor, error) {
	several, ok := p.net.(*nn.Targets)
	if !ok || target < 0 || target >= len(several.Nets) {
		return nil, fmt.Errorf("sinks: predictor: there is no target %d, the model has %d", target, len(p.targets))
	}
	recipe := p.Recipe()
	for i, op := range recipe {
		if e, ok := op.(operators.Expect); ok {
			e.Layout.Classes, e.Layout.Real, e.Layout.Targets = p.targets[target].Classes, len(p.targets[target].Classes) == 0, nil
			recipe[i] = e
		}
	}
	q, err := of(newPredictor(several.Nets[target], recipe, &p.layout))
	if err == nil {
		q.as.known = p.as.known
	}
	return q, err
}

// Update replaces the model of later calls by a copy of m. Call it while m does not learn, for
// instance from Train.OnStep. A model for other fields or other classes is an error.
func (p *Predictor) Update(m nn.Predictor) error {
	if err := p.update(m); err != nil {
		return fmt.Errorf("sinks: predictor: %w", err)
	}
	return nil
}

func (p *Predictor) update(m nn.Predictor) error {
	latest := m.Clone()
	if latest == nil {
		return nn.ErrNotReady
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest != nil && !reflect.DeepEqual(p.latest.Shape(), latest.Shape()) {
		return fmt.Errorf("the model is for fields of %+v, want %+v", latest.Shape(), p.latest.Shape())
	}
	p.latest = latest
	p.round++
	return nil
}

// Predict returns the prediction for a graph. Several goroutines may call it. It neither
// changes nor keeps g. A damaged graph, a graph of another layout, a graph that a stage
// refuses, and the end of ctx are errors.
func (p *Predictor) Predict(ctx context.Context, g *graph.Graph) (Answer, error) {
	all, err := p.PredictAll(ctx, g)
	switch {
	case err != nil:
		return Answer{}, err
	case len(all) != 1:
		return Answer{}, fmt.Errorf("sinks: predictor: there are %d answers, one for each root; PredictAll returns them", len(all))
	}
	return all[0], nil
}

// PredictAll is Predict for a recipe that makes several rows of a graph, such as one for each
// node.
func (p *Predictor) PredictAll(ctx context.Context, g *graph.Graph) (all []Answer, err error) {
	err = p.work(ctx, &p.workers, func(w *worker) error {
		rec, err := p.record(ctx, w.graphs, g)
		if err != nil {
			return err
		}
		defer rec.Release()
		all, err = w.predict(ctx, p, rec)
		return err
	})
	return all, err
}

// record checks a graph and returns it as a record of one row, which the caller owns.
func (p *Predictor) record(ctx context.Context, b *record.Builder, g *graph.Graph) (arrow.Record, error) {
	if g == nil {
		return nil, errors.New("sinks: predictor: the graph is nil")
	}
	err := g.CheckContext(ctx)
	if err == nil {
		err = p.layout.Holds(g, &record.Row{})
	}
	if err != nil {
		return nil, fmt.Errorf("sinks: predictor: %w", err)
	}
	if err := b.Append(g, record.Row{}); err != nil {
		return nil, err
	}
	return b.Record(), nil
}

// work calls f with a worker. It waits while GOMAXPROCS calls run.
func (p *Predictor) work(ctx context.Context, of *workers, f func(*worker) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.slots }()
	w, err := of.take()
	if err != nil {
		return err
	}
	defer of.put(w)
	p.mu.Lock()
	latest, round := p.latest, p.round
	p.mu.Unlock()
	if w.round != round {
		w.net, w.round = latest.Clone(), round
	}
	return f(w)
}

// Close frees the operators. Running calls finish; later calls are errors. An OpenGraph has its
// own Close.
func (p *Predictor) Close() error { return p.workers.close() }

// workers is a pool of the workers of a Predictor, an OpenGraph or an OpenRows. It opens them on demand.
type workers struct {
	open func() (*worker, error)
	free func() error // called after the last worker is closed; or nil

	mu     sync.Mutex
	idle   []*worker
	taken  int
	closed bool
}

var errClosed = errors.New("sinks: predictor: it is closed")

// take returns an idle worker or a new one.
func (s *workers) take() (w *worker, err error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	s.taken++
	if n := len(s.idle); n > 0 {
		w, s.idle = s.idle[n-1], s.idle[:n-1]
	}
	s.mu.Unlock()
	if w == nil {
		if w, err = s.open(); err != nil {
			s.put(nil)
			return nil, err
		}
	}
	return w, nil
}

// put returns a worker to the pool. w is nil if take failed to open one.
func (s *workers) put(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	switch {
	case w == nil:
	case s.closed:
		_ = w.fields.Close() // the call has its answer already
	default:
		s.idle = append(s.idle, w)
	}
	if s.closed && s.taken == 0 && s.free != nil {
		_ = s.free()
	}
}

func (s *workers) close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, w := range s.idle {
		err = errors.Join(err, w.fields.Close())
	}
	s.idle = nil
	if s.taken == 0 && s.free != nil {
		err = errors.Join(err, s.free())
	}
	return err
}

// worker has the operators and the model of one call at a time.
type worker struct {
	graphs *record.Builder // makes records of graphs; nil in an OpenGraph and an OpenRows
	fields *flow.Direct
	shape  nn.Shape
	net    nn.Predictor
	as     calibration // calibration of the answers
	round  int         // value of Predictor.round when net was copied
	unseen int64
}

// count adds to p.unseen the unseen words of d since the last call with counted, which has their number so far.
func (p *Predictor) count(d *flow.Direct, counted *int64) {
	if !p.words {
		return
	}
	n := d.Notes()["unseen words"]
	p.unseen.Add(n - *counted)
	*counted = n
}

// worker returns a worker with all operators of the recipe.
func (p *Predictor) worker() (*worker, error) {
	graphs := record.NewBuilder(memory.DefaultAllocator, p.layout)
	fields, err := flow.OpenDirect(graphs.Schema(), flow.Options{}, p.recipe...)
	if err != nil {
		return nil, err
	}
	w, err := p.behind(fields, p.as)
	if err != nil {
		return nil, err
	}
	w.graphs = graphs
	return w, nil
}

// behind returns a worker with open operators. On an error it closes them.
func (p *Predictor) behind(fields *flow.Direct, as calibration) (w *worker, err error) {
	w = &worker{fields: fields, as: as}
	if w.net, w.shape, w.round, err = p.copyFor(fields.Schema()); err != nil {
		return nil, errors.Join(err, w.fields.Close())
	}
	return w, nil
}

// fork returns a worker with a fork of open operators.
func (p *Predictor) fork(fields *flow.Direct, as calibration) (*worker, error) {
	own, err := fields.Fork()
	if err != nil {
		return nil, err
	}
	return p.behind(own, as)
}

// copyFor returns a copy of the model for rows of a schema, and its number of updates.
func (p *Predictor) copyFor(rows *arrow.Schema) (net nn.Predictor, shape nn.Shape, round int, err error) {
	p.mu.Lock()
	net, round = p.latest.Clone(), p.round
	p.mu.Unlock()
	if shape, err = Shape(rows); err == nil {
		shape.Classes, shape.Targets = net.Shape().Classes, net.Shape().Targets
		err = net.Init(shape)
	}
	if err == nil && len(p.classes) > 0 && len(p.classes) != shape.Classes {
		err = fmt.Errorf("the recipe names %d classes, the model has %d", len(p.classes), shape.Classes)
	}
	return net, shape, round, err
}

// predict returns the answers for the rows of the operators for rec.
func (w *worker) predict(ctx context.Context, p *Predictor, rec arrow.Record) (all []Answer, err error) {
	rows, err := w.fields.Process(ctx, rec)
	p.count(w.fields, &w.unseen)
	if err != nil {
		return nil, err
	}
	defer record.Release(rows)
	for _, rec := range rows {
		if all, err = w.answer(all, p, rec); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// answer appends the answers for the rows of rec.
func (w *worker) answer(all []Answer, p *Predictor, rec arrow.Record) ([]Answer, error) {
	if rec.NumRows() == 0 {
		return all, nil
	}
	b, err := batchOf(rec, w.shape, false)
	if err != nil {
		return nil, err
	}
	said, err := w.net.Predict(b, nil)
	if err != nil {
		return nil, err
	}
	w.as.direct(said.Float32s(), w.shape)
	err = each(rec, w.shape, said.Float32s(), func(one Prediction) error {
		a := one.answer(p.classes)
		for i, of := range one.Targets {
			a.Targets = append(a.Targets, of.answer(p.targets[i].Classes))
		}
		all = append(all, a)
		return nil
	})
	return all, err
}

// answer returns the prediction with the name of its class.
func (p Prediction) answer(classes []string) Answer {
	a := Answer{Index: -1, Probs: p.Probs, Value: p.Value, Root: p.Root}
	if p.Probs != nil {
		a.Index, a.Class = p.Class, className(classes, p.Class)
	}
	return a
}

// className returns the name of a class, or its number if classes have no names.
func className(classes []string, i int) string {
	if len(classes) > 0 {
		return classes[i]
	}
	return fmt.Sprint(i)
}
