package main

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

// pairWords counts what stands around a pair of nodes, the two roots of a row: the
// words of surroundings. It adds what operators.Count adds for whole graphs, words_ids
// and words_counts, and target: 1 where the pair is an edge of Full. The graph and
// the roots end here. It stands behind Chunk of 2.
type pairWords struct {
	Full *graph.Graph
}

func (p pairWords) String() string { return "pairWords" }

// Open finds the columns.
func (p pairWords) Open(in *arrow.Schema) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	target, err := linkField()
	if err != nil {
		return nil, err
	}
	ids, counts := operators.CountColumns("")
	rest := record.Without(in, record.Offsets, record.Neighbors, record.NodeAttr, record.NodeSparse, record.Roots)
	out, err := record.Extend(rest,
		arrow.Field{Name: ids, Type: record.ListType[uint64]()}, arrow.Field{Name: counts, Type: record.ListType[float32]()}, target)
	if err != nil {
		return nil, err
	}
	return operators.RowStage(out, &worder{pairWords: p, bound: bound}), nil
}

// worder is one worker.
type worder struct {
	pairWords
	bound  *record.Binding
	graphs *record.Graphs
	roots  record.ListView[int32]
	around surroundings
	bag    count.Bag

	ids    *record.Lists[uint64]
	counts *record.Lists[float32]
	target *record.Column[int32]
}

func (w *worder) Fork() operators.RowBuilder {
	return &worder{pairWords: w.pairWords, bound: w.bound}
}

func (w *worder) Begin(mem memory.Allocator, rec arrow.Record) (err error) {
	if w.ids == nil {
		w.ids, w.counts, w.target = record.NewLists[uint64](mem), record.NewLists[float32](mem), record.NewColumn[int32](mem)
	}
	if w.roots, err = record.ListsOf[int32](rec, record.Roots); err != nil {
		return err
	}
	w.graphs, err = w.bound.View(rec)
	return err
}

func (w *worder) Row(_ context.Context, row int) error {
	var g graph.Graph
	w.graphs.At(row, &g)
	roots := w.roots.Row(row)
	w.bag.Reset()
	w.around.count(&g, pair{roots[0], roots[1]}, &w.bag)
	entries := w.bag.Entries()
	ids, counts := w.ids.Grow(len(entries)), w.counts.Grow(len(entries))
	for i, e := range entries {
		ids[i], counts[i] = e.ID, float32(e.Count)
	}
	link := int32(0)
	if w.Full.Entry(roots[0], roots[1]) >= 0 {
		link = 1
	}
	w.target.Append(link)
	return nil
}

func (w *worder) Finish(int) map[string]arrow.Array {
	ids, counts := operators.CountColumns("")
	return map[string]arrow.Array{ids: w.ids.Finish(), counts: w.counts.Finish(), record.Target: w.target.Finish()}
}

func (w *worder) Release() {
	if w.ids != nil {
		w.ids.Release()
		w.counts.Release()
		w.target.Release()
	}
}
