package sinks

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators/count"
)

// CollectGraphs keeps graphs with the hashes of their labels, and targets, for kernels that
// need more than counts:
//
//	var all sinks.CollectGraphs
//	err := flow.From(sources.TU{Path: "MUTAG.zip"}).To(&all).Run(ctx)
//	gram, err := graphkernel.Walks{Decay: 1e-2}.Gram(ctx, all.Graphs)
//
// The zero value is ready; it must not be copied. Several runs add up.
type CollectGraphs struct {
	// Bins lets continuous attributes take part in labels. The default leaves them
	// out.
	Bins count.Bins

	Graphs []graphkernel.LabelledGraph
	Class  []int32   // of each row, if the records name it
	Values []float32 // of each row, if numbers are learned
	Graph  []int64   // the id of each row

	mu sync.Mutex
}

var _ flow.Sink = (*CollectGraphs)(nil)

// Name returns the name in plans and errors.
func (*CollectGraphs) Name() string { return "collect graphs" }

// Open looks for the columns of graphs.
func (c *CollectGraphs) Open(in *arrow.Schema) (flow.Writer, error) {
	_, err := record.LayoutOf(in)
	return graphCollector{c}, err
}

type graphCollector struct{ c *CollectGraphs }

func (w graphCollector) Write(_ context.Context, rec arrow.Record) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return err
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for row := range graphs.Len() {
		var g graph.Graph
		graphs.At(row, &g)
		l := graphkernel.LabelledGraph{Offsets: slices.Clone(g.Offsets), Neighbors: slices.Clone(g.Neighbors), Directed: g.Directed}
		if l.Nodes, l.Edges, err = count.LabelsOf(&g, w.c.Bins); err != nil {
			return err
		}
		w.c.Graphs = append(w.c.Graphs, l)
	}
	w.c.Graph = append(w.c.Graph, ids...)
	collectTargets(rec, &w.c.Class, &w.c.Values)
	return nil
}

func (graphCollector) Close(error) error { return nil }

// collectTargets appends the targets of a record, where it has any.
func collectTargets(rec arrow.Record, class *[]int32, values *[]float32) {
	if c, err := record.Values[int32](rec, record.Target); err == nil {
		*class = append(*class, c...)
	} else if v, err := record.Values[float32](rec, record.Target); err == nil {
		*values = append(*values, v...)
	}
}
