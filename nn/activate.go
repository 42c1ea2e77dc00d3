package nn

import "github.com/sanflow/sanflow/nn/internal/kernel"

// activation is what the units of a layer do with the sum of their inputs, which may be nothing. The derivatives of all of them are
// functions of their output, which is all that backward needs to keep.
type activation uint8

const (
	linear activation = iota
	relu
	tanh
	sigmoid
)

// forward replaces x (rows, c) by the activation of x + bias.
func (a activation) forward(x []float32, rows, c int, bias []float32) {
	if a == relu {
		kernel.BiasReLU(x, rows, c, bias)
		return
	}
	for i := range rows {
		row := x[i*c : i*c+c]
		kernel.Axpy(1, bias[:c], row)
	}
	switch a {
	case tanh:
		kernel.Tanh(x[:rows*c], x[:rows*c])
	case sigmoid:
		kernel.Sigmoid(x[:rows*c], x[:rows*c])
	}
}

// backward turns dy, the gradient of the output y, into that of the input.
func (a activation) backward(dy, y []float32) {
	switch a {
	case relu:
		kernel.ReLUGrad(dy, y)
	case tanh:
		for i, v := range y {
			dy[i] *= 1 - v*v
		}
	case sigmoid:
		for i, v := range y {
			dy[i] *= v * (1 - v)
		}
	}
}
