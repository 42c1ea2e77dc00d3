package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// unit is the linear scale of the outputs of a model of numbers: an output of 0 is the mean of the values,
// and 1 is one standard deviation above it. Rates and weights so do not depend on the size of the values.
// Losses and predictions are in the unit of the values. With the zero unit outputs are values.
type unit struct {
	Mean      float32 `json:"mean"`
	Deviation float32 `json:"deviation"` // 0 = 1
}

// output converts a value to an output: its distance from the mean in standard deviations.
func (u unit) output(v float32) float64 {
	return (float64(v) - float64(u.Mean)) / float64(u.size())
}

// value converts an output to a value, as the inverse of output.
func (u unit) value(y float32) float64 { return float64(u.Mean) + float64(u.size())*float64(y) }

// size is the difference of the values of two outputs that differ by 1.
func (u unit) size() float32 { return cmp.Or(u.Deviation, 1) }

func (u unit) check() error {
	if !kernel.Finite(float64(u.Mean)) || !kernel.Finite(float64(u.Deviation)) || u.Deviation < 0 {
		return fmt.Errorf("the values have a mean of %v and a deviation of %v, want numbers, and no deviation below 0", u.Mean, u.Deviation)
	}
	return nil
}

// unitRows is the number of rows whose values define the unit. The unit is then fixed, so that outputs keep
// their meaning in an endless stream.
const unitRows = 256

// moments are the moments of the learned values until the unit is fixed.
type moments struct {
	Rows    int     `json:"rows"`
	Mean    float64 `json:"mean"`
	Squares float64 `json:"squares"` // sum of squared differences from the mean
}

// fixed are the moments of a model whose unit comes from a file or SetWeights.
var fixed = moments{Rows: unitRows}

// with adds finite values to the moments and returns them with the unit that follows. After unitRows values
// it changes nothing.
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
	// Values that differ by rounding alone have no deviation.
	if !(float64(u.Deviation) > 1e-6*math.Abs(m.Mean)) || u.check() != nil {
		u.Deviation = 0
	}
	return m, u
}

// check returns an error for impossible moments.
func (m moments) check() error {
	if m.Rows < 0 || !(m.Squares >= 0) || !kernel.Finite(m.Mean) || !kernel.Finite(m.Squares) {
		return fmt.Errorf("moments of the values: %+v", m)
	}
	return nil
}
