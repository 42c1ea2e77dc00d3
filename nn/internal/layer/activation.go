package layer

import "github.com/sanflow/sanflow/nn/internal/kernel"

// Activation is what the units of a layer do with the sum of their inputs, which may be nothing. The derivatives of all of them are
// functions of their output, which is all that backward needs to keep.
type Activation uint8

const (
	Linear Activation = iota
	ReLU
	Tanh
	Sigmoid
)

// Forward replaces x (rows, c) by the activation of x + bias, and by NaN where x + bias is
// not finite.
func (a Activation) Forward(x []float32, rows, c int, bias []float32) {
	kernel.Overflow(x[:rows*c], bias[:c])
	if a == ReLU {
		kernel.BiasReLU(x, rows, c, bias)
		return
	}
	for i := range rows {
		row := x[i*c : i*c+c]
		kernel.Axpy(1, bias[:c], row)
	}
	switch a {
	case Tanh:
		kernel.Tanh(x[:rows*c], x[:rows*c])
	case Sigmoid:
		kernel.Sigmoid(x[:rows*c], x[:rows*c])
	}
}

// Backward turns dy, the gradient of the output y, into that of the input.
func (a Activation) Backward(dy, y []float32) {
	switch a {
	case ReLU:
		kernel.ReLUGrad(dy, y)
	case Tanh:
		for i, v := range y {
			dy[i] *= 1 - v*v
		}
	case Sigmoid:
		for i, v := range y {
			dy[i] *= v * (1 - v)
		}
	}
}
