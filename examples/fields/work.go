package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sinks/jsonl"
)

// work runs the pipeline: what is in memory is a record of graphs, and some chunks
// of fields.
func (c *config) work(ctx context.Context, text *cli.Stream) (*report, error) {
	c.graph.Workers = c.workers
	src, err := c.graph.Source(ctx)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	from, tally, clock := &input.Named{Source: src}, &input.Tally{}, &timed{Labeling: c.normal}
	normalize := jsonl.Normalize(c.k)
	normalize.Bound, normalize.By = c.bound, c.normal
	if c.scope == "global" {
		normalize.By, normalize.Global = clock, true
	}
	p := flow.From(from).Via(c.selecting).Via(tally)
	if c.roots.W == 0 || c.roots.W > c.graph.Chunk(c.k) {
		p = p.Via(operators.Chunk{Size: c.graph.Chunk(c.k)})
	}
	p = p.Via(normalize)
	switch {
	case text != nil:
		p = p.Via(jsonl.Columns{}).Via(jsonl.Lines{}).To(jsonl.Sink{Writer: text})
	case c.out != "":
		p = p.Via(jsonl.Columns{}).To(ipc.Sink{Path: c.out})
	}
	made := func(stages []flow.StageStats) int64 { return input.Notes(stages)[operators.NoteFields] }
	stats, err := cli.Run(ctx, p.With(flow.Options{Workers: c.workers}), "receptive fields", -1, made)
	if err != nil {
		return nil, err
	}
	if text != nil {
		if err := text.Finish(); err != nil {
			return nil, err
		}
	}
	r := &report{config: c, Graphs: tally.Graphs, Nodes: tally.Nodes, Edges: tally.Edges}
	global := time.Duration(clock.spent.Load())
	r.LabelSeconds = (stats.Stages[1].Busy + global).Seconds()
	if !tally.Start.IsZero() {
		r.Seconds = max(0, (time.Since(tally.Start) - global).Seconds())
	}
	r.take(input.Notes(stats.Stages))
	return r, nil
}

// timed is a labeling of whole graphs whose time is taken.
type timed struct {
	labeling.Labeling
	spent atomic.Int64 // nanoseconds
}

func (t *timed) Label(in labeling.Input, labels []float64) error {
	start := time.Now()
	defer func() { t.spent.Add(int64(time.Since(start))) }()
	return t.Labeling.Label(in, labels)
}
