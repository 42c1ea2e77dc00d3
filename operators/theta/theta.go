package theta

import (
	"context"
	"errors"
	"fmt"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Options are the settings of a comparison. The zero value is ready to use.
type Options struct {
	// K is k, the field size. The default is 10.
	K int
	// Pairs is N, the number of pairs of fields. The default is 1000.
	Pairs int
	// Seed decides the pairs.
	Seed uint64
	// Crop cuts neighbourhoods of more than k nodes for all candidates alike.
	// The default is labeling.WL; see the package comment.
	Crop labeling.Labeling
	// OwnCrop lets each candidate cut for itself, as operators.Normalize does.
	OwnCrop bool
	// Direction selects the arcs of directed graphs to follow. The default is both ways.
	Direction field.Direction
	// Bound, if not 0, is the largest number of nodes of a neighbourhood, at least
	// K; see field.Index.SetBound.
	Bound int
	// IgnoreAttributes and Uniform are as in operators.Normalize.
	IgnoreAttributes, Uniform bool
	// Workers is the number of goroutines. The default is one per processor. It
	// does not change the result.
	Workers int
	// Progress, if not nil, is called with the number of pairs done, one call at a time.
	Progress func(done, total int)
}

// MaxPairs bounds Options.Pairs.
const MaxPairs = 10_000_000

func (o Options) withDefaults() (Options, error) {
	if o.K == 0 {
		o.K = 10
	}
	if o.Pairs == 0 {
		o.Pairs = 1000
	}
	if o.Crop == nil {
		o.Crop = labeling.WL
	}
	switch {
	case o.K < 1 || o.K > field.MaxK:
		return o, fmt.Errorf("theta: K is %d, want 1 to %d", o.K, field.MaxK)
	case o.Pairs < 2 || o.Pairs > MaxPairs:
		return o, fmt.Errorf("theta: Pairs is %d, want 2 to %d", o.Pairs, MaxPairs)
	case o.Bound != 0 && o.Bound < o.K:
		return o, fmt.Errorf("theta: Bound is %d, want 0 or at least K, %d", o.Bound, o.K)
	case o.Workers < 0:
		return o, fmt.Errorf("theta: Workers is %d, want at least 0", o.Workers)
	case o.Direction < field.Both || o.Direction > field.In:
		return o, fmt.Errorf("theta: Direction is %d, want Both, Out or In", int(o.Direction))
	}
	return o, nil
}

// Default returns the labelings of package labeling that need no setting, except NormalizedDegree,
// which orders as Degree does.
func Default() []labeling.Labeling {
	return []labeling.Labeling{
		labeling.Betweenness, labeling.Canonical, labeling.Closeness, labeling.Clustering, labeling.Core,
		labeling.Degree, labeling.Eigenvector, labeling.Harmonic, labeling.PageRank, labeling.WL,
	}
}

// Compare estimates θ̂ of every candidate over the same pairs of fields of
// graphs, which it only reads. The estimates are in the order of the
// candidates.
//
// A candidate that fails on one of the fields, as labeling.Eigenvector may,
// fails alone: its Estimate has Err set. Bad settings, a collection without
// nodes and a context that ends are errors of the whole. The result is a
// function of the graphs, the candidates and the Options other than Workers,
// except for the seconds.
//
// The cost is 2·N fields per candidate, and O(n + m) memory for each graph with a drawn root.
func Compare(ctx context.Context, graphs []*graph.Graph, candidates []labeling.Labeling, o Options) ([]Estimate, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(candidates) == 0 {
		return nil, errors.New("theta: there are no labelings to compare")
	}
	for i, l := range candidates {
		if l == nil {
			return nil, fmt.Errorf("theta: labeling %d is nil", i)
		}
	}
	pairs, err := draw(graphs, o)
	if err != nil {
		return nil, err
	}
	c := newComparison(graphs, candidates, pairs, o)
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	return c.estimates(), nil
}

// Choose compares the candidates and returns the one with the smallest θ̂: of
// equal ones the first. It fails if every candidate fails; the table is
// returned also then.
func Choose(ctx context.Context, graphs []*graph.Graph, candidates []labeling.Labeling, o Options) (labeling.Labeling, []Estimate, error) {
	table, err := Compare(ctx, graphs, candidates, o)
	if err != nil {
		return nil, nil, err
	}
	best := least(table)
	if best < 0 {
		return nil, table, fmt.Errorf("theta: every labeling failed; the first: %w", table[0].Err)
	}
	return table[best].Labeling, table, nil
}
