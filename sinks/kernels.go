package sinks

import (
	"context"
	"fmt"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
)

// Kernel compares two graphs: by counts, by vectors learned from counts, or by random walks.
// The matrix of all graphs is scaled to a diagonal of ones, so that C of a support vector
// machine means the same for each kernel.
type Kernel struct {
	// Of are the counters of a graph, and By compares the counts of two graphs.
	Of count.Counter
	By nn.Similarity
	// If Size is above 0, graphs are compared by vectors of Size numbers in place of By:
	// graphkernel.Deep learns them, without classes, from the contexts in all graphs.
	Size int
	// Decay, if it is above 0, counts random walks that both graphs have in common
	// (graphkernel.Walks) in place of Of.
	Decay float64
}

// String describes the kernel in full.
func (k Kernel) String() string {
	switch {
	case k.Decay > 0:
		return fmt.Sprintf("walks: decay %g", k.Decay)
	case k.Size > 0:
		return fmt.Sprintf("unit vectors of %d numbers of %v", k.Size, k.Of)
	}
	return fmt.Sprintf("%v: %s", k.Of, k.By)
}

// Kernels are the variants of a cross-validation of support vector machines, which chooses a
// kernel and a C for it:
//
//	k := &sinks.Kernels{Graphs: flow.From(src), Of: []sinks.Kernel{{Of: count.WL{Height: 2}, By: nn.Cosine}}}
//	grid := &graphkernel.SVMGrid{Class: class, Gram: k.Gram}
//	all, err := validation.CrossValidation{Variants: len(k.Of), Prepare: grid.Prepare, Learn: grid.Learn}.Run(ctx, class)
//
// One goroutine at a time may call Gram.
type Kernels struct {
	// Graphs is a pipeline of graphs, without a sink. It runs again for a kernel with other
	// counters than the one before.
	Graphs flow.Pipeline
	// Of are the kernels: the variants of the cross-validation.
	Of []Kernel
	// Workers is how many goroutines make a matrix; 0 = 1. Results do not depend on it.
	Workers int
	// Seed is the seed of the learned vectors.
	Seed uint64

	counted string // what counts has
	counts  *nn.Counts
	walked  *CollectGraphs
}

// Gram returns the matrix of a variant, over the graphs in their order. Walks whose sum
// diverges are a graphkernel.ErrDiverges.
func (k *Kernels) Gram(ctx context.Context, variant int) (*graphkernel.Gram, error) {
	one := k.Of[variant]
	gram, err := k.gram(ctx, one)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", one, err)
	}
	gram.Normalize()
	return gram, nil
}

func (k *Kernels) gram(ctx context.Context, one Kernel) (*graphkernel.Gram, error) {
	workers := max(1, k.Workers)
	switch {
	case one.Decay > 0:
		if k.walked == nil {
			all := new(CollectGraphs)
			if err := k.Graphs.To(all).Run(ctx); err != nil {
				return nil, err
			}
			k.walked = all
		}
		return graphkernel.Walks{Decay: one.Decay, Workers: workers}.Gram(ctx, k.walked.Graphs)
	case one.Size > 0:
		var bags CollectCounts
		err := k.Graphs.Via(operators.Count{Of: []count.Counter{one.Of}, Contexts: true}).To(&bags).Run(ctx)
		if err != nil {
			return nil, err
		}
		vectors := graphkernel.Deep{Size: one.Size, Seed: k.Seed, Workers: workers}
		if err := vectors.Fit(ctx, bags.Contexts[0]); err != nil {
			return nil, err
		}
		return vectors.Gram(ctx, bags.Counts[0])
	}
	if of := one.Of.String(); k.counts == nil || k.counted != of {
		var bags CollectCounts
		if err := k.Graphs.Via(operators.Count{Of: []count.Counter{one.Of}}).To(&bags).Run(ctx); err != nil {
			return nil, err
		}
		k.counted, k.counts = of, bags.Counts[0]
	}
	return graphkernel.GramOf(ctx, k.counts, one.By, workers)
}
