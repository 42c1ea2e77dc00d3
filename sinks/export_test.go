package sinks

import (
	"context"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// Removal is what the tests of occlusion remove.
type Removal struct {
	Nodes []int32
	Edges []graph.Edge
}

// Without predicts a graph without each of some parts.
func (p *Predictor) Without(ctx context.Context, g *graph.Graph, removals ...Removal) (all []Answer, err error) {
	for _, r := range removals {
		h, err := g.Without(r.Nodes, r.Edges)
		if err != nil {
			return nil, err
		}
		said, err := p.Predict(ctx, h)
		if err != nil {
			return nil, err
		}
		all = append(all, said)
	}
	return all, nil
}

// WithoutRoots predicts some roots without each of some parts. A node without its edges has gone.
func (p *Predictor) WithoutRoots(ctx context.Context, g *graph.Graph, roots []int32, removals ...Removal) (all []Answer, err error) {
	for _, r := range removals {
		edges := slices.Clone(r.Edges)
		for _, v := range r.Nodes {
			for _, u := range g.Adj(v) {
				if !slices.Contains(roots, v) {
					edges = append(edges, graph.Edge{U: u, V: v}, graph.Edge{U: v, V: u})
				}
			}
		}
		h, err := g.Without(nil, edges)
		if err != nil {
			return nil, err
		}
		said, err := p.PredictRoots(ctx, h, roots...)
		if err != nil {
			return nil, err
		}
		all = append(all, said...)
	}
	return all, nil
}

// Explain explains the answer for the roots of one row without a copy of the graph.
func (o *OpenGraph) Explain(ctx context.Context, options ExplainOptions, roots ...int32) (*Explanation, error) {
	e, err := o.explain(ctx, options, roots)
	if err == nil && e.Method == "" {
		e, err = nil, fmt.Errorf("a %T is not a sum over counts: want Predictor.ExplainRoots", o.p.net)
	}
	return options.named(e, err)
}

// OpenSmoothed opens a graph as Open does of a model that was kept with a Smoothing.
func (p *Predictor) OpenSmoothed(ctx context.Context, g *graph.Graph, s Smoothing) (*OpenGraph, error) {
	return p.openSmoothed(ctx, g, s)
}
