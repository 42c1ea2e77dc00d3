package nn

import (
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Counts is how often each of a set of things stands in each of n graphs, in
// compressed sparse rows. A thing is known by its id.
type Counts struct {
	// Offsets has length n+1: the things of row i are
	// IDs[Offsets[i]:Offsets[i+1]], strictly ascending.
	Offsets []int
	IDs     []uint64
	// Values holds the count of each, which need not be whole but must be finite
	// and, for [Min] and [UnitMin], not negative.
	Values []float64
}

// Len returns n, the number of rows.
func (c *Counts) Len() int { return max(0, len(c.Offsets)-1) }

// Row returns the ids of a row, ascending, and their counts. Both are borrowed.
func (c *Counts) Row(i int) (ids []uint64, values []float64) {
	from, to := c.Offsets[i], c.Offsets[i+1]
	return c.IDs[from:to:to], c.Values[from:to:to]
}

// part returns the rows of c from, up to to. It shares their memory, and its offsets do
// not begin at 0.
func (c *Counts) part(from, to int) *Counts {
	return &Counts{Offsets: c.Offsets[from : to+1], IDs: c.IDs, Values: c.Values}
}

// Append adds a row, which is copied.
func (c *Counts) Append(ids []uint64, values []float64) {
	if len(c.Offsets) == 0 {
		c.Offsets = append(c.Offsets, 0)
	}
	c.IDs = append(c.IDs, ids...)
	c.Values = append(c.Values, values...)
	c.Offsets = append(c.Offsets, len(c.IDs))
}

// Check reports the first way in which c breaks the rules above, as a *[RowError]
// where a row does. O(values).
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

// Similarity says how two rows of counts are compared. All are positive
// semi-definite kernels.
type Similarity string

const (
	Linear Similarity = "linear" // Σ xᵢyᵢ
	Cosine Similarity = "cosine" // Σ xᵢyᵢ of rows of unit length; 0 with a row of zeros
	// Min is Σ min(xᵢ, yᵢ), the intersection of histograms; of Weisfeiler–Lehman
	// colours it is their optimal assignment (Kriege, Giscard and Wilson, "On
	// valid optimal assignment kernels", 2016).
	Min Similarity = "min"
	// UnitMin is Min scaled as Cosine is: Σ min(xᵢ, yᵢ) / √(Σxᵢ·Σyᵢ), so that large
	// graphs weigh as much as small ones.
	UnitMin Similarity = "unit min"
)

// Check returns an error for a similarity that is none of these.
func (s Similarity) Check() error {
	if s != Linear && s != Cosine && s != Min && s != UnitMin {
		return fmt.Errorf("nn: the similarity is %q, want %q, %q, %q or %q", s, Linear, Cosine, Min, UnitMin)
	}
	return nil
}

// Minima reports whether minima are added up, not products.
func (s Similarity) Minima() bool { return s == Min || s == UnitMin }

// Unit reports whether a row is 1 to itself.
func (s Similarity) Unit() bool { return s == Cosine || s == UnitMin }

// Self is the similarity of a row to itself, before it is scaled to unit length.
func (s Similarity) Self(values []float64) (sum float64) {
	for _, x := range values {
		if s.Minima() {
			sum += x
		} else {
			sum += x * x
		}
	}
	return sum
}

// CheckCounts returns an error unless the rows of c can be compared, as a *[RowError]
// where a row is at fault. A row that is brought to unit length has no counts so small
// that its length is lost.
func (s Similarity) CheckCounts(c *Counts) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i := range c.Len() {
		ids, values := c.Row(i)
		if err := s.CheckRow(ids, values); err != nil {
			return &RowError{i, err}
		}
		const normal = 0x1p-1022 // the least number with all of its digits
		if self := s.Self(values); s.Unit() && self < normal && slices.ContainsFunc(values, func(x float64) bool { return x != 0 }) {
			return rowErrorf(i, "counts too small to compare: the similarity of the row to itself is %v", self)
		}
	}
	return nil
}

// CheckRow returns an error for a count below 0 where minima are added up, and for
// counts that are too large: no similarity is larger than those of both rows to
// themselves.
func (s Similarity) CheckRow(ids []uint64, values []float64) error {
	for j, x := range values {
		if s.Minima() && x < 0 {
			return fmt.Errorf("the count of %#x is %v, and min wants none below 0", ids[j], x)
		}
	}
	if self := s.Self(values); !kernel.Finite(self) {
		return fmt.Errorf("counts too large to compare: the similarity of the row to itself is %v", self)
	}
	return nil
}
