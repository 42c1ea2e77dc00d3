package graphkernel

import (
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/kernel"
)

func checkSimilarity(s nn.Similarity) error {
	if s != nn.Linear && s != nn.Cosine && s != nn.Min {
		return fmt.Errorf("graphkernel: the similarity is %q, want %q, %q or %q", s, nn.Linear, nn.Cosine, nn.Min)
	}
	return nil
}

// self returns the similarity of a row to itself, without scaling.
func self(s nn.Similarity, values []float64) (sum float64) {
	for _, x := range values {
		if s == nn.Min {
			sum += x
		} else {
			sum += x * x
		}
	}
	return sum
}

// checkCounts returns an error, an *nn.RowError for a row, if s cannot compare the rows of c.
func checkCounts(s nn.Similarity, c *nn.Counts) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i := range c.Len() {
		ids, values := c.Row(i)
		if err := checkRow(s, ids, values); err != nil {
			return &nn.RowError{Row: i, Err: err}
		}
	}
	return nil
}

func checkRow(s nn.Similarity, ids []uint64, values []float64) error {
	for j, x := range values {
		if s == nn.Min && x < 0 {
			return fmt.Errorf("the count of %#x is %v, and min wants none below 0", ids[j], x)
		}
	}
	const normal = 0x1p-1022 // the smallest normal number
	switch sum := self(s, values); {
	case !kernel.Finite(sum):
		return fmt.Errorf("counts too large to compare: the similarity of the row to itself is %v", sum)
	case s == nn.Cosine && sum < normal && slices.ContainsFunc(values, func(x float64) bool { return x != 0 }):
		return fmt.Errorf("counts too small to compare: the similarity of the row to itself is %v", sum)
	}
	return nil
}
