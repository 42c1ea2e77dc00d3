package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// dataset is a collection in memory.
type dataset struct {
	name    string
	layout  record.Layout
	graphs  sinks.Collect
	nodes   []int   // number of nodes of each graph
	class   []int32 // of each graph
	average float64 // nodes
}

func (d *dataset) release() { d.graphs.Release() }

// source returns the collection that the command line names, and its name.
func source(ctx context.Context, c *config) (flow.Source, string, error) {
	if c.data == "" {
		return sources.Families{Seed: c.seed}, "generated", nil
	}
	path, err := cli.Find(ctx, c.data)
	return sources.TU{Path: path}, cli.DataName(path), err
}

// load reads the collection that the command line names.
func load(ctx context.Context, c *config) (*dataset, error) {
	src, name, err := source(ctx, c)
	if err != nil {
		return nil, err
	}
	d := &dataset{name: name}
	bar := cli.NewProgress("reading graphs", -1)
	defer bar.Done()
	running := flow.From(src).To(&d.graphs).Start(ctx)
	cli.Watch(running, func(s flow.Stats) { bar.Set(s.Stages[0].RowsOut) })
	err = running.Wait()
	if err == nil {
		err = d.survey()
	}
	if err != nil {
		d.release()
		return nil, err
	}
	return d, nil
}

// survey notes the size and the class of each graph.
func (d *dataset) survey() error {
	sum := 0
	for _, rec := range d.graphs.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		d.layout = gs.Layout
		if gs.Layout.Real {
			return fmt.Errorf("%s: the targets are real values; classify needs classes", d.name)
		}
		if len(gs.Layout.Classes) == 0 {
			return fmt.Errorf("%s: the graphs have no classes", d.name)
		}
		class, err := record.Values[int32](rec, record.Target)
		if err != nil {
			return err
		}
		d.class = append(d.class, class...)
		var g graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
			d.nodes = append(d.nodes, g.N())
			sum += g.N()
		}
	}
	switch {
	case len(d.class) == 0:
		return fmt.Errorf("%s: there are no graphs", d.name)
	case len(d.layout.Classes) < 2:
		return fmt.Errorf("%s: all %d graphs are of class %s; there is nothing to tell apart", d.name, len(d.class), d.layout.Classes[0])
	case sum == 0:
		return fmt.Errorf("%s: no graph has a node", d.name)
	}
	d.average = float64(sum) / float64(len(d.nodes))
	return nil
}

// fieldSet is the receptive fields of all graphs: one record, a row per graph
// in the order of the collection.
type fieldSet struct {
	w       int
	record  arrow.Record
	count   int64 // fields that are not zero fields
	seconds float64
	degree  bool // the only channel is the degree
	recipe  operators.Recipe
	plan    string
}

func (f *fieldSet) release() { f.record.Release() }

// makeFields runs select → assemble → normalize over the collection.
func (d *dataset) makeFields(ctx context.Context, c *config) (*fieldSet, error) {
	f := &fieldSet{w: c.w}
	if f.w == 0 {
		f.w = max(1, int(math.Round(d.average)))
	}
	if len(d.layout.NodeCat) == 0 && len(d.layout.NodeAttr) == 0 {
		// As the paper does for social networks.
		f.degree = true
		f.recipe = append(f.recipe, operators.Channel{By: labeling.NormalizedDegree})
	}
	f.recipe = append(f.recipe,
		operators.Select{W: f.w, By: c.selecting, Stride: c.stride},
		operators.Assemble{K: c.k},
		operators.Normalize{By: c.normal, Edges: c.edges},
	)
	var out sinks.Collect
	defer out.Release()
	p := f.recipe.Onto(flow.From(sources.Records{Records: d.graphs.Records()})).
		With(flow.Options{Workers: c.workers})
	f.plan = p.String()

	bar := cli.NewProgress("receptive fields", int64(len(d.nodes)))
	defer bar.Done()
	start := time.Now()
	running := p.To(&out).Start(ctx)
	cli.Watch(running, func(s flow.Stats) { bar.Set(s.Stages[len(s.Stages)-1].RowsIn) })
	if err := running.Wait(); err != nil {
		return nil, err
	}
	f.seconds = time.Since(start).Seconds()

	for _, n := range d.nodes {
		f.count += int64(min(f.w, (n+c.stride-1)/c.stride))
	}
	var refs []record.Ref
	for i, rec := range out.Records() {
		for row := range int32(rec.NumRows()) {
			refs = append(refs, record.Ref{Record: int32(i), Row: row})
		}
	}
	if len(refs) != len(d.nodes) {
		return nil, errors.New("fields are missing") // cannot happen: nothing is skipped
	}
	var err error
	f.record, err = record.Take(memory.DefaultAllocator, out.Records(), refs)
	return f, err
}
