package nn

import "github.com/sanflow/sanflow/nn/internal/kernel"

// conv1D is a convolution of stride 1, without padding, with an activation:
//
//	y[i] = act(bias + Σ_j x[i+j]·weight[j]),  i = 0 … n-size
//
// over n steps of in channels. Step i reads the size·in values from i·in on, so
// all steps are the rows of one matrix whose rows overlap, and the layer is one
// matrix product on x as it lies in memory.
type conv1D struct {
	n, in      int // steps and channels of the input
	size, maps int // steps that a filter covers, channels of the output
	act        activation

	weight *weight // (size, in, maps)
	bias   *weight // (maps)

	turned []float32 // (maps, size, in), the weights as backward reads them
}

func newConv1D(p *params, name string, n, in, size, maps int, act activation) *conv1D {
	return &conv1D{
		n: n, in: in, size: size, maps: maps, act: act,
		weight: p.add(name+".weight", size, in, maps),
		bias:   p.add(name+".bias", maps),
	}
}

func (l *conv1D) init(r random) { glorot(l.weight.w, l.size*l.in, l.size*l.maps, r) }

// startGrad prepares for backward, which adds up the gradients of the graphs of
// one batch.
func (l *conv1D) startGrad() {
	clearGrad(l.weight, l.bias)
	l.turned = grown(l.turned, len(l.weight.w))
	kernel.Transpose(l.turned, l.weight.w, l.size*l.in, l.maps)
}

// steps is the number of steps of the output.
func (l *conv1D) steps() int { return l.n - l.size + 1 }

// forward computes y (steps, maps) of one graph from x (n, in).
func (l *conv1D) forward(y, x []float32) {
	kernel.Gemm(l.steps(), l.maps, l.size*l.in, x, l.in, l.weight.w, l.maps, y, l.maps, false)
	l.act.forward(y, l.steps(), l.maps, l.bias.w)
}

// backward adds to the gradients of the weights and sets dx (n, in), unless it
// is nil, to the gradient of x. dy is the gradient of y, and is overwritten; x
// and y are those of forward.
func (l *conv1D) backward(dx, dy, y, x []float32) {
	n := l.size * l.in
	l.act.backward(dy, y)
	kernel.AddBiasGrad(l.bias.g, dy, l.steps(), l.maps)
	kernel.GemmTN(l.steps(), l.maps, n, x, l.in, dy, l.maps, l.weight.g, l.maps, true)
	if dx != nil {
		clear(dx)
		kernel.Gemm(l.steps(), n, l.maps, dy, l.maps, l.turned, n, dx, l.in, true)
	}
}
