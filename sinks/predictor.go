package sinks

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
)

// Predictor answers for single graphs, from any number of goroutines:
//
//	p, err := sinks.Load("model.safetensors")
//	…
//	answer, err := p.Predict(ctx, g)
//	fmt.Println(answer.Class, answer.Probs)
//
// No more than GOMAXPROCS graphs are worked on at a time, each with operators and
// a copy of the weights of its own, which is all the memory that a Predictor
// needs; who comes later waits, or goes when ctx ends. What a graph costs beyond
// the operators and the model is some tens of microseconds
// (BenchmarkPredictor).
//
// A model that goes on learning in a pipeline answers by what it knew at the last
// Update.
type Predictor struct {
	net     nn.Predictor
	recipe  operators.Recipe
	layout  record.Layout // of the graphs that come, which have no target
	classes []string
	slots   chan struct{} // one for each graph in work

	mu     sync.Mutex
	latest nn.Cloner // what new workers copy
	round  int       // of updates
	idle   []*worker
	closed bool
}

// Answer is what a model says of a graph.
type Answer struct {
	Class string    `json:"class"` // the most probable one, the first of equals; "" where a number was learned
	Index int       `json:"index"` // of the class, -1 where there is none
	Probs []float32 `json:"probs"` // of each class, in the order of Predictor.Classes; of a graphkernel.SVM shares of votes
	Value float32   `json:"value"` // where a number was learned
	Root  int32     `json:"root"`  // the node that the answer is about, or -1 where it is about the graph
}

// NewPredictor is a Predictor for a model in memory. The recipe begins with an
// operators.Expect, which says what the graphs are like.
func NewPredictor(m nn.Predictor, r operators.Recipe) (*Predictor, error) {
	p, err := newPredictor(m, r)
	if err != nil {
		return nil, fmt.Errorf("sinks: predictor: %w", err)
	}
	return p, nil
}

func newPredictor(m nn.Predictor, r operators.Recipe) (*Predictor, error) {
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
	p := &Predictor{net: m, recipe: r, layout: *layout, classes: classes, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	p.layout.Classes, p.layout.Real, p.layout.NodeClasses = nil, false, nil
	if err := p.update(m); err != nil {
		return nil, err
	}
	w, err := p.worker()
	if err != nil {
		return nil, err
	}
	p.idle = []*worker{w}
	return p, nil
}

// Net returns the model that was given or loaded: an nn.Model, or a graphkernel.SVM.
func (p *Predictor) Net() nn.Predictor { return p.net }

// Recipe returns how graphs become fields.
func (p *Predictor) Recipe() operators.Recipe { return slices.Clone(p.recipe) }

// Layout returns what the graphs are like; they have no target.
func (p *Predictor) Layout() record.Layout { return p.layout }

// Classes returns the names of the classes, of graphs or of nodes, none where a number
// was learned.
func (p *Predictor) Classes() []string { return slices.Clone(p.classes) }

// Update makes m, as it is now, what later calls of Predict ask. It copies the
// weights, and so is called where m does not learn at the moment: from
// Train.OnStep, say, now and then. A model for other fields, or of other classes,
// is an error.
func (p *Predictor) Update(m nn.Predictor) error {
	if err := p.update(m); err != nil {
		return fmt.Errorf("sinks: predictor: %w", err)
	}
	return nil
}

func (p *Predictor) update(m nn.Predictor) error {
	f, ok := m.(nn.Cloner)
	if !ok {
		return fmt.Errorf("a %T is no nn.Cloner, of which there can be copies", m)
	}
	latest, ok := f.Clone().(nn.Cloner)
	if !ok {
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

// Predict returns what the model says of a graph. Several goroutines may call it;
// g is not changed, nor kept. A graph that is damaged, is not like those that the
// model was trained on, or that a stage refuses, is an error, and so is the end of
// ctx.
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

// PredictAll is Predict for a recipe that makes several rows of a graph, one for
// each of its nodes, say.
func (p *Predictor) PredictAll(ctx context.Context, g *graph.Graph) ([]Answer, error) {
	return p.predict(ctx, g, nil)
}

// PredictRoots is PredictAll for given roots: they take the place of those of the
// operators.Roots in the recipe, of which there must be one. A model of nodes or of
// pairs of nodes is asked so about some of them. A call opens the operators anew.
func (p *Predictor) PredictRoots(ctx context.Context, g *graph.Graph, roots ...int32) ([]Answer, error) {
	recipe := slices.Clone(p.recipe)
	i := slices.IndexFunc(recipe, func(op flow.Operator) bool { _, ok := op.(operators.Roots); return ok })
	if i < 0 {
		return nil, errors.New("sinks: predictor: the recipe has no operators.Roots")
	}
	recipe[i] = operators.Roots{Nodes: roots}
	return p.predict(ctx, g, recipe)
}

// predict answers for the rows that a recipe makes of g; nil = that of the Predictor.
func (p *Predictor) predict(ctx context.Context, g *graph.Graph, recipe operators.Recipe) (all []Answer, err error) {
	if g == nil {
		return nil, errors.New("sinks: predictor: the graph is nil")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-p.slots }()
	w, err := p.take()
	if err != nil {
		return nil, err
	}
	defer p.put(w)
	fields := w.fields
	if recipe != nil {
		if fields, err = flow.OpenDirect(w.graphs.Schema(), flow.Options{}, recipe...); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, fields.Close()) }()
	}
	return w.predict(ctx, p, g, fields)
}

// take returns a worker that nobody has, with the latest weights.
func (p *Predictor) take() (w *worker, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errors.New("sinks: predictor: it is closed")
	}
	latest, round := p.latest, p.round
	if n := len(p.idle); n > 0 {
		w, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if w == nil {
		return p.worker()
	}
	if w.round != round {
		w.net, w.round = latest.Clone(), round
	}
	return w, nil
}

func (p *Predictor) put(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = w.fields.Close() // the answer has been given
		return
	}
	p.idle = append(p.idle, w)
}

// Close frees what the operators hold. Calls that are under way end well, later
// ones do not.
func (p *Predictor) Close() (err error) {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, w := range idle {
		err = errors.Join(err, w.fields.Close())
	}
	return err
}

// worker is what one graph at a time needs.
type worker struct {
	graphs *record.Builder
	fields *flow.Direct
	shape  nn.Shape
	net    nn.Predictor
	round  int // of the update that net is from
}

func (p *Predictor) worker() (*worker, error) {
	p.mu.Lock()
	w := &worker{net: p.latest.Clone(), round: p.round}
	p.mu.Unlock()
	w.graphs = record.NewBuilder(memory.DefaultAllocator, p.layout)
	var err error
	if w.fields, err = flow.OpenDirect(w.graphs.Schema(), flow.Options{}, p.recipe...); err != nil {
		return nil, err
	}
	if w.shape, err = Shape(w.fields.Schema()); err == nil {
		w.shape.Classes = w.net.Shape().Classes
		err = w.net.Init(w.shape)
	}
	if err == nil && len(p.classes) > 0 && len(p.classes) != w.shape.Classes {
		err = fmt.Errorf("the recipe names %d classes, the model has %d", len(p.classes), w.shape.Classes)
	}
	if err != nil {
		return nil, errors.Join(err, w.fields.Close())
	}
	return w, nil
}

func (w *worker) predict(ctx context.Context, p *Predictor, g *graph.Graph, fields *flow.Direct) (all []Answer, err error) {
	if err = g.CheckContext(ctx); err == nil {
		err = p.layout.Holds(g, &record.Row{})
	}
	if err != nil {
		return nil, fmt.Errorf("sinks: predictor: %w", err)
	}
	if err := w.graphs.Append(g, record.Row{}); err != nil {
		return nil, err
	}
	rec := w.graphs.Record()
	defer rec.Release()
	rows, err := fields.Process(ctx, rec)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, rec := range rows {
			rec.Release()
		}
	}()
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
	err = each(rec, w.shape, said.Float32s(), func(one Prediction) error {
		a := Answer{Index: -1, Probs: one.Probs, Value: one.Value, Root: one.Root}
		if w.shape.Classes > 0 {
			a.Index = one.Class
			if a.Class = fmt.Sprint(one.Class); len(p.classes) > 0 {
				a.Class = p.classes[one.Class]
			}
		}
		all = append(all, a)
		return nil
	})
	return all, err
}
