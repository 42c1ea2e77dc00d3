package main

import (
	"context"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
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
	if c.per == "graph" && c.w == 0 && !c.graphs {
		if c.w, err = average(ctx, src); err != nil {
			return nil, cause(ctx, err)
		}
	}
	r := &report{K: c.k, W: c.w, As: c.as, Out: c.out, Workers: c.workers}
	from := &counted{Source: src, report: r}
	p := c.pipeline(from)
	if c.out != "" {
		p = p.To(c.sink(r))
	}
	start := time.Now()
	running := p.With(flow.Options{Workers: c.workers}).Start(ctx)
	bar := cli.NewProgress("rows", -1)
	cli.Watch(running, func(s flow.Stats) { bar.Set(s.Stages[len(s.Stages)-1].RowsIn) })
	bar.Done()
	if err := running.Wait(); err != nil {
		return nil, cause(ctx, err)
	}
	stages := running.Stats().Stages
	r.Rows = stages[len(stages)-1].RowsIn
	r.measure(time.Since(start).Seconds() - r.ReadSeconds)
	return r, nil
}

// pipeline returns the steps from the graphs to the rows.
func (c *config) pipeline(from *counted) flow.Pipeline {
	p := flow.From(from)
	if c.graphs {
		return p
	}
	p = p.Via(operators.Select{W: c.w, By: c.selecting, Stride: c.stride})
	if c.per == "root" {
		p = p.Via(operators.Chunk{Size: c.chunk})
	}
	p = p.Via(operators.Normalize{K: c.k, By: c.normal, Global: c.scope == "global", Edges: c.edges})
	if c.per == "root" {
		// Records of one size, so that the files are the same whatever the chunks.
		p = p.Via(operators.PerRoot{}).Via(operators.Batch{Size: 1024})
	}
	return p.Via(finish{from})
}

func (c *config) sink(r *report) flow.Sink {
	done := func(_, bytes int64) { r.Bytes = bytes }
	if c.as == "arrow" {
		return sinks.IPC{Dir: c.out, Compression: c.packed, PartBytes: int64(c.partMB) << 20, Done: done}
	}
	return parquet.Sink{Dir: c.out, Compression: c.packed, PartBytes: int64(c.partMB) << 20, Done: done}
}

// cause says why a context ended where that is what stopped the work.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
