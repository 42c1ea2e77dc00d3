package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/download"
)

// open returns the graphs that the command line names, and a name for them.
func (c *config) open(ctx context.Context) (name string, graphs flow.Pipeline, err error) {
	switch {
	case c.graph != "":
		return baseName(c.graph), flow.From(sources.EdgeList{Path: c.graph, Directed: c.directed}), nil
	case c.data == "":
		return "generated", flow.From(sources.Families{Seed: c.options.Seed}), nil
	}
	var bar *cli.Progress
	path, err := download.Find(ctx, c.data, download.Options{Progress: func(done, total int64) {
		if bar == nil {
			bar = cli.NewProgress("downloading "+c.data, total)
		}
		bar.Set(done)
	}})
	bar.Done()
	return baseName(path), flow.From(sources.TU{Path: path}), err
}

func baseName(path string) string {
	name := filepath.Base(filepath.Clean(path))
	for _, end := range []string{".gz", ".zip", ".txt", ".edges"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}
