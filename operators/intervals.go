package operators

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/count"
)

// Intervals converts the numbers of rows, record.RowColumns, to words for linear models, beside
// those of Count. A number becomes the words of its intervals and a missing number a word of its
// own; see count.Cuts. It stands after Count, or alone. For an honest test, take the cuts of the
// training rows, by IntervalsOf. O(words + columns·log(cuts)).
type Intervals struct {
	// Names are the names of the columns, in their order. Records must have the same.
	Names []string
	// Cuts has the cuts of each column.
	Cuts []count.Cuts
}

var _ flow.Operator = Intervals{}

// IntervalsOf returns intervals between the quantiles of the columns of records of one schema.
func IntervalsOf(recs ...arrow.Record) (s Intervals, err error) {
	var columns [][]float32
	for _, rec := range recs {
		if s.Names, err = record.ColumnNames(rec.Schema()); err != nil {
			return s, err
		}
		x, d, err := record.FixedValues[float32](rec, record.RowColumns)
		if err != nil {
			return s, err
		}
		if columns == nil {
			columns = make([][]float32, d)
		}
		if d != len(columns) {
			return s, fmt.Errorf("operators: a record has %d columns, another %d", d, len(columns))
		}
		for i, x := range x {
			columns[i%d] = append(columns[i%d], x)
		}
	}
	for _, x := range columns {
		s.Cuts = append(s.Cuts, count.Quantiles(x))
	}
	return s, nil
}

// Open checks the columns.
func (s Intervals) Open(in *arrow.Schema) (flow.Stage, error) {
	names, err := record.ColumnNames(in)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("there is no column %q: put Describe before Intervals", record.RowColumns)
	case len(s.Cuts) != len(s.Names) || !slices.Equal(names, s.Names):
		return nil, fmt.Errorf("the numbers of a row are %q, and there are cuts of %d of %q", names, len(s.Cuts), s.Names)
	}
	for i, c := range s.Cuts {
		if err := c.Check(); err != nil {
			return nil, fmt.Errorf("column %q: %w", names[i], err)
		}
	}
	schema := in
	if !in.HasField(WordIDs) {
		if schema, err = record.Extend(in, wordFields...); err != nil {
			return nil, err
		}
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		return &intervals{Intervals: s, counted: in.HasField(WordIDs), wordLists: newWordLists(mem)}
	}), nil
}

// intervalCount is the count of a word of an interval. A row has few of them beside hundreds of
// words of its graph, and linear models scale rows to unit length. With a count of 1, 50 epochs are
// too few to learn a class that the mean of an attribute decides; with 4, the model learns noise.
const intervalCount = 2

var kindInterval = count.Kind("interval of a column")

// Words calls add for each word of the numbers of a row, with the column.
func (s Intervals) Words(row []float32, add func(column int, word uint64)) {
	for c, x := range row {
		s.Cuts[c].Words(kindInterval.Add(uint64(c)), x, 0, func(word count.Hash, _, _ float64) { add(c, uint64(word)) })
	}
}

// intervals is one worker of a running Intervals.
type intervals struct {
	Intervals
	counted bool // the rows have columns of words, to which Intervals adds

	bag     count.Bag
	columns []float32
	oldIDs  record.ListView[uint64]
	old     record.ListView[float32]
	wordLists
}

// wordLists builds the columns of words.
type wordLists struct {
	columns
	ids    *record.Lists[uint64]
	counts *record.Lists[float32]
}

func newWordLists(mem memory.Allocator) (w wordLists) {
	w.ids = addColumn(&w.columns, WordIDs, record.NewLists[uint64](mem))
	w.counts = addColumn(&w.columns, WordCounts, record.NewLists[float32](mem))
	return w
}

// add appends the words of a bag as a row.
func (w *wordLists) add(bag *count.Bag) {
	entries := bag.Entries()
	ids, counts := w.ids.Grow(len(entries)), w.counts.Grow(len(entries))
	for i, e := range entries {
		ids[i], counts[i] = e.ID, float32(e.Count)
	}
}

func (s *intervals) Begin(rec arrow.Record) (err error) {
	if s.columns, _, err = record.FixedValues[float32](rec, record.RowColumns); err != nil || !s.counted {
		return err
	}
	if s.oldIDs, err = record.ListsOf[uint64](rec, WordIDs); err != nil {
		return err
	}
	s.old, err = record.ListsOf[float32](rec, WordCounts)
	return err
}

func (s *intervals) Row(_ context.Context, row int) error {
	s.bag.Reset()
	if s.counted {
		ids, counts := s.oldIDs.Row(row), s.old.Row(row)
		if len(ids) != len(counts) {
			return fmt.Errorf("there are %d ids and %d counts", len(ids), len(counts))
		}
		for i, id := range ids {
			s.bag.Add(id, float64(counts[i]))
		}
	}
	d := len(s.Cuts)
	s.Words(s.columns[row*d:(row+1)*d], func(_ int, word uint64) { s.bag.Add(word, intervalCount) })
	s.add(&s.bag)
	return nil
}
