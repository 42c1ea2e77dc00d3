package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// conv1D is a convolution of stride 1, without padding, with an activation:
//
//	y[i] = act(bias + Σ_j x[i+j]·weight[j]),  i = 0 … n-size
//
// over n steps of in channels. Step i reads the size·in values from i·in on, so
// all steps are the rows of one matrix whose rows overlap, and the layer is one
// matrix product on x as it lies in memory.
type conv1D struct {
	n, in      int // steps and channels of the input
	size, maps int // steps of a filter, channels of the output
	act        Activation

	weight *Weight // (size, in, maps)
	bias   *Weight // (maps)

	turned []float32 // (maps, size, in): the transposed weights for backward
}

func newConv1D(p *Params, name string, n, in, size, maps int, act Activation) *conv1D {
	return &conv1D{
		n: n, in: in, size: size, maps: maps, act: act,
		weight: p.Add(name+".weight", size, in, maps),
		bias:   p.Add(name+".bias", maps),
	}
}

func (l *conv1D) init(r random.Source) { Glorot(l.weight.W, l.size*l.in, l.size*l.maps, r) }

// startGrad prepares backward, which adds the gradients of the graphs of one batch.
func (l *conv1D) startGrad() {
	ClearGrad(l.weight, l.bias)
	l.turned = scratch.Resize(l.turned, len(l.weight.W))
	kernel.Transpose(l.turned, l.weight.W, l.size*l.in, l.maps)
}

// steps returns the number of output steps: one for each position of the filter within the input.
func (l *conv1D) steps() int { return l.n - l.size + 1 }

// forward computes y (graphs, steps, maps) from x (graphs, n, in).
func (l *conv1D) forward(y, x []float32, graphs int) {
	rows, steps := l.rows(graphs)
	for i := range rows {
		x, y := x[i*l.n*l.in:], y[i*steps*l.maps:]
		kernel.Gemm(steps, l.maps, l.size*l.in, x, l.stride(), l.weight.W, l.maps, y, l.maps, false)
	}
	l.act.Forward(y, graphs*l.steps(), l.maps, l.bias.W)
}

// rows returns the number of matrix products for graphs and the steps of each: one product a graph, or one in
// all if a filter covers a whole graph.
func (l *conv1D) rows(graphs int) (rows, steps int) {
	if l.steps() == 1 {
		return 1, graphs
	}
	return graphs, l.steps()
}

// stride is the distance between the inputs of consecutive steps.
func (l *conv1D) stride() int {
	if l.steps() == 1 {
		return l.n * l.in
	}
	return l.in
}

// backward adds to the gradients of the weights, and sets dx (graphs, n, in), unless it is nil, to the
// gradient of x. dy is the gradient of y, and is overwritten. x and y are those of forward.
func (l *conv1D) backward(dx, dy, y, x []float32, graphs int) {
	all, n := graphs*l.steps(), l.size*l.in
	l.act.Backward(dy[:all*l.maps], y[:all*l.maps])
	kernel.AddBiasGrad(l.bias.G, dy, all, l.maps)
	rows, steps := l.rows(graphs)
	for i := range rows {
		x, dy := x[i*l.n*l.in:], dy[i*steps*l.maps:]
		kernel.GemmTN(steps, l.maps, n, x, l.stride(), dy, l.maps, l.weight.G, l.maps, true)
	}
	if dx == nil {
		return
	}
	clear(dx[:graphs*l.n*l.in])
	for i := range rows {
		dx, dy := dx[i*l.n*l.in:], dy[i*steps*l.maps:]
		kernel.Gemm(steps, n, l.maps, dy, l.maps, l.turned, n, dx, l.stride(), true)
	}
}
