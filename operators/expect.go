package operators

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Expect passes graphs of a layout and refuses others with an error that names the difference.
// A stream without classes passes, and ids of nodes are not compared. Columns of
// tables are compared as by record.Layout.SameColumns; for tables with other names set Layout.Columns, or
// clear it.
//
// The words of an attribute may differ from those of the layout in content and number. Each
// index becomes the layout's index of the same word, so a model reads the same values from any
// file. A word that the layout lacks becomes record.Channel.Unseen and is counted as
// "unseen words"; a model learns that index with MaskWords. O(values). If words differ, the columns
// are copied, so put Expect before Chunk.
type Expect struct {
	Layout record.Layout
}

var _ flow.Operator = Expect{}

// String keeps the plan of a pipeline short.
func (Expect) String() string { return "Expect" }

// Open compares the layouts.
func (e Expect) Open(in *arrow.Schema) (flow.Stage, error) {
	want := e.Layout
	if err := want.Check(); err != nil {
		return nil, err
	}
	l, err := record.LayoutOf(in)
	if err != nil {
		return nil, err
	}
	if err := l.SameColumns(&want); err != nil {
		return nil, err
	}
	if l.Directed != want.Directed {
		return nil, fmt.Errorf("the graphs are %s, want %s ones", directed(l), directed(want))
	}
	wanted := want.Attributes()
	for i, got := range l.Attributes() {
		if want := wanted[i]; !slices.EqualFunc(got.Channels, want.Channels, alike) {
			return nil, fmt.Errorf("the graphs have the channels %s in %s, want %s", channelWords(got.Channels), got.Column, channelWords(want.Channels))
		}
	}
	if l.Real && len(want.Classes) > 0 {
		return nil, errors.New("the targets are numbers, want classes")
	}
	if len(l.Classes) > 0 && !slices.Equal(l.Classes, want.Classes) {
		return nil, fmt.Errorf("the graphs are of the classes %q, want %q", l.Classes, want.Classes)
	}
	if len(l.Targets) > 0 && !reflect.DeepEqual(l.Targets, want.Targets) {
		return nil, fmt.Errorf("the graphs have the targets %v, want %v", l.Targets, want.Targets)
	}
	if len(l.NodeClasses) > 0 && !slices.Equal(l.NodeClasses, want.NodeClasses) {
		return nil, fmt.Errorf("the nodes are of the classes %q, want %q", l.NodeClasses, want.NodeClasses)
	}
	return e.mapWords(in, l)
}

// alike compares channels without the content of their words. If one has words, both must.
func alike(got, want record.Channel) bool {
	if got.Words == nil || want.Words == nil {
		return got.Equal(want)
	}
	return got.Name == want.Name
}

func directed(l record.Layout) string {
	if l.Directed {
		return "directed"
	}
	return "undirected"
}

// channelWords lists the names of channels, with the number of values of discrete ones.
func channelWords(list []record.Channel) string {
	if len(list) == 0 {
		return "none"
	}
	var names []string
	for _, c := range list {
		name := c.Name
		switch {
		case c.Words != nil:
			name += fmt.Sprintf(" (%d words)", len(c.Words))
		case c.Offset != 0:
			name += fmt.Sprintf(" (offset %v)", c.Offset)
		case c.Card > 0:
			name += fmt.Sprintf(" (%d values)", c.Card)
		}
		names = append(names, name)
	}
	return fmt.Sprintf("%q", names)
}

// passing is a stage that passes every record.
type passing struct{ schema *arrow.Schema }

func (p passing) Schema() *arrow.Schema { return p.schema }

func (p passing) Fork() flow.Stage { return p }

func (p passing) Process(rec arrow.Record, out *flow.Out) error {
	rec.Retain()
	return out.Emit(rec)
}

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
	return stageOfRows(in, func(memory.Allocator) rowBuilder { return &checker{bound: bound} }), nil
}

type checker struct {
	columns
	bound  *record.Binding
	graphs *record.Graphs
}

func (c *checker) Begin(rec arrow.Record) (err error) {
	c.graphs, err = c.bound.Unchecked(rec)
	return err
}

func (c *checker) Row(_ context.Context, row int) error { return c.graphs.Check(row) }
