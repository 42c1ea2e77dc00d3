package main

import (
	"context"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// distances is the number of values of the distance of a node from its root:
// itself, its neighbours, everyone beyond.
const distances = 3

// fields is the pipeline from the graph to a row for each of the roots, in
// order.
func (d *dataset) fields(c *config, roots []int32, chunk int) flow.Pipeline {
	return c.rows(flow.From(d.NodeSet), roots, chunk)
}

// rows continues a pipeline of the graph.
func (c *config) rows(p flow.Pipeline, roots []int32, chunk int) flow.Pipeline {
	return p.Via(operators.Roots{Nodes: roots}).
		Via(operators.Chunk{Size: chunk}).
		Via(operators.Assemble{K: c.k, Bound: c.bound}).
		// Attributes take no part in the order: that keeps the number of a node,
		// where it is one, out of it, and lets finished fields be remembered.
		Via(operators.Normalize{By: c.normal, Distances: distances, IgnoreAttributes: true}).
		Via(operators.PerRoot{}).
		With(flow.Options{Workers: c.workers})
}

// collect makes the fields of all nodes in memory.
func (d *dataset) collect(ctx context.Context, c *config, r *report) (arrow.Record, error) {
	bar := cli.NewProgress("receptive fields", int64(len(d.Class)))
	defer bar.Done()
	start := time.Now()
	rec, err := d.inOne(ctx, d.fields(c, d.all(), 256), bar)
	r.roots += len(d.Class)
	r.rootSeconds += time.Since(start).Seconds()
	return rec, err
}

// inOne makes one record of the rows of all nodes.
func (d *dataset) inOne(ctx context.Context, p flow.Pipeline, bar *cli.Progress) (arrow.Record, error) {
	var out sinks.Collect
	defer out.Release()
	running := p.Via(operators.Batch{Size: len(d.Class)}).To(&out).Start(ctx)
	cli.Watch(running, func(s flow.Stats) { bar.Set(s.Stages[len(s.Stages)-2].RowsIn) })
	if err := running.Wait(); err != nil {
		return nil, err
	}
	rec := out.Records()[0]
	rec.Retain()
	return rec, nil
}
