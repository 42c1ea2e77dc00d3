package theta

import (
	"math"
	"time"

	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Estimate is the result of a comparison for one labeling. Theta, SE, Diff and DiffSE are NaN if
// Err is set.
type Estimate struct {
	Labeling labeling.Labeling
	// Theta is θ̂: the mean over the pairs of the number of entries, of k·k, in
	// which two matrices differ.
	Theta float64
	// SE is the standard error of Theta: the sample deviation of the distances
	// over √N.
	SE float64
	// Diff is Theta minus that of the best labeling, and DiffSE the standard
	// error of that, from the differences pair by pair. Both are 0 for the best.
	Diff, DiffSE float64
	// Entries is the mean number of entries of a field's matrix that are not 0.
	Entries float64
	// Pairs is N.
	Pairs int
	// Time is the time for the fields of this labeling, summed over workers. The time to gather
	// neighbourhoods is not in it.
	Time time.Duration
	// Stats are the statistics of the normalization of the 2·N fields. If Err is set, it counts the
	// pairs tried, which depends on the workers.
	Stats field.Stats
	// Err is the error of the labeling at the first pair where it failed.
	Err error
}

// estimates is called when the workers are done.
func (c *comparison) estimates() []Estimate {
	n := len(c.pairs)
	table := make([]Estimate, len(c.candidates))
	for i := range table {
		r := &c.results[i]
		e := &table[i]
		*e = Estimate{
			Labeling: c.candidates[i], Pairs: n,
			Entries: float64(r.entries.Load()) / float64(2*n),
			Time:    time.Duration(r.nanos.Load()), Stats: r.stats, Err: r.err,
		}
		if e.Err != nil {
			e.Theta, e.SE, e.Entries = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		e.Theta, e.SE = meanAndError(n, func(j int) int32 { return r.distance[j] })
	}
	best := least(table)
	for i := range table {
		e := &table[i]
		if e.Err != nil {
			e.Diff, e.DiffSE = math.NaN(), math.NaN()
			continue
		}
		mine, its := c.results[i].distance, c.results[best].distance
		e.Diff, e.DiffSE = meanAndError(n, func(j int) int32 { return mine[j] - its[j] })
	}
	return table
}

// meanAndError returns the mean of n whole numbers and its standard error. The
// sums are exact, so the result does not depend on an order.
func meanAndError(n int, x func(i int) int32) (mean, se float64) {
	var sum, squares int64
	for i := range n {
		v := int64(x(i))
		sum += v
		squares += v * v
	}
	mean = float64(sum) / float64(n)
	variance := (float64(squares) - mean*float64(sum)) / float64(n-1)
	return mean, math.Sqrt(max(0, variance) / float64(n))
}

// least returns the place of the smallest θ̂, or -1 where all failed.
func least(table []Estimate) int {
	best := -1
	for i, e := range table {
		if e.Err == nil && (best < 0 || e.Theta < table[best].Theta) {
			best = i
		}
	}
	return best
}
