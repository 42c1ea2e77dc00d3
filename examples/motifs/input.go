package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/cli"
	graphs "github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
)

// generated are the graphs of the paper's figure that are made by a rule.
var generated = graphs.Families

// input is the graph whose fields are learned.
type input struct {
	name  string
	graph *graph.Graph
	ids   graph.IDs // of the nodes in the file; none: their numbers

	// What is drawn of it: the graph itself where it is small, else one of about
	// a hundred nodes made by the same rule, else nothing.
	portrait *graph.Graph
}

// id is what a node is called.
func (in *input) id(v int32) int64 {
	if id, ok := in.ids.Int(v); ok {
		return id
	}
	return int64(v)
}

// Beyond this many nodes a drawing is a blot.
const maxPortrait = 250

// load makes or reads the graph of the command line.
func (c *config) load(ctx context.Context) (in *input, err error) {
	in = &input{name: c.graph}
	switch {
	case c.graph == "karate":
		in.graph, err = karateClub()
	case slices.Contains(generated, c.graph):
		in.graph, _, err = graphs.Generate(ctx, c.graph, c.n, c.seed)
		if err == nil && c.n > maxPortrait {
			in.portrait, _, err = graphs.Generate(ctx, c.graph, 100, c.seed)
		}
	default:
		err = in.read(ctx, c.graph)
	}
	if err != nil {
		return nil, err
	}
	if in.graph.N() <= maxPortrait {
		in.portrait = in.graph
	}
	return in, nil
}

// read reads an edge list.
func (in *input) read(ctx context.Context, path string) error {
	net, err := sources.EdgeList{Path: cli.Place("graphs", path)}.Read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("-graph: %w", err)
	}
	in.graph, in.ids = net.Graph, net.IDs
	in.name = cli.DataName(path)
	return nil
}
