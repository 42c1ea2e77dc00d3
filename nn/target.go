package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// unit tells what the outputs of a model that learns numbers stand for: an output of 0
// for the mean of the values, and one of 1 for their standard deviation above it. So the
// size of the values does not matter to rates and weights. Losses and predictions are in
// the unit of the values. The zero unit is that of outputs which are the values.
type unit struct {
	Mean      float32 `json:"mean"`
	Deviation float32 `json:"deviation"` // 0 = 1
}

// output returns the output that stands for a value.
func (u unit) output(v float32) float64 {
	return (float64(v) - float64(u.Mean)) / float64(u.size())
}

// value returns the value that an output stands for.
func (u unit) value(y float32) float64 { return float64(u.Mean) + float64(u.size())*float64(y) }

// size is the difference between values whose outputs differ by 1.
func (u unit) size() float32 { return cmp.Or(u.Deviation, 1) }

func (u unit) check() error {
	if !kernel.Finite(float64(u.Mean)) || !kernel.Finite(float64(u.Deviation)) || u.Deviation < 0 {
		return fmt.Errorf("the values have a mean of %v and a deviation of %v, want numbers, and no deviation below 0", u.Mean, u.Deviation)
	}
	return nil
}

// unitRows is of how many rows the unit is. While fewer have been learned from it is
// that of all so far, and then it stays: so a stream has it too, and what outputs mean
// does not change under a model that has learned.
const unitRows = 256

// moments are those of the values that a model has learned from while its unit is not
// fixed.
type moments struct {
	Rows    int     `json:"rows"`
	Mean    float64 `json:"mean"`
	Squares float64 `json:"squares"` // sum of squared differences from the mean
}

// fixed is the moments of a model whose unit comes from elsewhere.
var fixed = moments{Rows: unitRows}

// with returns the moments and the unit with more values, which are finite.
func (m moments) with(values []float32, u unit) (moments, unit) {
	if m.Rows >= unitRows || len(values) == 0 {
		return m, u
	}
	for _, v := range values {
		m.Rows++
		d := float64(v) - m.Mean
		m.Mean += d / float64(m.Rows)
		m.Squares += d * (float64(v) - m.Mean)
	}
	u = unit{float32(m.Mean), float32(math.Sqrt(m.Squares / float64(m.Rows)))}
	// Values that are equal but for rounding have no deviation.
	if !(float64(u.Deviation) > 1e-6*math.Abs(m.Mean)) || u.check() != nil {
		u.Deviation = 0
	}
	return m, u
}

// check returns an error for moments that no values have.
func (m moments) check() error {
	if m.Rows < 0 || !(m.Squares >= 0) || !kernel.Finite(m.Mean) || !kernel.Finite(m.Squares) {
		return fmt.Errorf("moments of the values: %+v", m)
	}
	return nil
}
