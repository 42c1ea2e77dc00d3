package operators

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Check refuses graphs that break the rules of package graph, or have values or classes outside
// their layout. Put it after your own source or after files of unknown origin; the sources of
// this module check their graphs. O(n + m log m).
type Check struct{}

var _ flow.Operator = Check{}

// Open reads the schema.
func (Check) Open(in *arrow.Schema) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	return stageOfRows(in, &checker{bound: bound}), nil
}

type checker struct {
	bound  *record.Binding
	graphs *record.Graphs
}

func (c *checker) Fork() rowBuilder { return &checker{bound: c.bound} }

func (c *checker) Begin(_ memory.Allocator, rec arrow.Record) (err error) {
	c.graphs, err = c.bound.Unchecked(rec)
	return err
}

func (c *checker) Row(_ context.Context, row int) error { return c.graphs.Check(row) }

func (c *checker) Finish(int) map[string]arrow.Array { return nil }

func (c *checker) Release() {}
