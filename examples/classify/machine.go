package main

import (
	"context"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
)

// kernels are those that a machine chooses among. Both are 1 for a graph and
// itself, so that a C means the same for each.
var kernels = []nn.Similarity{nn.Cosine, nn.UnitMin}

// costs are the C among which it chooses.
var costs = []float64{1e-2, 1e-1, 1, 10, 100, 1000}

// machines is support vector machines on words: the variants of the validation are
// kernels, and its steps are C.
type machines struct {
	e      *evaluation
	counts *nn.Counts
	grid   graphkernel.SVMGrid
}

func newMachines(e *evaluation) (*machines, error) {
	counts, err := sinks.CountsOf(e.fields.Record, sinks.CountNames(e.fields.Record.Schema())...)
	if err != nil {
		return nil, err
	}
	m := &machines{e: e, counts: counts}
	m.grid.Class, m.grid.C = e.data.Class, costs
	m.grid.Gram = func(ctx context.Context, variant int) (*graphkernel.Gram, error) {
		return graphkernel.GramOf(ctx, counts, kernels[variant], e.c.workers)
	}
	return m, nil
}

// fit learns from the training graphs of a split.
func (m *machines) fit(ctx context.Context, s validation.Split, kernel nn.Similarity, c float64) (*graphkernel.SVM, error) {
	rows, class := new(nn.Counts), make([]int32, len(s.Train))
	for i, row := range s.Train {
		rows.Append(m.counts.Row(int(row)))
		class[i] = m.e.data.Class[row]
	}
	svm := &graphkernel.SVM{C: c, Kernel: kernel}
	return svm, svm.FitCounts(ctx, rows, class)
}
