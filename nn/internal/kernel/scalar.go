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

// Length returns the root of the sum of squares of x.
func Length(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}
