package kernel

import (
	"fmt"
	"math"
)

// BiasReLU replaces x, (rows, c), by max(x+bias, 0). NaN stays NaN, so the loss of a diverged network shows
// it. +Inf stays, -Inf becomes 0.
func BiasReLU(x []float32, rows, c int, bias []float32) {
	checkRows("BiasReLU", "x", x, rows, c)
	if len(bias) < c {
		panic(fmt.Sprintf("kernel: BiasReLU: bias has %d values, want %d", len(bias), c))
	}
	if rows > 0 && c > 0 {
		biasReLU(x[:rows*c], bias[:c])
	}
}

// ReLUGrad sets dy to 0 where y, the output of the layer, is not positive. dy stays where y is NaN.
func ReLUGrad(dy, y []float32) {
	if len(dy) != len(y) {
		panic(fmt.Sprintf("kernel: ReLUGrad: dy has %d values, y has %d", len(dy), len(y)))
	}
	reluGrad(dy, y)
}

// AddBiasGrad adds the column sums of dy, which is (rows, c), to db.
func AddBiasGrad(db []float32, dy []float32, rows, c int) {
	checkRows("AddBiasGrad", "dy", dy, rows, c)
	if len(db) < c {
		panic(fmt.Sprintf("kernel: AddBiasGrad: db has %d values, want %d", len(db), c))
	}
	if rows > 0 && c > 0 {
		addBiasGrad(db[:c], dy[:rows*c])
	}
}

func checkRows(op, name string, x []float32, rows, c int) {
	if rows < 0 || c < 0 {
		panic(fmt.Sprintf("kernel: %s: negative size rows=%d c=%d", op, rows, c))
	}
	if len(x) < rows*c {
		panic(fmt.Sprintf("kernel: %s: %s has %d values, want %d×%d", op, name, len(x), rows, c))
	}
}

func biasReLUGeneric(x, bias []float32) {
	for c := len(bias); len(x) > 0; x = x[c:] {
		for j, b := range bias {
			v := x[j] + b
			if v < 0 {
				v = 0
			}
			x[j] = v
		}
	}
}

func reluGradGeneric(dy, y []float32) {
	dy = dy[:len(y)]
	for i, v := range y {
		if v <= 0 {
			dy[i] = 0
		}
	}
}

func addBiasGradGeneric(db, dy []float32) {
	for c := len(db); len(dy) > 0; dy = dy[c:] {
		for j, v := range dy[:c] {
			db[j] += v
		}
	}
}

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

// Drop scales values and drops some:
//
//	y[i] = scale·x[i] where draws[i] ≥ limit, else 0
//
// y and x may be one slice.
func Drop(y, x []float32, draws []uint16, limit uint16, scale float32) {
	if len(y) != len(x) || len(draws) != len(x) {
		panic(fmt.Sprintf("kernel: Drop: y has %d values, x has %d, there are %d draws", len(y), len(x), len(draws)))
	}
	// The loop has no branch, because draws cannot be predicted. kept is zero if the draw is below limit,
	// otherwise all ones.
	for i, d := range draws {
		kept := uint32(int32(d)-int32(limit))>>31 - 1
		y[i] = math.Float32frombits(math.Float32bits(scale*x[i]) & kept)
	}
}

// Finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return x-x == 0 }

// Squares returns Σ x² as a float64 sum of float32 sums over blocks of 4096 values. Longer blocks would lose
// digits.
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

// Length returns the square root of the sum of squares of x.
func Length(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}
