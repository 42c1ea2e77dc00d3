package main

import (
	"context"
	"io"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/fieldjob"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// work makes the fields of all graphs, record by record: what is in memory is
// one record of graphs, and some chunks of fields.
func (c *config) work(ctx context.Context, r *fieldjob.Runner, out output) (*report, error) {
	// Making a large graph, or sorting its edges, takes a while.
	var reader flow.Reader
	err := cli.Await(ctx, func() error {
		src, err := c.graph.Source(ctx)
		if err == nil {
			reader, err = src.Open(ctx, memory.DefaultAllocator)
		}
		return err
	})
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer reader.Close()
	layout, err := record.LayoutOf(reader.Schema())
	if err != nil {
		return nil, err
	}
	if err := out.begin(c.k, layout); err != nil {
		return nil, err
	}
	var name func(int32) int32
	if e, ok := reader.(*sources.EdgeListReader); ok && e.Network().IDs != nil {
		name = e.Network().ID
	}
	rep := &report{config: c}
	for {
		rec, err := reader.Next(ctx)
		if err == io.EOF {
			rep.take(r)
			return rep, nil
		}
		if err == nil {
			err = c.batch(ctx, r, rec, name, rep)
			rec.Release()
		}
		if err != nil {
			return nil, cause(ctx, err)
		}
	}
}

// batch makes the fields of the graphs of a record.
func (c *config) batch(ctx context.Context, r *fieldjob.Runner, rec arrow.Record, name func(int32) int32, rep *report) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	jobs := make([]*fieldjob.Job, graphs.Len())
	start, fields := time.Now(), int64(0)
	for i := range jobs {
		j := &fieldjob.Job{ID: graphs.ID(i), Graph: &graph.Graph{}, Name: name}
		graphs.At(i, j.Graph)
		if err := cli.Await(ctx, func() error { return c.label(ctx, j) }); err != nil {
			return err
		}
		jobs[i] = j
		fields += int64(len(j.Roots))
		rep.Graphs++
		rep.Nodes += int64(j.Graph.N())
		rep.Edges += int64(j.Graph.M())
	}
	rep.LabelSeconds += time.Since(start).Seconds()
	// A bar for one large graph, or for the graphs of a record.
	bar := cli.NewProgress("receptive fields", fields)
	defer bar.Done()
	r.Done = bar.Add
	return r.Run(ctx, jobs)
}

// label chooses the roots of a graph, and labels it as a whole where asked to.
func (c *config) label(ctx context.Context, j *fieldjob.Job) (err error) {
	in := labeling.Input{Graph: j.Graph, Context: ctx}
	var order []int32
	if c.selecting != nil {
		labels := make([]float64, j.Graph.N())
		if err := labeling.Compute(c.selecting, in, labels); err != nil {
			return err
		}
		if order, _, err = labeling.RankContext(ctx, j.Graph, labels); err != nil {
			return err
		}
	}
	for i := 0; i < j.Graph.N() && (c.w == 0 || len(j.Roots) < c.w); i += c.stride {
		root := int32(i)
		if order != nil {
			root = order[i]
		}
		j.Roots = append(j.Roots, root)
	}
	if c.scope == "global" {
		j.Labels = make([]float64, j.Graph.N())
		return labeling.Compute(c.normal, in, j.Labels)
	}
	return nil
}

// cause says why a context ended where that is what stopped the work.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
