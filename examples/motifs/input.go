package main

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	graphs "github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
)

// generated are the graphs of the paper's figure that are made by a rule.
var generated = graphs.Families

//go:embed karate.edges
var karate string

// karateClub is the graph of a club.
func karateClub(ctx context.Context) (*graph.Graph, error) {
	set, err := sources.EdgeList{Path: "karate.edges", Reader: strings.NewReader(karate)}.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.Items[0].Graph, nil
}

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
	in = &input{name: cli.DataName(c.graph)}
	if c.graph == "karate" {
		in.graph, err = karateClub(ctx)
	} else {
		in.graph, in.ids, err = graphs.Load(ctx, c.graph, c.n, c.seed)
	}
	if err != nil {
		return nil, cli.Cause(ctx, fmt.Errorf("-graph: %w", err))
	}
	switch {
	case in.graph.N() <= maxPortrait:
		in.portrait = in.graph
	case slices.Contains(generated, c.graph):
		in.portrait, _, err = graphs.Generate(ctx, c.graph, 100, c.seed)
	}
	return in, err
}
