// Package collection is what commands that classify the graphs of a collection
// share: the graphs in memory, their receptive fields, and trainings on some of
// them.
package collection

import (
	"context"
	"errors"
	"fmt"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Data is a collection in memory.
type Data struct {
	Name    string
	Layout  record.Layout
	Graphs  sinks.Collect
	Nodes   []int   // number of nodes of each graph
	Class   []int32 // of each graph
	Average float64 // nodes
}

// Release gives the memory back.
func (d *Data) Release() { d.Graphs.Release() }

// Source returns the graphs of that name, for sources.Open, and what they are called in a report; the
// empty name is a generated collection.
func Source(ctx context.Context, name string, seed uint64) (flow.Source, string, error) {
	if name == "" {
		return sources.Families{Seed: seed}, "generated", nil
	}
	src, err := sources.Open(ctx, name, input.Options())
	return src, cli.DataName(name), err
}

// Load reads the collection that Source names; it must have two classes or more.
func Load(ctx context.Context, name string, seed uint64) (*Data, error) {
	src, name, err := Source(ctx, name, seed)
	if err != nil {
		return nil, err
	}
	return Read(ctx, src, name)
}

// Read reads a collection of that name; it must have two classes or more.
func Read(ctx context.Context, src flow.Source, name string) (*Data, error) {
	d := &Data{Name: name}
	_, err := cli.Run(ctx, flow.From(src).To(&d.Graphs), "reading graphs", -1, cli.Last)
	if err == nil {
		err = d.survey()
	}
	if err != nil {
		d.Release()
		return nil, err
	}
	return d, nil
}

// CheckClasses refuses graphs without classes.
func CheckClasses(l record.Layout) error {
	if l.Real {
		return errors.New("the targets are real values, not classes")
	}
	if len(l.Classes) == 0 {
		return errors.New("the graphs have no classes")
	}
	return nil
}

// survey notes the size and the class of each graph.
func (d *Data) survey() error {
	sum := 0
	for _, rec := range d.Graphs.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		d.Layout = gs.Layout
		if err := CheckClasses(gs.Layout); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
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
