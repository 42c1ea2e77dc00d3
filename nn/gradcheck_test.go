package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// normal returns n draws from the standard normal distribution.
func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// fixBias sets biases to ±40, far beyond what inputs add, so that every ReLU
// is firmly on or off. The layer is then linear in each value, and a central
// difference of any width is its derivative up to rounding.
func fixBias(bias []float32) {
	for i := range bias {
		bias[i] = 40
		if i%3 == 1 {
			bias[i] = -40
		}
	}
}

// checkGrad compares grad, the derivative of loss by each value of x, with
// central differences. loss must be linear in each value alone.
func checkGrad(t *testing.T, name string, x, grad []float32, loss func() float64) {
	t.Helper()
	const h = 0.25
	for i, v := range x {
		x[i] = v + h
		up := loss()
		x[i] = v - h
		down := loss()
		x[i] = v
		want := (up - down) / (2 * h)
		if d := math.Abs(float64(grad[i]) - want); d > 2e-4*(1+math.Abs(want)) {
			t.Fatalf("d loss / d %s[%d] = %v, want %v", name, i, grad[i], want)
		}
	}
}

// weighted returns Σ r·y, a loss whose gradient is r.
func weighted(r, y []float32) float64 {
	var sum float64
	for i, v := range y {
		sum += float64(r[i]) * float64(v)
	}
	return sum
}

func compare(t *testing.T, name string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", name, len(got), len(want))
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= tolerance*(1+math.Abs(w))) {
			t.Fatalf("%s[%d] = %v, want %v", name, i, got[i], w)
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// maskOf returns what the last mask of n values multiplies by.
func maskOf(d *layer.Dropout, n int) []float32 {
	mask := slices.Repeat([]float32{1}, n)
	d.Backward(mask)
	return mask
}
