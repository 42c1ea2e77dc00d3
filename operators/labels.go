package operators

import (
	"context"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// labels is a worker's room for the labels of a graph.
type labels []float64

// of computes the labels of g, which are valid until the next call.
func (l *labels) of(ctx context.Context, by labeling.Labeling, g *graph.Graph) ([]float64, error) {
	if cap(*l) < g.N() {
		*l = make(labels, g.N())
	}
	*l = (*l)[:g.N()]
	return *l, labeling.Compute(by, labeling.Input{Graph: g, Context: ctx, Progress: labeling.ProgressOf(ctx)}, *l)
}
