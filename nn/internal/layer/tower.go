package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Tower is the first layers over the cells of the fields, which are their nodes or their pairs of nodes: a
// convolution of each field and, in a CNN, a second one over the fields:
//
//	cells (B, w, n, a) ─ conv1 (B, w, 16) ─ conv2 (B, w-9, 8)
type Tower struct {
	Conv1 *FieldConv
	conv2 *conv1D // nil if the outputs are those of Conv1
	some  int     // graphs that pass through both layers at a time

	y1, y2 []float32 // activations of a batch
	d1     []float32 // gradient of y1 of some graphs
}

// fieldsAtOnce is the number of rows that a product of the first layers should have. Small graphs are
// combined to reach it.
const fieldsAtOnce = 32

// NewTower lays out a convolution of that many channels, or returns nil for cells without channels.
func NewTower(p *Params, name string, in Cells, maps int, act Activation) *Tower {
	if len(in.Cats) == 0 && in.Attrs == 0 && in.Sparse == 0 {
		return nil
	}
	return &Tower{Conv1: NewFieldConv(p, name, in, maps, act)}
}

// Over adds a convolution of maps channels over size fields, or all if they are fewer. It returns l, which may be nil.
func (l *Tower) Over(p *Params, name string, size, maps int) *Tower {
	if l != nil {
		c := l.Conv1
		l.conv2 = newConv1D(p, name, c.W, c.Maps, min(size, c.W), maps, c.act)
		l.some = max(1, fieldsAtOnce/c.W)
	}
	return l
}

func (l *Tower) init(r random.Source) {
	l.Conv1.Init(r)
	if l.conv2 != nil {
		l.conv2.init(r)
	}
}

// Size returns the outputs of one graph.
func (l *Tower) Size() int {
	if l.conv2 == nil {
		return l.Conv1.W * l.Conv1.Maps
	}
	return l.conv2.steps() * l.conv2.maps
}

// forward returns the outputs (rows, Size) of a batch. It computes some graphs at a time, so that the output
// of the first convolution is in the cache when the second one reads it.
func (l *Tower) forward(in Inputs, rows int) ([]float32, error) {
	if err := l.Conv1.Grow(in, rows); err != nil {
		return nil, err
	}
	n, m := l.Conv1.W*l.Conv1.Maps, l.Size()
	l.y1 = scratch.Resize(l.y1, rows*n)
	if l.conv2 == nil {
		return l.y1, l.Conv1.Forward(l.y1, in, 0, rows)
	}
	l.y2 = scratch.Resize(l.y2, rows*m)
	for i := 0; i < rows; i += l.some {
		graphs := min(l.some, rows-i)
		y1 := l.y1[i*n : (i+graphs)*n]
		if err := l.Conv1.Forward(y1, in, i, graphs); err != nil {
			return nil, err
		}
		l.conv2.forward(l.y2[i*m:], y1, graphs)
	}
	return l.y2, nil
}

// backward sets the gradients of the weights. dy is the gradient of the output of forward, and is
// overwritten. in and rows are those of forward.
func (l *Tower) backward(dy []float32, in Inputs, rows int) {
	l.Conv1.StartGrad()
	if l.conv2 == nil {
		l.Conv1.Backward(dy, l.y1, in, 0, rows)
		return
	}
	l.conv2.startGrad()
	n, m := l.Conv1.W*l.Conv1.Maps, l.Size()
	l.d1 = scratch.Resize(l.d1, l.some*n)
	for i := 0; i < rows; i += l.some {
		graphs := min(l.some, rows-i)
		y1, d1 := l.y1[i*n:(i+graphs)*n], l.d1[:graphs*n]
		l.conv2.backward(d1, dy[i*m:], l.y2[i*m:], y1, graphs)
		l.Conv1.Backward(d1, y1, in, i, graphs)
	}
}
