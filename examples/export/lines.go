package main

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks/edgelist"
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
	bar := cli.NewBytes("writing", 0)
	defer bar.Done()
	start, text := time.Now(), io.MultiWriter(file, bar)
	if c.data == "" && c.graph.Path == "rmat" {
		scale, n := input.Scale(c.graph.N)
		r.Edges, err = int64(n), drawn(ctx, text, scale, n, c.graph.Seed)
	} else {
		err = c.stored(ctx, text, r)
	}
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	if err := file.Finish(); err != nil {
		return nil, err
	}
	r.Bytes, err = file.Seek(0, io.SeekCurrent)
	r.measure(time.Since(start).Seconds() - r.ReadSeconds)
	return r, err
}

// stored writes the edges of a graph that there is.
func (c *config) stored(ctx context.Context, text io.Writer, r *report) error {
	src, err := c.source(ctx)
	if err != nil {
		return err
	}
	from, tally := &input.Named{Source: src}, &input.Tally{}
	err = flow.From(from).Via(tally).To(edgelist.Sink{Writer: text}).Run(ctx)
	r.Graphs, r.Nodes, r.Edges, r.ReadSeconds = tally.Graphs, tally.Nodes, tally.Edges, from.Seconds
	return err
}

// drawn writes the lines of an rmat graph.
func drawn(ctx context.Context, text io.Writer, scale, n int, seed uint64) error {
	var b []byte
	for u, v := range generate.RMATLines(scale, n, seed) {
		b = append(strconv.AppendInt(b, int64(u), 10), ' ')
		b = append(strconv.AppendInt(b, int64(v), 10), '\n')
		if len(b) < 1<<16 {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := text.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := text.Write(b)
	return err
}
