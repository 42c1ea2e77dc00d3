package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func names() []string { return []string{collection.Best, "online"} }

// model returns what a system counts, and learns.
func model(name string) (operators.Recipe, *nn.Logistic) {
	if name == collection.Best {
		return operators.Recipe{operators.Count{Of: count.Standard()}}, nn.Best()
	}
	return operators.Recipe{operators.Count{Of: []count.Counter{count.WL{Height: 2}}}}, &nn.Logistic{}
}

// source is the graphs, and what they are called.
func (c *config) source(ctx context.Context) (flow.Pipeline, string, error) {
	if c.data == "" {
		noise := c.noise
		if noise == 0 {
			noise = -1
		}
		return flow.From(sources.Families{Graphs: c.graphs, Seed: c.seed, Noise: noise}), "generated", nil
	}
	src, name, err := collection.Source(ctx, c.data, c.seed)
	// Collections come in the order of their classes.
	return flow.From(src).Via(classes{}).Via(operators.Shuffle{Size: 1 << 14, Seed: c.seed}), name, err
}

// classes is an operator that refuses graphs without classes, before it passes any on.
type classes struct{}

func (classes) String() string { return "classes" }

func (classes) Open(in *arrow.Schema) (flow.Stage, error) {
	l, err := record.LayoutOf(in)
	if err != nil {
		return nil, err
	}
	if err := collection.CheckClasses(l); err != nil {
		return nil, err
	}
	return operators.Expect{Layout: l}.Open(in)
}

// learn lets a system learn from the whole stream, then asks it about single graphs.
func (c *config) learn(ctx context.Context, name string, r *report) (*system, error) {
	recipe, net := model(name)
	graphs, data, err := c.source(ctx)
	if err != nil {
		return nil, err
	}
	r.Dataset = data
	total := int64(c.graphs)
	if c.data != "" {
		total = -1
	}
	bar := cli.NewProgress(name, total)
	defer bar.Done()
	w := &watch{one: &system{System: name}, window: c.window, bar: bar, start: time.Now(), cpu: cli.CPU()}
	err = recipe.Onto(graphs).Via(operators.Batch{}).
		To(sinks.Train{Net: net, OnRow: w.row}).
		With(flow.Options{Workers: c.workers}).
		Run(ctx)
	if err != nil {
		return nil, err
	}
	if w.seen == 0 {
		return nil, errors.New("there are no graphs")
	}
	w.end()
	r.Graphs, r.Largest = w.seen, percent(slices.Max(w.classes), w.seen)
	return w.one, c.ask(ctx, w.one, recipe, net)
}

// watch counts what is right, and what it costs.
type watch struct {
	one    *system
	window int
	bar    *cli.Progress
	start  time.Time
	cpu    time.Duration // at the start; what looking at the heap took is added to it

	seen, right, before int   // before: right up to the last point
	classes             []int // how many graphs of each
	half                time.Duration
}

// decades are where the cost of a graph is told: that of the graphs since half of
// it, so that neither the start of the program nor what came long before counts.
var decades = []int{100, 1_000, 10_000, 100_000, 1_000_000}

func (w *watch) row(p sinks.Prediction) error {
	w.seen++
	for p.Target >= len(w.classes) {
		w.classes = append(w.classes, 0)
	}
	w.classes[p.Target]++
	if p.Class == p.Target {
		w.right++
	}
	if slices.Contains(decades, 2*w.seen) {
		w.half = cli.CPU() - w.cpu
	}
	if slices.Contains(decades, w.seen) {
		took := cli.CPU() - w.cpu - w.half
		w.one.Costs = append(w.one.Costs, cost{w.seen, float64(took.Microseconds()) / float64(w.seen/2)})
	}
	if w.seen%w.window == 0 {
		w.point(w.window)
		w.bar.Add(int64(w.window))
	}
	return nil
}

// point adds a point to the curve, of so many graphs.
func (w *watch) point(graphs int) {
	cpu := cli.CPU()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.cpu += cli.CPU() - cpu
	w.one.Curve = append(w.one.Curve, point{
		Graphs: w.seen, Accuracy: percent(w.right-w.before, graphs), HeapMB: float64(m.HeapAlloc) / 1e6,
	})
	w.before = w.right
}

// end notes the totals.
func (w *watch) end() {
	if rest := w.seen % w.window; rest > 0 {
		w.point(rest)
	}
	w.one.Accuracy, w.one.Last = percent(w.right, w.seen), w.one.Curve[len(w.one.Curve)-1].Accuracy
	w.one.Seconds, w.one.CPU = time.Since(w.start).Seconds(), (cli.CPU() - w.cpu).Seconds()
}

// ask times single answers, of a predictor that serves.
func (c *config) ask(ctx context.Context, one *system, recipe operators.Recipe, net nn.Model) error {
	if c.answers == 0 {
		return nil
	}
	next := *c
	next.seed, next.graphs = c.seed+1, c.answers
	src, _, err := next.source(ctx)
	if err != nil {
		return err
	}
	var all sinks.Collect
	defer all.Release()
	if err := src.To(&all).Run(ctx); err != nil {
		return err
	}
	var p *sinks.Predictor
	var took []time.Duration
	for _, rec := range all.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		if p == nil {
			if p, err = sinks.NewPredictor(net, append(operators.Recipe{operators.Expect{Layout: gs.Layout}}, recipe...)); err != nil {
				return err
			}
			defer p.Close()
		}
		for row := range min(gs.Len(), c.answers-len(took)) {
			var g graph.Graph
			gs.At(row, &g)
			start := time.Now()
			if _, err := p.Predict(ctx, &g); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	one.Answers, one.MedianMs, one.P99Ms = len(took), ms(took[len(took)/2]), ms(took[len(took)*99/100])
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
