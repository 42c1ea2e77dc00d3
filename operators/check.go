package operators

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Check refuses graphs that break the rules of package graph, or have values or classes outside
// their layout. Put it after your own source or after files of unknown origin; the sources of
// this module check their graphs. O(n + m log m).
type Check struct{}

var _ flow.Operator = Check{}

// Open reads the schema.
func (Check) Open(in *arrow.Schema) (flow.Stage, error) {
	return sift(in, (*record.Binding).Unchecked, func(gs *record.Graphs, row int) error { return gs.Check(row) })
}

// Filter leaves out the graphs for which Keep returns false. They count as complete.
type Filter struct {
	// Keep reports whether a graph passes. It must be set, and may be called by several workers at
	// once. The graph is borrowed for the call.
	Keep func(g *graph.Graph) bool
}

var _ flow.Operator = Filter{}

// String omits the function.
func (Filter) String() string { return "Filter" }

// Open checks the setting.
func (f Filter) Open(in *arrow.Schema) (flow.Stage, error) {
	if f.Keep == nil {
		return nil, errors.New("the field Keep is not set")
	}
	return sift(in, (*record.Binding).View, func(gs *record.Graphs, row int) error {
		var g graph.Graph
		if gs.At(row, &g); !f.Keep(&g) {
			return ErrLeftOut
		}
		return nil
	})
}

// sift returns a stage that passes the rows of which look says nothing.
func sift(in *arrow.Schema, view func(*record.Binding, arrow.Record) (*record.Graphs, error), look func(*record.Graphs, int) error) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	return RowStage(in, &sieve{bound: bound, view: view, look: look}), nil
}

type sieve struct {
	bound  *record.Binding
	view   func(*record.Binding, arrow.Record) (*record.Graphs, error)
	look   func(*record.Graphs, int) error
	graphs *record.Graphs
}

func (s *sieve) Fork() RowBuilder { return &sieve{bound: s.bound, view: s.view, look: s.look} }

func (s *sieve) Begin(_ memory.Allocator, rec arrow.Record) (err error) {
	s.graphs, err = s.view(s.bound, rec)
	return err
}

func (s *sieve) Row(_ context.Context, row int) error { return s.look(s.graphs, row) }

func (s *sieve) Finish(int) map[string]arrow.Array { return nil }

func (s *sieve) Release() {}
