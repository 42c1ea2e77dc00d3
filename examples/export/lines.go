package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/generate"
)

// edgeList writes one graph as a text file with an edge per line: -as edges. An
// rmat graph is written as the lines that it is drawn by, in their order, loops and
// repeats and all, without being made: such a file is what large edge lists are like.
func (c *config) edgeList(ctx context.Context) (*report, error) {
	file, err := cli.CreateStream(c.out)
	if err != nil {
		return nil, err
	}
	defer file.Cleanup()
	r := &report{As: c.as, Out: c.out, Workers: c.workers}
	w := &lines{file: file, report: r, bar: cli.NewProgress("lines", -1), ctx: ctx}
	start := time.Now()
	if c.data == "" && c.graph.Path == "rmat" {
		scale, n := input.Scale(c.graph.N)
		err = w.drawn(scale, n, c.graph.Seed)
	} else {
		err = c.stored(ctx, w)
	}
	w.bar.Done()
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	if err := file.Finish(); err != nil {
		return nil, err
	}
	r.measure(time.Since(start).Seconds() - r.ReadSeconds)
	return r, nil
}

// stored writes the edges of a graph that there is.
func (c *config) stored(ctx context.Context, w *lines) error {
	src, err := c.source(ctx)
	if err != nil {
		return err
	}
	from := &input.Named{Source: src}
	err = flow.From(from).To(w).Run(ctx)
	w.report.ReadSeconds = from.Seconds
	return err
}

// lines writes edges.
type lines struct {
	file   *cli.Stream
	report *report
	bar    *cli.Progress
	ctx    context.Context
	b      []byte
}

// drawn writes the lines of an rmat graph.
func (w *lines) drawn(scale, n int, seed uint64) error {
	for u, v := range generate.RMATLines(scale, n, seed) {
		if err := w.line(graph.IDs{}, u, v, nil); err != nil {
			return err
		}
		w.report.Edges++
	}
	return w.flush()
}

func (w *lines) line(ids graph.IDs, u, v int32, weight []float32) error {
	w.b = append(ids.Append(w.b, u), ' ')
	w.b = ids.Append(w.b, v)
	for _, x := range weight {
		w.b = strconv.AppendFloat(append(w.b, ' '), float64(x), 'g', -1, 32)
	}
	w.b = append(w.b, '\n')
	if len(w.b) > 1<<16 {
		return w.flush()
	}
	return nil
}

func (w *lines) flush() error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	n, err := w.file.Write(w.b)
	w.report.Bytes += int64(n)
	w.b = w.b[:0]
	w.bar.Set(w.report.Edges)
	return err
}

// Name is what errors call it.
func (w *lines) Name() string { return "edges" }

// Open implements flow.Sink.
func (w *lines) Open(*arrow.Schema) (flow.Writer, error) { return w, nil }

// Write writes the edges of the only graph.
func (w *lines) Write(_ context.Context, rec arrow.Record) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	if w.report.Graphs += int64(graphs.Len()); w.report.Graphs > 1 {
		return fmt.Errorf("an edge list is of one graph: -as parquet or arrow takes many")
	}
	var g graph.Graph
	graphs.At(0, &g)
	ids := graphs.Row(0).NodeID
	if ids.Kind() == graph.StringIDs {
		return fmt.Errorf("an edge list has integers as ids, and the nodes have strings: -as parquet or arrow takes these")
	}
	weight := func(int) []float32 { return nil }
	if a := g.EdgeAttrs; a > 0 {
		weight = func(entry int) []float32 { return g.EdgeAttr[entry*a:][:a] }
	}
	w.report.Nodes = int64(g.N())
	w.b = fmt.Appendf(w.b, "# %d nodes, %d edges\n", g.N(), g.M())
	for u := range int32(g.N()) {
		for i, v := range g.Adj(u) {
			if g.Directed || u < v {
				if err := w.line(ids, u, v, weight(int(g.Offsets[u])+i)); err != nil {
					return err
				}
				w.report.Edges++
			}
		}
	}
	if err := w.alone(&g, ids); err != nil {
		return err
	}
	return w.flush()
}

// alone writes the ids of nodes without an edge, each as an edge to itself, which
// readers drop. Where ids are numbers the first line tells of those nodes.
func (w *lines) alone(g *graph.Graph, ids graph.IDs) error {
	if ids.Kind() == graph.NoIDs {
		return nil
	}
	named, weight := make([]bool, g.N()), make([]float32, g.EdgeAttrs)
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			named[u], named[v] = true, true
		}
	}
	for v := range int32(g.N()) {
		if !named[v] {
			if err := w.line(ids, v, v, weight); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close implements flow.Writer.
func (w *lines) Close(error) error { return nil }
