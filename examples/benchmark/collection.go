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
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// collection is the graphs of a collection, in memory.
type collection struct {
	Name    string
	Layout  record.Layout
	Graphs  sinks.Collect
	Nodes   []int   // of each graph, the number of its nodes
	Class   []int32 // of each graph
	Average float64 // of Nodes
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

// loadCollection reads the graphs of sourceOf. A collection has two classes or more.
func loadCollection(ctx context.Context, name string, seed uint64) (*collection, error) {
	src, name, err := sourceOf(ctx, name, seed)
	if err != nil {
		return nil, err
	}
	return readCollection(ctx, src, name)
}

// readCollection reads the graphs of a source.
func readCollection(ctx context.Context, src flow.Source, name string) (*collection, error) {
	d := &collection{Name: name}
	_, err := cli.Run(ctx, flow.From(src).To(&d.Graphs), "reading graphs", -1, cli.Last)
	if err == nil {
		err = d.survey()
	}
	if err != nil {
		d.Graphs.Release()
		return nil, err
	}
	return d, nil
}

// survey sets the sizes and the classes of the graphs.
func (d *collection) survey() error {
	sum := 0
	for _, rec := range d.Graphs.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		d.Layout = gs.Layout
		switch {
		case gs.Layout.Real:
			return fmt.Errorf("%s: the targets are real values, not classes", d.Name)
		case len(gs.Layout.Classes) == 0:
			return fmt.Errorf("%s: the graphs have no classes", d.Name)
		}
		class, err := record.Values[int32](rec, record.Target)
		if err != nil {
			return err
		}
		d.Class = append(d.Class, class...)
		var g graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
			d.Nodes = append(d.Nodes, g.N())
			sum += g.N()
		}
	}
	switch {
	case len(d.Class) == 0:
		return fmt.Errorf("%s: there are no graphs", d.Name)
	case len(d.Layout.Classes) < 2:
		return fmt.Errorf("%s: all %d graphs are of class %s; there is nothing to classify", d.Name, len(d.Class), d.Layout.Classes[0])
	case sum == 0:
		return fmt.Errorf("%s: no graph has a node", d.Name)
	}
	d.Average = float64(sum) / float64(len(d.Nodes))
	return nil
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
