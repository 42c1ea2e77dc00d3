package layer

import (
	"math"
	"slices"
	"testing"
)

func TestActivations(t *testing.T) {
	const rows, c = 5, 7
	of := map[Activation]func(float64) float64{
		Linear:  func(x float64) float64 { return x },
		ReLU:    func(x float64) float64 { return max(x, 0) },
		Tanh:    math.Tanh,
		Sigmoid: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	}
	for act, f := range of {
		r := newRand(1)
		x, bias, dy := normal(r, rows*c), normal(r, c), normal(r, rows*c)
		x[3], x[4] = 1000, -1000 // no overflow
		y := slices.Clone(x)
		act.Forward(y, rows, c, bias)
		dx := slices.Clone(dy)
		act.Backward(dx, y)
		wantY, wantX := make([]float64, rows*c), make([]float64, rows*c)
		for i, v := range x {
			v := float64(v) + float64(bias[i%c])
			const h = 1e-6
			wantY[i] = f(v)
			wantX[i] = float64(dy[i]) * (f(v+h) - f(v-h)) / (2 * h)
		}
		compare(t, "y", y, wantY, 1e-6)
		compare(t, "dx", dx, wantX, 1e-5)
	}
}
