package nn

import (
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// tower is the two convolutions of a CNN over the cells of the fields, which
// are their nodes or their edges:
//
//	cells (B, w, n, a) ─ conv1 (B, w, 16) ─ conv2 (B, w-9, 8)
type tower struct {
	conv1 *fieldConv
	conv2 *conv1D
	some  int // graphs that go through both at a time

	y1, y2 []float32 // activations of a batch
	d1     []float32 // gradient of y1 of some graphs
}

// fieldsAtOnce is how many fields a product of the first layers should have
// rows for, or short graphs would be many products of a few rows.
const fieldsAtOnce = 32

// newTower lays out convolutions of maps1 and maps2 channels, the second over size2
// fields.
func newTower(p *params, prefix string, in cells, maps1, size2, maps2 int, act activation) *tower {
	return &tower{
		conv1: newFieldConv(p, prefix+"conv1", in, maps1, act),
		conv2: newConv1D(p, prefix+"conv2", in.w, maps1, min(size2, in.w), maps2, act),
		some:  max(1, fieldsAtOnce/in.w),
	}
}

func (l *tower) init(r random.Source) {
	l.conv1.init(r)
	l.conv2.init(r)
}

// size is the number of outputs of one graph.
func (l *tower) size() int { return l.conv2.steps() * l.conv2.maps }

// forward returns the outputs (rows, w-9, 8) of a batch. It takes some graphs
// at a time, so that the output of the first convolution is still in the cache
// when the second reads it.
func (l *tower) forward(in inputs, rows int) ([]float32, error) {
	if err := l.conv1.grow(in, rows); err != nil {
		return nil, err
	}
	n, m := l.conv1.w*l.conv1.maps, l.size()
	l.y1, l.y2 = kernel.Grown(l.y1, rows*n), kernel.Grown(l.y2, rows*m)
	for i := 0; i < rows; i += l.some {
		graphs := min(l.some, rows-i)
		y1 := l.y1[i*n : (i+graphs)*n]
		if err := l.conv1.forward(y1, in, i, graphs); err != nil {
			return nil, err
		}
		l.conv2.forward(l.y2[i*m:], y1, graphs)
	}
	return l.y2[:rows*m], nil
}

// backward sets the gradients of the weights. dy is the gradient of what
// forward returned, and is overwritten; in and rows are those of forward.
func (l *tower) backward(dy []float32, in inputs, rows int) {
	l.conv1.startGrad()
	l.conv2.startGrad()
	n, m := l.conv1.w*l.conv1.maps, l.size()
	l.d1 = kernel.Grown(l.d1, l.some*n)
	for i := 0; i < rows; i += l.some {
		graphs := min(l.some, rows-i)
		y1, d1 := l.y1[i*n:(i+graphs)*n], l.d1[:graphs*n]
		l.conv2.backward(d1, dy[i*m:], l.y2[i*m:], y1, graphs)
		l.conv1.backward(d1, y1, in, i, graphs)
	}
}
