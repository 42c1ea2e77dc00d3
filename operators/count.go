package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/count"
)

// Count counts substructures of each graph, the input of kernels and linear models. It adds two
// columns: "words_ids", the ids of the substructures in the graph, strictly ascending, and
// "words_counts", a list of the same length with the number of occurrences of each. Package
// count describes ids and counters.
//
//	Via(operators.Count{Of: []count.Counter{count.WL{Height: 2}}})
//
// Counters that read roots need Select before Count. A worker needs memory for the different
// substructures of one graph, and a record for those of its graphs.
type Count struct {
	// Of are the counters. All write to the same two columns. It must be set.
	Of []count.Counter
	// DropGraph ends the columns of the graph here, as Normalize does: for rows that share a large
	// graph, such as rows of sources.Rooted, before a stage copies them.
	DropGraph bool
}

var _ flow.Operator = Count{}

// WordIDs and WordCounts are the columns that Count adds.
const WordIDs, WordCounts = "words_ids", "words_counts"

var wordFields = []arrow.Field{
	{Name: WordIDs, Type: record.ListType[uint64]()}, {Name: WordCounts, Type: record.ListType[float32]()},
}

// String lists the counters, for the plan of a pipeline.
func (c Count) String() string {
	var names []string
	for _, of := range c.Of {
		names = append(names, fmt.Sprint(of))
	}
	text := "Of=" + strings.Join(names, ", ")
	if c.DropGraph {
		text += " DropGraph=true"
	}
	return text
}

// Open checks the settings.
func (c Count) Open(in *arrow.Schema) (flow.Stage, error) {
	if len(c.Of) == 0 {
		return nil, errors.New("the field Of is empty, want a counter")
	}
	of, err := prepareAll(c.Of)
	if err != nil {
		return nil, err
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	_, roots, err := record.Field(in, record.Roots)
	if err != nil {
		return nil, err
	}
	from := slices.Clone(c.Of) // counters that each worker prepares
	for i, w := range of {
		if shared, ok := w.(count.Counter); ok {
			from[i] = shared
		}
	}
	for _, of := range c.Of {
		if !roots && needsRoots(of) {
			return nil, fmt.Errorf("%s reads roots, and there is no column %q: put Select before Count", of, record.Roots)
		}
	}
	var drop []string
	if c.DropGraph {
		drop = graphColumns
	}
	schema, err := record.Replace(in, drop, wordFields...)
	if err != nil {
		return nil, err
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		return &counter{from: from, viewer: viewer{bound: bound}, chosen: roots, wordLists: newWordLists(mem)}
	}), nil
}

// needsRoots reports whether a counter counts around roots alone.
func needsRoots(c count.Counter) bool {
	switch c := c.(type) {
	case count.Fields:
		return c.Selected
	case count.Around, count.Pair:
		return true
	}
	return false
}

// prepareAll returns a worker for each counter.
func prepareAll(of []count.Counter) ([]count.Worker, error) {
	own := make([]count.Worker, len(of))
	for i, c := range of {
		if c == nil {
			return nil, fmt.Errorf("counter %d is nil", i+1)
		}
		var err error
		if own[i], err = count.Prepare(c); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// counter is one worker of a running Count.
type counter struct {
	viewer
	wordLists
	from   []count.Counter
	chosen bool // rows have roots

	of    []count.Worker // counters of this worker; nil before the first record
	bag   count.Bag
	roots record.ListView[int32]
}

func (c *counter) Begin(rec arrow.Record) (err error) {
	if c.of == nil {
		if c.of, err = prepareAll(c.from); err != nil {
			return err
		}
	}
	if c.chosen {
		if c.roots, err = record.ListsOf[int32](rec, record.Roots); err != nil {
			return err
		}
	}
	return c.viewer.Begin(rec)
}

func (c *counter) Row(ctx context.Context, row int) error {
	g := c.graph(row)
	in := count.Input{Graph: &g, Context: ctx}
	if c.chosen {
		in.Roots = append([]int32{}, c.roots.Row(row)...) // not nil, also if there are none
		if err := checkRoots(in.Roots, g.N()); err != nil {
			return err
		}
	}
	c.bag.Reset()
	for _, of := range c.of {
		if err := count.Compute(of, in, &c.bag); err != nil {
			return err
		}
	}
	c.add(&c.bag)
	return nil
}
