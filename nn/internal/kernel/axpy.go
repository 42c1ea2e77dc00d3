package kernel

import "fmt"

// Axpy adds alpha·x to y. It panics unless x and y have one length.
func Axpy(alpha float32, x, y []float32) {
	if len(x) != len(y) {
		panic(fmt.Sprintf("kernel: Axpy: x has %d values, y has %d", len(x), len(y)))
	}
	axpy(alpha, x, y)
}

// Dot returns Σ_i x[i]·y[i]. It panics unless x and y have one length.
func Dot(x, y []float32) float32 {
	if len(x) != len(y) {
		panic(fmt.Sprintf("kernel: Dot: x has %d values, y has %d", len(x), len(y)))
	}
	return dot(x, y)
}

func axpyGeneric(alpha float32, x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

func dotGeneric(x, y []float32) float32 {
	y = y[:len(x)]
	var sum float32
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}
