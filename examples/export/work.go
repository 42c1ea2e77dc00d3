package main

import (
	"context"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
)

// work runs the pipeline.
func (c *config) work(ctx context.Context) (*report, error) {
	src, err := c.source(ctx)
	if err != nil {
		return nil, err
	}
	if c.per == "graph" && c.roots.W == 0 && !c.graphs {
		if c.roots.W, err = average(ctx, src); err != nil {
			return nil, err
		}
	}
	r := &report{K: c.k, W: c.roots.W, As: c.as, Out: c.out, Workers: c.workers}
	from, tally := &input.Named{Source: src}, &input.Tally{}
	p, err := c.pipeline(flow.From(from).Via(tally))
	if err != nil {
		return nil, err
	}
	switch {
	case c.out != "":
		p = p.To(c.sink(r))
	case !c.graphs:
		p = p.To(&look{members: &r.first})
	}
	seconds, err := c.run(ctx, p, r, from, tally, cli.Last)
	if err != nil {
		return nil, err
	}
	r.measure(seconds)
	return r, nil
}

// run runs a pipeline whose stages tell how many rows there were, and returns how
// long that took.
func (c *config) run(ctx context.Context, p flow.Pipeline, r *report, from *input.Named, tally *input.Tally, rows func([]flow.StageStats) int64) (float64, error) {
	start := time.Now()
	stats, err := cli.Run(ctx, p.With(flow.Options{Workers: c.workers}), "rows", -1, rows)
	if err != nil {
		return 0, err
	}
	r.Rows, r.Fields = rows(stats.Stages), input.Notes(stats.Stages)[operators.NoteFields]
	r.Graphs, r.Nodes, r.Edges, r.ReadSeconds = tally.Graphs, tally.Nodes, tally.Edges, from.Seconds
	return time.Since(start).Seconds() - r.ReadSeconds, nil
}

// pipeline adds the steps from the graphs to the rows.
func (c *config) pipeline(p flow.Pipeline) (flow.Pipeline, error) {
	if c.graphs {
		return p, nil
	}
	roots, err := c.roots.Operator()
	if err != nil {
		return p, err
	}
	p = p.Via(roots)
	if c.per == "root" {
		p = p.Via(operators.Chunk{Size: c.chunk})
	}
	p = p.Via(operators.Normalize{K: c.k, Bound: c.bound, By: c.normal, Global: c.scope == "global", Edges: c.edges, MemberIDs: true})
	if c.per == "root" {
		// Records of one size, so that the files are the same whatever the chunks.
		p = p.Via(operators.PerRoot{}).Via(operators.Batch{Size: 1024})
	}
	return p, nil
}

func (c *config) sink(r *report) flow.Sink {
	done := func(_, bytes int64) { r.Bytes = bytes }
	if c.as == "arrow" {
		return sinks.IPC{Dir: c.out, Compression: c.packed, PartBytes: int64(c.partMB) << 20, Done: done}
	}
	return parquet.Sink{Dir: c.out, Compression: c.packed, PartBytes: int64(c.partMB) << 20, Done: done}
}
