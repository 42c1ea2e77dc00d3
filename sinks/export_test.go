package sinks

import (
	"context"
	"fmt"

	"github.com/sanflow/sanflow/flow/graph"
)

// Removal is what the tests of occlusion remove.
type Removal struct {
	Nodes []int32
	Edges []graph.Edge
}

func removalsOf(all []Removal) (removals []removal) {
	for _, r := range all {
		removals = append(removals, removal{r.Nodes, r.Edges})
	}
	return removals
}

// Without asks a model about a graph without each of some parts.
func (p *Predictor) Without(ctx context.Context, g *graph.Graph, removals ...Removal) (all []Answer, err error) {
	err = p.work(ctx, &p.workers, func(w *worker) error {
		all, err = p.without(ctx, w, g, removalsOf(removals))
		return err
	})
	return all, err
}

// WithoutRoots asks a model about some roots without each of some parts.
func (p *Predictor) WithoutRoots(ctx context.Context, g *graph.Graph, roots []int32, removals ...Removal) ([]Answer, error) {
	return p.withoutRoots(ctx, g, roots, removalsOf(removals))
}

// Explain explains the answer for the roots of one row without a copy of the graph.
func (o *OpenGraph) Explain(ctx context.Context, options ExplainOptions, roots ...int32) (*Explanation, error) {
	e, err := o.explain(ctx, options, roots)
	if err == nil && e.Method == "" {
		e, err = nil, fmt.Errorf("a %T is not a sum over counts: want Predictor.ExplainRoots", o.p.net)
	}
	return options.named(e, err)
}
