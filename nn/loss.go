package nn

import (
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// lossName is the function that a model minimises, as a mean over the rows of a batch.
type lossName string

const (
	crossEntropy lossName = "cross-entropy" // -log p of the target class, in nats; p is the softmax of one output per class
	squared      lossName = "squared"       // (y - v)² for the prediction y and the value v
)

// lossOf returns the loss for data of shape s.
func lossOf(s Shape) lossName {
	if s.Classes == 0 {
		return squared
	}
	return crossEntropy
}

// units returns the number of outputs of the network.
func (l lossName) units(s Shape) int {
	if l == crossEntropy {
		return s.Classes
	}
	return 1
}

// tally sums the results of some rows of a batch.
type tally struct {
	rows    int
	correct int     // rows whose most probable class is the target
	loss    float64 // sum over the rows
	abs     float64 // sum of |y - v|; 0 for classes
}

func (t *tally) add(u tally) {
	t.rows += u.rows
	t.correct += u.correct
	t.loss += u.loss
	t.abs += u.abs
}

// check returns a *RowError for the first target out of range.
func (l lossName) check(b batch, s Shape) error {
	for i, t := range b.targets {
		if t < 0 || int(t) >= s.Classes {
			return rowErrorf(i, "class %d, want 0 to %d", t, s.Classes-1)
		}
	}
	for i, v := range b.values {
		if !kernel.Finite(float64(v)) {
			return rowErrorf(i, "the value to learn is %v", v)
		}
	}
	return nil
}

// compare compares the outputs y (rows, units) with the targets of b, and sets dy to the gradient of scale
// times the sum of losses. dy may be y. Errors of numbers are in the unit b.unit, the gradient in the unit
// b.learned. An output that is not finite makes the loss NaN.
func (l lossName) compare(y []float32, b batch, s Shape, dy []float32, scale float64) tally {
	t := tally{rows: b.rows}
	kernel.Overflow(y[:b.rows*l.units(s)], nil)
	switch l {
	case crossEntropy:
		t.loss, t.correct = kernel.SoftmaxCE(y, b.rows, s.Classes, b.targets, dy, scale)
	case squared:
		for i, v := range b.values {
			miss := b.unit.value(y[i]) - float64(v)
			t.loss += miss * miss
			t.abs += math.Abs(miss)
			dy[i] = float32(2 * (float64(y[i]) - b.learned.output(v)) * scale)
		}
	}
	return t
}

// predict converts outputs y (rows, units) to the predictions p (rows, columns), with numbers in the unit u.
// It returns the first row with an output that is not finite, or -1.
func (l lossName) predict(p, y []float32, rows int, s Shape, u unit) (bad int) {
	if i := kernel.Overflow(y[:rows*l.units(s)], nil); i >= 0 {
		return i / l.units(s)
	}
	switch l {
	case crossEntropy:
		copy(p, y)
		softmax(p, rows, s.Classes)
	case squared:
		for i, v := range y[:rows] {
			if p[i] = float32(u.value(v)); !kernel.Finite(float64(p[i])) {
				return i
			}
		}
	}
	return -1
}

// softmax replaces every row of x (rows, c), which is finite, by exp(x) / Σ exp(x). The largest value is
// subtracted first, so that no exponential overflows.
func softmax(x []float32, rows, c int) {
	for i := range rows {
		row := x[i*c : i*c+c]
		top := math.Inf(-1)
		for _, v := range row {
			top = math.Max(top, float64(v))
		}
		var sum float64
		for j, v := range row {
			e := math.Exp(float64(v) - top)
			row[j] = float32(e)
			sum += e
		}
		for j, e := range row {
			row[j] = float32(float64(e) / sum)
		}
	}
}
