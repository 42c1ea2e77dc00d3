package sinks

import (
	"context"

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
