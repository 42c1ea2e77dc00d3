// Package rootwords has the operator for a model of words that are counted around the
// roots of a row, and not in a whole graph as operators.Count does.
package rootwords

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
)

// Operator adds to each row what operators.Count adds to one of a whole graph,
// words_ids and words_counts, and target. The graph and the roots end here. It stands
// behind Chunk.
type Operator struct {
	Name    string
	Classes []string       // of the target
	Counter func() Counter // for one worker
}

// Counter counts the words of a row: it adds to the bag, which is empty, what stands
// around the roots, and returns the class of the row. g and roots are borrowed.
type Counter interface {
	Count(g *graph.Graph, roots []int32, bag *count.Bag) (class int32)
}

func (o Operator) String() string { return o.Name }

// Open finds the columns.
func (o Operator) Open(in *arrow.Schema) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	target, _, err := record.Field(record.Layout{Classes: o.Classes}.Schema(), record.Target)
	if err != nil {
		return nil, err
	}
	ids, counts := operators.CountColumns("")
	rest := record.Without(in, record.Offsets, record.Neighbors, record.NodeAttr, record.NodeSparse, record.NodeTarget, record.Roots)
	out, err := record.Extend(rest,
		arrow.Field{Name: ids, Type: record.ListType[uint64]()}, arrow.Field{Name: counts, Type: record.ListType[float32]()}, target)
	if err != nil {
		return nil, err
	}
	return operators.RowStage(out, &worker{counter: o.Counter, bound: bound}), nil
}

type worker struct {
	counter func() Counter
	bound   *record.Binding
	graphs  *record.Graphs
	roots   record.ListView[int32]
	own     Counter // nil before the first record
	bag     count.Bag

	ids    *record.Lists[uint64]
	counts *record.Lists[float32]
	target *record.Column[int32]
}

func (w *worker) Fork() operators.RowBuilder {
	return &worker{counter: w.counter, bound: w.bound}
}

func (w *worker) Begin(mem memory.Allocator, rec arrow.Record) (err error) {
	if w.own == nil {
		w.own = w.counter()
		w.ids, w.counts, w.target = record.NewLists[uint64](mem), record.NewLists[float32](mem), record.NewColumn[int32](mem)
	}
	if w.roots, err = record.ListsOf[int32](rec, record.Roots); err != nil {
		return err
	}
	w.graphs, err = w.bound.View(rec)
	return err
}

func (w *worker) Row(_ context.Context, row int) error {
	var g graph.Graph
	w.graphs.At(row, &g)
	w.bag.Reset()
	class := w.own.Count(&g, w.roots.Row(row), &w.bag)
	entries := w.bag.Entries()
	ids, counts := w.ids.Grow(len(entries)), w.counts.Grow(len(entries))
	for i, e := range entries {
		ids[i], counts[i] = e.ID, float32(e.Count)
	}
	w.target.Append(class)
	return nil
}

func (w *worker) Finish(int) map[string]arrow.Array {
	ids, counts := operators.CountColumns("")
	return map[string]arrow.Array{ids: w.ids.Finish(), counts: w.counts.Finish(), record.Target: w.target.Finish()}
}

func (w *worker) Release() {
	if w.ids != nil {
		w.ids.Release()
		w.counts.Release()
		w.target.Release()
	}
}
