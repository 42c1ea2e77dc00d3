package main

import (
	"context"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/operators/theta"
	"github.com/sanflow/sanflow/sources"
)

// chooseLabelings replaces auto by the labeling that gives the graphs of the
// collection the most similar fields. The graphs to test on take part, their
// classes do not.
func (c *config) chooseLabelings(ctx context.Context, d *collection.Data) error {
	if c.selecting != labeling.Auto && c.normal != labeling.Auto {
		return nil
	}
	const pairs = 1000
	bar := cli.NewProgress("choosing a labeling", pairs)
	defer bar.Done()
	graphs := flow.From(sources.Records{Records: d.Graphs.Records()})
	by, _, err := operators.Choose(ctx, graphs, nil, theta.Options{
		K: c.k, Pairs: pairs, Seed: validation.Seed(c.seed, streamLabelings), Workers: c.workers,
		Progress: func(done, _ int) { bar.Set(int64(done)) },
	})
	if err != nil {
		return err
	}
	if c.selecting == labeling.Auto {
		c.selecting = by
	}
	if c.normal == labeling.Auto {
		c.normal = by
	}
	return nil
}
