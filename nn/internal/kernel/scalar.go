package kernel

import "math"

// Finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return x-x == 0 }

// Squares returns Σ x², of float32 sums over blocks, which are as long as
// rounding allows.
func Squares(x []float32) float64 {
	const block = 4096
	var sum float64
	for len(x) > block {
		sum += float64(Dot(x[:block], x[:block]))
		x = x[block:]
	}
	return sum + float64(Dot(x, x))
}

// Overflow finds sums that are not finite, x[i] plus bias[i mod len(bias)], or x[i] without a
// bias, and replaces x[i] by NaN. A partial sum that overflows leaves the whole sum infinite
// or NaN in any order, with fused products too. An activation turns an infinite sum into an
// ordinary output; NaN stays NaN. Overflow returns the position of the first such sum, or -1.
func Overflow(x, bias []float32) (first int) {
	if Finite(Squares(x)) && Finite(Squares(bias)) {
		return -1 // |x| < 2⁶⁴ and |bias| < 2⁶⁴
	}
	first = -1
	for i, v := range x {
		if len(bias) > 0 {
			v += bias[i%len(bias)]
		}
		if v-v == 0 {
			continue
		}
		if x[i] = float32(math.NaN()); first < 0 {
			first = i
		}
	}
	return first
}

// Length returns the root of the sum of squares of x.
func Length(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}
