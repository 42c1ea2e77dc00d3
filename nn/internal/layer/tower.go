package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Tower is the two convolutions of a CNN over the cells of the fields, which are their nodes or their pairs
// of nodes:
//
//	cells (B, w, n, a) ─ conv1 (B, w, 16) ─ conv2 (B, w-9, 8)
type Tower struct {
	Conv1 *FieldConv
	conv2 *conv1D
	some  int // graphs that pass through both layers at a time

	y1, y2 []float32 // activations of a batch
	d1     []float32 // gradient of y1 of some graphs
}

// fieldsAtOnce is the number of rows that a product of the first layers should have. Small graphs are
// combined to reach it.
const fieldsAtOnce = 32

// NewTower lays out convolutions of maps1 and maps2 channels. The second one spans size2 fields.
func NewTower(p *Params, prefix string, in Cells, maps1, size2, maps2 int, act Activation) *Tower {
	return &Tower{
		Conv1: NewFieldConv(p, prefix+"conv1", in, maps1, act),
		conv2: newConv1D(p, prefix+"conv2", in.W, maps1, min(size2, in.W), maps2, act),
		some:  max(1, fieldsAtOnce/in.W),
	}
}

func (l *Tower) Init(r random.Source) {
	l.Conv1.Init(r)
	l.conv2.init(r)
}

// Size returns the outputs of one graph.
func (l *Tower) Size() int { return l.conv2.steps() * l.conv2.maps }

// Forward returns the outputs (rows, w-9, 8) of a batch. It computes some graphs at a time, so that the
// output of the first convolution is in the cache when the second one reads it.
func (l *Tower) Forward(in Inputs, rows int) ([]float32, error) {
	if err := l.Conv1.Grow(in, rows); err != nil {
		return nil, err
	}
	n, m := l.Conv1.W*l.Conv1.Maps, l.Size()
	l.y1, l.y2 = scratch.Resize(l.y1, rows*n), scratch.Resize(l.y2, rows*m)
	for i := 0; i < rows; i += l.some {
		graphs := min(l.some, rows-i)
		y1 := l.y1[i*n : (i+graphs)*n]
		if err := l.Conv1.Forward(y1, in, i, graphs); err != nil {
			return nil, err
		}
		l.conv2.forward(l.y2[i*m:], y1, graphs)
	}
	return l.y2[:rows*m], nil
}

// Backward sets the gradients of the weights. dy is the gradient of the output of Forward, and is
// overwritten. in and rows are those of Forward.
func (l *Tower) Backward(dy []float32, in Inputs, rows int) {
	l.Conv1.StartGrad()
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
