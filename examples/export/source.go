package main

import (
	"archive/zip"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// stored returns how graphs are stored that examples/internal/input does not
// know: parquet or arrow, by an earlier export, nodes, for a graph whose nodes
// have classes (sources.Nodes), or "" for anything else.
func stored(path string) string {
	name := path
	if m, err := manifest.Read(path); err == nil && len(m.Files) > 0 {
		name = m.Files[0].Name
	}
	switch filepath.Ext(name) {
	case ".parquet":
		return "parquet"
	case ".arrow", ".arrows":
		return "arrow"
	}
	if _, err := os.Stat(filepath.Join(path, "labels.txt")); err == nil {
		return "nodes"
	}
	if z, err := zip.OpenReader(path); err == nil {
		defer z.Close()
		if slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.FileInfo().Name() == "labels.txt" }) {
			return "nodes"
		}
	}
	return ""
}

// source returns where the graphs come from.
func (c *config) source(ctx context.Context) (flow.Source, error) {
	path := c.graph.Path
	c.graph.Workers = c.workers
	if c.graph.Tables.Edges != "" {
		return c.graph.Source(ctx)
	}
	if c.data != "" {
		var err error
		if path, err = cli.Find(ctx, cli.Place("nodes", c.data)); err != nil {
			return nil, err
		}
	}
	switch stored(path) {
	case "nodes":
		return sources.Nodes{Path: path}, nil
	case "parquet":
		if parquet.IsEdges(path) {
			return parquet.Edges{Path: path, Directed: c.graph.Directed, Weights: c.graph.Weights, Workers: c.workers, Progress: input.Bar("rows of edges")}, nil
		}
		return parquet.Source{Path: path}, nil
	case "arrow":
		return input.Arrow(path), nil
	}
	if c.data != "" {
		return sources.TU{Path: path, Directed: c.graph.Directed}, nil
	}
	return c.graph.Source(ctx)
}

// average returns the mean number of nodes of the graphs, rounded, at least 1.
func average(ctx context.Context, src flow.Source) (int, error) {
	var t input.Tally
	if err := flow.From(&input.Named{Source: src}).Via(&t).Run(ctx); err != nil {
		return 0, cli.Cause(ctx, err)
	}
	return max(1, int((t.Nodes+t.Graphs/2)/max(1, t.Graphs))), nil
}
