package nn

import (
	"fmt"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Counts holds n rows of counts by id, in compressed sparse rows. An id names a substructure.
type Counts struct {
	Offsets []int     // (n+1): row i is IDs[Offsets[i]:Offsets[i+1]], strictly ascending
	IDs     []uint64  // all rows
	Values  []float64 // the count of each id: finite and, for Min, not negative
}

// Len returns n.
func (c *Counts) Len() int { return max(0, len(c.Offsets)-1) }

// Row returns the ids of a row and their counts. Both share memory with c.
func (c *Counts) Row(i int) (ids []uint64, values []float64) {
	from, to := c.Offsets[i], c.Offsets[i+1]
	return c.IDs[from:to:to], c.Values[from:to:to]
}

// part returns rows from to to-1. They share memory with c, and their offsets do not begin at 0.
func (c *Counts) part(from, to int) *Counts {
	return &Counts{Offsets: c.Offsets[from : to+1], IDs: c.IDs, Values: c.Values}
}

// Append adds a copy of a row.
func (c *Counts) Append(ids []uint64, values []float64) {
	if len(c.Offsets) == 0 {
		c.Offsets = append(c.Offsets, 0)
	}
	c.IDs = append(c.IDs, ids...)
	c.Values = append(c.Values, values...)
	c.Offsets = append(c.Offsets, len(c.IDs))
}

// Check returns an error, a *RowError for a row, if c breaks these rules.
func (c *Counts) Check() error {
	end := 0
	if len(c.Offsets) > 0 {
		end = c.Offsets[c.Len()]
	}
	if len(c.Offsets) > 0 && c.Offsets[0] != 0 || end != len(c.IDs) || end != len(c.Values) {
		return fmt.Errorf("nn: counts: %d ids and %d values for offsets that end at %d", len(c.IDs), len(c.Values), end)
	}
	for i := range c.Len() {
		if from, to := c.Offsets[i], c.Offsets[i+1]; from > to || to > len(c.IDs) {
			return fmt.Errorf("nn: counts: row %d from %d to %d, of %d", i, from, to, len(c.IDs))
		}
		ids, values := c.Row(i)
		for j, x := range values {
			switch {
			case !kernel.Finite(x):
				return rowErrorf(i, "the count of %#x is %v", ids[j], x)
			case j > 0 && ids[j] <= ids[j-1]:
				return rowErrorf(i, "ids are not strictly ascending")
			}
		}
	}
	return nil
}

// Similarity is a positive semi-definite kernel between two rows of counts.
type Similarity string

const (
	Linear Similarity = "linear" // Σ xᵢyᵢ
	Cosine Similarity = "cosine" // Σ xᵢyᵢ of rows of unit length; 0 with a row of zeros
	Min    Similarity = "min"    // Σ min(xᵢ, yᵢ), histogram intersection; of WL colours optimal assignment (Kriege et al. 2016)
)
