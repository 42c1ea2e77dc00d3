package nn

import (
	"math"
	"testing"
)

func TestSoftmax(t *testing.T) {
	x := []float32{
		0, float32(math.Log(3)), // 1 : 3
		1000, 1000, // exp overflows
		-1000, 0,
		float32(math.Inf(-1)), 5,
	}
	softmax(x, 4, 2)
	compare(t, "p", x, []float64{0.25, 0.75, 0.5, 0.5, 0, 1, 0, 1}, 1e-6)
}

// An output that is not finite has no probability, whatever its loss.
func TestNoPrediction(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for l, s := range map[lossName]Shape{crossEntropy: {Classes: 2}, squared: {}} {
		for _, x := range []float32{nan, inf, -inf} {
			for at := range 3 * l.units(s) {
				y := make([]float32, 3*l.units(s))
				y[at] = x
				if bad := l.predict(make([]float32, 6), y, 3, s, unit{Deviation: 1}); bad != at/l.units(s) {
					t.Errorf("%s: output %d is %v: bad row %d", l, at, x, bad)
				}
				b := batch{rows: 3, targets: []int32{0, 1, 0}, values: make([]float32, 3), unit: unit{Deviation: 1}, learned: unit{Deviation: 1}}
				if loss := l.compare(y, b, s, y, 1).loss; loss-loss == 0 {
					t.Errorf("%s: output %d is %v: loss %v", l, at, x, loss)
				}
			}
		}
	}
}
