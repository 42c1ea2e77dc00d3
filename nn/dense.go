package nn

import (
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// dense is a fully connected layer:
//
//	y = act(x·weight + bias)
type dense struct {
	in, out int
	act     activation

	weight *weight // (in, out)
	bias   *weight // (out)
}

func newDense(p *params, name string, in, out int, act activation) *dense {
	return &dense{
		in: in, out: out, act: act,
		weight: p.add(name+".weight", in, out),
		bias:   p.add(name+".bias", out),
	}
}

func (l *dense) init(r random.Source) { glorot(l.weight.w, l.in, l.out, r) }

// forward computes y (rows, out) from x (rows, in).
func (l *dense) forward(y, x []float32, rows int) {
	kernel.Gemm(rows, l.out, l.in, x, l.in, l.weight.w, l.out, y, l.out, false)
	l.act.forward(y, rows, l.out, l.bias.w)
}

// backward sets the gradients of the weights, and dx (rows, in), unless it is
// nil, to the gradient of x. dy is the gradient of y, and is overwritten; x and
// y are those of forward.
func (l *dense) backward(dx, dy, y, x []float32, rows int) {
	l.act.backward(dy[:rows*l.out], y[:rows*l.out])
	clear(l.bias.g)
	kernel.AddBiasGrad(l.bias.g, dy, rows, l.out)
	kernel.GemmTN(rows, l.out, l.in, x, l.in, dy, l.out, l.weight.g, l.out, false)
	if dx != nil {
		kernel.GemmNT(rows, l.out, l.in, dy, l.out, l.weight.w, l.out, dx, l.in, false)
	}
}
