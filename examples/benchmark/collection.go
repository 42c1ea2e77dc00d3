package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// collection is the graphs of a collection, in memory. It has two classes or more.
type collection struct {
	Name string
	*choose.Collection
}

// sourceOf returns the graphs of a name as sources.Open has it, and the name in reports. The empty name is
// a generated collection.
func sourceOf(ctx context.Context, name string, seed uint64) (flow.Source, string, error) {
	if name == "" {
		return sources.Families{Seed: seed}, "generated", nil
	}
	src, err := sources.Open(ctx, name, input.Options())
	return src, cli.DataName(name), err
}

// loadCollection reads the graphs of sourceOf.
func loadCollection(ctx context.Context, name string, seed uint64) (*collection, error) {
	src, name, err := sourceOf(ctx, name, seed)
	if err != nil {
		return nil, err
	}
	return readCollection(ctx, src, name)
}

// readCollection reads the graphs of a source.
func readCollection(ctx context.Context, src flow.Source, name string) (*collection, error) {
	all, err := choose.Collect(ctx, flow.From(src))
	if err != nil {
		return nil, cli.Cause(ctx, fmt.Errorf("%s: %w", name, err))
	}
	if len(all.Layout.Classes) == 0 {
		all.Release()
		return nil, fmt.Errorf("%s: the targets are real values, not classes", name)
	}
	return &collection{name, all}, nil
}

// eachGraph calls do with each graph of some records. A graph shares their memory.
func eachGraph(ctx context.Context, records []arrow.Record, do func(*graph.Graph) error) error {
	for _, rec := range records {
		graphs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		for row := range graphs.Len() {
			g := new(graph.Graph)
			if graphs.At(row, g); ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := do(g); err != nil {
				return err
			}
		}
	}
	return nil
}
