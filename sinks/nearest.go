package sinks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
)

// Near is a row that is like another one.
type Near struct {
	Row        int     `json:"row"`   // among the collected rows
	Graph      int64   `json:"graph"` // its id
	Similarity float64 `json:"similarity"`
}

// Nearest returns the n rows of c that are most like a row of counts, the most similar first and of
// equals the first: the training rows that a model of counts treats as most similar to a graph. of
// has one row, with the counts of the first of Names. The similarities are exact, as from
// graphkernel.Compare. nn.UnitMin is at most 1, for a graph with the same counts; an nn.Logistic of
// the kernel nn.Min approximates it by levels, up to the scale. All rows are compared, in O(values
// of c). If c has fewer than n rows, all are returned.
func (c *CollectCounts) Nearest(ctx context.Context, of *nn.Counts, by nn.Similarity, n int) ([]Near, error) {
	switch {
	case n < 1:
		return nil, fmt.Errorf("sinks: nearest: n is %d, want 1 or more", n)
	case of.Len() != 1:
		return nil, fmt.Errorf("sinks: nearest: there are %d rows to compare, want one", of.Len())
	case len(c.Counts) == 0 || c.Counts[0].Len() == 0:
		return nil, fmt.Errorf("sinks: nearest: no counts were collected")
	}
	k, err := graphkernel.Compare(ctx, of, c.Counts[0], by, 1)
	if err != nil {
		return nil, fmt.Errorf("sinks: nearest: %w", err)
	}
	all := make([]Near, len(k))
	for row, x := range k {
		all[row] = Near{row, c.Graph[row], x}
	}
	slices.SortStableFunc(all, func(a, b Near) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return all[:min(n, len(all))], nil
}
