package main

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
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
	if found, _ := filepath.Glob(filepath.Join(path, "labels.txt")); found != nil {
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
	if c.data != "" {
		var err error
		if path, err = cli.Find(ctx, c.data); err != nil {
			return nil, err
		}
	}
	switch stored(path) {
	case "nodes":
		return sources.Nodes{Path: path}, nil
	case "parquet":
		return parquet.Source{Path: path}, nil
	case "arrow":
		return sources.IPC{Path: path}, nil
	}
	if c.data != "" {
		return sources.TU{Path: path, Directed: c.graph.Directed}, nil
	}
	return c.graph.Source(ctx)
}

// counted is a source whose graphs are counted, and whose names of nodes are
// kept.
type counted struct {
	flow.Source
	report *report
	name   func(int32) int32 // nil: nodes are called by their numbers
}

// String is for the plan of a pipeline.
func (s *counted) String() string { return fmt.Sprint(s.Source) }

func (s *counted) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	start := time.Now()
	var r flow.Reader
	err := cli.Await(ctx, func() (err error) { // sorting the edges of a large graph takes a while
		r, err = s.Source.Open(ctx, mem)
		return err
	})
	if err != nil {
		return nil, err
	}
	if e, ok := r.(*sources.EdgeListReader); ok && e.Network().IDs != nil {
		s.name = e.Network().ID
	}
	s.report.ReadSeconds = time.Since(start).Seconds()
	return &countedReader{r, s.report}, nil
}

type countedReader struct {
	flow.Reader
	report *report
}

func (r *countedReader) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		rec.Release()
		return nil, err
	}
	var g graph.Graph
	for row := range graphs.Len() {
		graphs.At(row, &g)
		r.report.Graphs++
		r.report.Nodes += int64(g.N())
		r.report.Edges += int64(g.M())
	}
	return rec, nil
}

// average returns the mean number of nodes of the graphs, rounded, at least 1.
func average(ctx context.Context, src flow.Source) (int, error) {
	r, err := (&counted{Source: src, report: &report{}}).Open(ctx, memory.DefaultAllocator)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			n := r.(*countedReader).report
			return max(1, int((n.Nodes+n.Graphs/2)/max(1, n.Graphs))), nil
		}
		if err != nil {
			return 0, err
		}
		rec.Release()
	}
}
