package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// noise is the share of random edges of generated graphs.
var noise = 0.4

// source returns the graphs and the name of the data.
func (c *config) source(ctx context.Context) (flow.Pipeline, string, error) {
	if c.data == "" {
		return flow.From(sources.Families{Graphs: c.graphs, Seed: c.seed, Noise: noise}), "generated", nil
	}
	src, err := sources.Open(ctx, c.data, input.Options())
	if err != nil {
		return flow.Pipeline{}, "", err
	}
	schema, err := flow.From(src).Schema(ctx)
	if err != nil {
		return flow.Pipeline{}, "", err
	}
	if l, err := record.LayoutOf(schema); err != nil || len(l.Classes) == 0 {
		return flow.Pipeline{}, "", errors.Join(errors.New("the graphs have no classes"), err)
	}
	// Collections are in the order of their classes.
	return flow.From(src).Via(operators.Shuffle{Size: 1 << 14, Seed: c.seed}), cli.DataName(c.data), nil
}

// learn trains a system on the whole stream.
func (c *config) learn(ctx context.Context, name string, r *report) (*system, error) {
	counts, net := operators.Count{Of: count.Standard()}, nn.Best()
	if name == "online" {
		counts, net = operators.Count{Of: []count.Counter{count.WL{Height: 2}}}, &nn.Logistic{}
	}
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
	w := &watch{one: &system{System: name}, window: c.window, bar: bar, cpu: cli.CPU()}
	start := time.Now()
	err = graphs.Via(counts).Via(operators.Batch{}).
		To(sinks.Train{Net: net, OnRow: w.row}).
		With(flow.Options{Workers: c.workers}).
		Run(ctx)
	if err != nil {
		return nil, err
	}
	if w.seen == 0 {
		return nil, errors.New("there are no graphs")
	}
	if rest := w.seen % w.window; rest > 0 {
		w.point(rest)
	}
	r.Graphs, r.Largest = w.seen, percent(slices.Max(w.classes), w.seen)
	w.one.Accuracy, w.one.Last = percent(w.right, w.seen), w.one.Curve[len(w.one.Curve)-1].Accuracy
	w.one.Seconds, w.one.CPU = time.Since(start).Seconds(), (cli.CPU() - w.cpu).Seconds()
	return w.one, nil
}

// watch counts correct predictions and the cost.
type watch struct {
	one    *system
	window int
	bar    *cli.Progress
	cpu    time.Duration // at the start, plus the time of reading the size of the heap

	seen, right, before int   // before: right at the last point
	classes             []int // number of graphs of each class
}

func (w *watch) row(p sinks.Prediction) error {
	w.seen++
	for p.Target >= len(w.classes) {
		w.classes = append(w.classes, 0)
	}
	w.classes[p.Target]++
	if p.Class == p.Target {
		w.right++
	}
	if w.seen%w.window == 0 {
		w.point(w.window)
		w.bar.Add(int64(w.window))
	}
	return nil
}

// point adds a point to the curve, of the last graphs.
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

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
