package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
)

// job returns the plan and the pipeline of the parts: fields of the graphs of a mapped file.
func (c *config) job(ctx context.Context) (*part.Job, error) {
	input, rows, err := c.input(ctx)
	if err != nil {
		return nil, err
	}
	digest, err := manifest.Sum(input)
	if err != nil {
		return nil, err
	}
	src := sources.Mapped{Path: input}
	recipe, err := c.recipe(ctx, src)
	if err != nil {
		return nil, err
	}
	var parts []part.Input
	for range c.repeat {
		parts = append(parts, part.Cut(rows, max(1, c.parts/c.repeat))...)
	}
	return &part.Job{
		Plan: part.Plan{
			Recipe: fmt.Sprint(recipe, " × ", c.repeat), Input: digest, Parts: parts,
		},
		Out: file.Dir{Path: filepath.Join(c.dir, "fields")},
		Pipeline: func(in part.Input) flow.Pipeline {
			return recipe.Onto(flow.From(part.Rows{Source: src, Input: in}))
		},
		Sink: func(w io.Writer) flow.Sink { return parquet.Sink{W: w} },
	}, nil
}

// recipe is the way from graphs to fields. Graphs without attributes have two labelings as channels.
func (c *config) recipe(ctx context.Context, src flow.Source) (r operators.Recipe, err error) {
	schema, err := flow.From(src).Schema(ctx)
	if err != nil {
		return nil, err
	}
	layout, err := record.LayoutOf(schema)
	if err != nil {
		return nil, err
	}
	if len(layout.NodeCat)+len(layout.NodeAttr) == 0 {
		r = append(r, operators.Channel{By: labeling.NormalizedDegree}, operators.Channel{By: labeling.Clustering})
	}
	return append(r, operators.Select{W: c.w}, operators.Assemble{K: c.k}, operators.Normalize{}), nil
}

// input writes the graphs to a mapped file, if there is none. A part then begins without reading the
// graphs before it. Several processes may call it at once.
func (c *config) input(ctx context.Context) (path string, rows int64, err error) {
	path = filepath.Join(c.dir, "graphs.arrow")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		var src flow.Source = sources.Families{Graphs: 960, Seed: c.seed}
		if c.data != "" {
			if src, err = sources.Open(ctx, c.data, input.Options()); err != nil {
				return "", 0, err
			}
		}
		if err := os.MkdirAll(c.dir, 0o777); err != nil {
			return "", 0, err
		}
		err := flow.From(src).To(ipc.Sink{Path: path}).Run(ctx)
		for errors.Is(err, file.ErrHeld) { // another process writes the file
			if _, there := os.Stat(path); there == nil {
				err = nil
			} else if err = wait(ctx); err == nil {
				err = flow.From(src).To(ipc.Sink{Path: path}).Run(ctx)
			}
		}
		if err != nil {
			return "", 0, err
		}
	}
	running := flow.From(sources.Mapped{Path: path}).Start(ctx)
	err = running.Wait()
	return path, running.Stats().Stages[0].RowsOut, err
}
