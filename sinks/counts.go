package sinks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators"
)

// CountNames returns the names of the counts of operators.Count in a schema, in the order of
// columns.
func CountNames(s *arrow.Schema) (names []string) {
	for _, f := range s.Fields() {
		name, ok := strings.CutSuffix(f.Name, "_ids")
		if _, counts := operators.CountColumns(name); ok && name != "" && s.HasField(counts) {
			names = append(names, name)
		}
	}
	return names
}

// CountsOf returns the counts of the named columns, one row for each row of rec. Counts of
// several names are joined; counts with the same id are added.
func CountsOf(rec arrow.Record, names ...string) (*nn.Counts, error) {
	if len(names) == 0 {
		return nil, errors.New("sinks: no counts are named")
	}
	var all []countLists
	for _, name := range names {
		ids, counts := operators.CountColumns(name)
		i, err := record.ListsOf[uint64](rec, ids)
		if err != nil {
			return nil, err
		}
		n, err := record.ListsOf[float32](rec, counts)
		if err != nil {
			return nil, err
		}
		all = append(all, countLists{name, i, n})
	}
	rows, values := int(rec.NumRows()), 0
	for i := range rows {
		for _, l := range all {
			n := len(l.ids.Row(i))
			if other := len(l.counts.Row(i)); other != n {
				return nil, fmt.Errorf("row %d has %d ids and %d counts of %s", i, n, other, l.name)
			}
			values += n
		}
	}
	c := &nn.Counts{Offsets: make([]int, 1, rows+1), IDs: make([]uint64, 0, values), Values: make([]float64, 0, values)}
	var row, sum sparseRow
	for i := range rows {
		sum.clear()
		for _, l := range all[:len(all)-1] {
			row, sum = sum, row
			sum.clear()
			sum.merge(row, l.ids.Row(i), l.counts.Row(i))
		}
		last, to := all[len(all)-1], sparseRow{c.IDs, c.Values}
		to.merge(sum, last.ids.Row(i), last.counts.Row(i))
		c.IDs, c.Values = to.ids, to.counts
		c.Offsets = append(c.Offsets, len(c.IDs))
	}
	return c, nil
}

type countLists struct {
	name   string
	ids    record.ListView[uint64]
	counts record.ListView[float32]
}

// sparseRow is a row of counts, ids ascending.
type sparseRow struct {
	ids    []uint64
	counts []float64
}

func (s *sparseRow) clear() { s.ids, s.counts = s.ids[:0], s.counts[:0] }

func (s *sparseRow) add(id uint64, count float64) {
	s.ids, s.counts = append(s.ids, id), append(s.counts, count)
}

// merge appends the sum of a row and of ids with their counts.
func (s *sparseRow) merge(a sparseRow, ids []uint64, counts []float32) {
	i, j := 0, 0
	for i < len(a.ids) && j < len(ids) {
		switch {
		case a.ids[i] < ids[j]:
			s.add(a.ids[i], a.counts[i])
			i++
		case ids[j] < a.ids[i]:
			s.add(ids[j], float64(counts[j]))
			j++
		default:
			s.add(ids[j], a.counts[i]+float64(counts[j]))
			i, j = i+1, j+1
		}
	}
	s.ids, s.counts = append(append(s.ids, a.ids[i:]...), ids[j:]...), append(s.counts, a.counts[i:]...)
	for _, x := range counts[j:] {
		s.counts = append(s.counts, float64(x))
	}
}

// CollectCounts keeps the counts and the targets of a stream, but not the graphs:
//
//	var bags sinks.CollectCounts
//	err := flow.From(sources.TU{Path: "MUTAG.zip"}).
//		Via(operators.Count{Name: "wl", Of: []count.Counter{count.WL{Height: 2}}}).
//		To(&bags).Run(ctx)
//	gram, err := graphkernel.GramOf(ctx, bags.Counts[0], nn.Cosine, 2)
//
// The zero value is ready; it must not be copied. Several runs add up.
type CollectCounts struct {
	// Names are the names of the counts to keep. The default is all names.
	Names []string

	Counts []*nn.Counts // one for each of the names
	// Contexts are the contexts of each name, for graphkernel.Deep; none for names without contexts
	// in Count.
	Contexts []*graphkernel.Contexts
	Class    []int32   // of each row, if the records name it
	Values   []float32 // of each row, if numbers are learned
	Graph    []int64   // the id of each row

	mu sync.Mutex
}

var _ flow.Sink = (*CollectCounts)(nil)

// Name returns the name in plans and errors.
func (*CollectCounts) Name() string { return "collect counts" }

// Open returns an error if the counts are missing.
func (c *CollectCounts) Open(in *arrow.Schema) (flow.Writer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := CountNames(in)
	if len(c.Names) == 0 {
		c.Names = there
	}
	if len(c.Names) == 0 {
		return nil, errors.New("there are no counts to collect: put operators.Count before it")
	}
	for _, name := range c.Names {
		if ids, _ := operators.CountColumns(name); !in.HasField(ids) {
			return nil, fmt.Errorf("there are no counts %q, but %q", name, there)
		}
	}
	for len(c.Counts) < len(c.Names) {
		c.Counts, c.Contexts = append(c.Counts, new(nn.Counts)), append(c.Contexts, new(graphkernel.Contexts))
	}
	return countCollector{c}, nil
}

type countCollector struct{ c *CollectCounts }

func (w countCollector) Write(_ context.Context, rec arrow.Record) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for i, name := range w.c.Names {
		counts, err := CountsOf(rec, name)
		if err != nil {
			return err
		}
		for row := range counts.Len() {
			w.c.Counts[i].Append(counts.Row(row))
		}
		if column := operators.ContextsColumn(name); rec.Schema().HasField(column) {
			lists, err := record.NestedOf[uint64](rec, column)
			if err != nil {
				return err
			}
			ends, ids := lists.All()
			for j := range len(ends) - 1 {
				w.c.Contexts[i].Append(ids[ends[j]:ends[j+1]])
			}
		}
	}
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return err
	}
	w.c.Graph = append(w.c.Graph, ids...)
	collectTargets(rec, &w.c.Class, &w.c.Values)
	return nil
}

func (countCollector) Close(error) error { return nil }
