package layer

import (
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Dense is a fully connected layer:
//
//	y = act(x·weight + bias)
type Dense struct {
	In, Out int
	act     Activation

	weight *Weight // (in, out)
	Bias   *Weight // (out)
}

func NewDense(p *Params, name string, in, out int, act Activation) *Dense {
	return &Dense{
		In: in, Out: out, act: act,
		weight: p.Add(name+".weight", in, out),
		Bias:   p.Add(name+".bias", out),
	}
}

func (l *Dense) Init(r random.Source) { Glorot(l.weight.W, l.In, l.Out, r) }

// Forward computes y (rows, out) from x (rows, in).
func (l *Dense) Forward(y, x []float32, rows int) {
	kernel.Gemm(rows, l.Out, l.In, x, l.In, l.weight.W, l.Out, y, l.Out, false)
	l.act.Forward(y, rows, l.Out, l.Bias.W)
}

// Backward sets the gradients of the weights, and dx (rows, in), unless it is
// nil, to the gradient of x. dy is the gradient of y, and is overwritten; x and
// y are those of forward.
func (l *Dense) Backward(dx, dy, y, x []float32, rows int) {
	l.act.Backward(dy[:rows*l.Out], y[:rows*l.Out])
	clear(l.Bias.G)
	kernel.AddBiasGrad(l.Bias.G, dy, rows, l.Out)
	kernel.GemmTN(rows, l.Out, l.In, x, l.In, dy, l.Out, l.weight.G, l.Out, false)
	if dx != nil {
		kernel.GemmNT(rows, l.Out, l.In, dy, l.Out, l.weight.W, l.Out, dx, l.In, false)
	}
}
