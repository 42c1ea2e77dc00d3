package main

import (
	"context"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
)

// open returns the graphs that the command line names, and a name for them.
func (c *config) open(ctx context.Context) (name string, graphs flow.Pipeline, err error) {
	switch {
	case c.graph != "":
		return cli.DataName(c.graph), flow.From(sources.EdgeList{Path: cli.Place("graphs", c.graph), Directed: c.directed}), nil
	case c.data == "":
		return "generated", flow.From(sources.Families{Seed: c.options.Seed}), nil
	}
	path, err := cli.Find(ctx, c.data)
	return cli.DataName(path), flow.From(sources.TU{Path: path}), err
}
