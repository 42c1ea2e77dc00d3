package main

import (
	"context"
	"io"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks/jsonl"
)

// fieldLines writes a line of JSON per field: -as jsonl.
func (c *config) fieldLines(ctx context.Context) (*report, error) {
	file, err := cli.CreateStream(c.out)
	if err != nil {
		return nil, err
	}
	defer file.Cleanup()
	src, err := c.source(ctx)
	if err != nil {
		return nil, err
	}
	roots, err := c.roots.Operator()
	if err != nil {
		return nil, err
	}
	normalize := jsonl.Normalize(c.k)
	normalize.Bound, normalize.By, normalize.Global = c.bound, c.normal, c.scope == "global"
	from, tally := &input.Named{Source: src}, &input.Tally{}
	p := flow.From(from).Via(tally).Via(roots).Via(operators.Chunk{Size: c.chunk}).Via(normalize).
		Via(jsonl.Columns{}).Via(jsonl.Lines{}).To(jsonl.Sink{Writer: file})
	r := &report{K: c.k, W: c.roots.W, As: c.as, Out: c.out, Workers: c.workers}
	seconds, err := c.run(ctx, p, r, from, tally, func(s []flow.StageStats) int64 { return s[len(s)-3].RowsOut })
	if err != nil {
		return nil, err
	}
	if err := file.Finish(); err != nil {
		return nil, err
	}
	if r.Bytes, err = file.Seek(0, io.SeekCurrent); err != nil {
		return nil, err
	}
	r.measure(seconds)
	return r, nil
}
