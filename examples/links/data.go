package main

import (
	"context"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// read returns the graph that the command line names, with its attributes where
// it has some; directions are dropped.
func read(ctx context.Context, c *config) (*graph.Graph, error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	set := &sources.NodeSet{}
	var err error
	switch {
	case c.data != "":
		set, err = sources.Nodes{Path: cli.Place("nodes", c.data)}.Read(ctx)
	case c.graph == "":
		set.Graph, _, err = generate.Communities(200, 5, 8, 1, c.seed)
	default:
		var net *sources.Network
		if net, err = (sources.EdgeList{Path: cli.Place("graphs", c.graph)}).Read(ctx); err == nil {
			set.Graph = net.Graph
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	set.Standardize()
	return set.Graph, nil
}

// name is what the graph is called in the report.
func (c *config) name() string {
	if c.data+c.graph == "" {
		return "communities"
	}
	return cli.DataName(c.data + c.graph)
}
