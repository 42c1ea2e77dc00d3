package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Reader is the first layer of models: a convolution over the nodes of the fields and, if the data have
// edges, one over their edges, with a merge layer.
//
//	nodes (B, w, k, a_v) ─ conv1 (B, w, maps) ┐
//	                                             merge (B, w, c)
//	edges (B, w, k, k, a_e) ─ edges (B, w, maps) ┘
type Reader struct {
	conv1 *FieldConv
	edges *FieldConv // nil if the fields have no edges; the output is then y1
	merge *Merge

	// Activations and gradients, as long as the largest batch needs.
	y1, ye, ym []float32
	d1, de     []float32
}

// NewReader lays out a reader. name is that of the convolution of nodes. Edges without channels are left out.
func NewReader(p *Params, name string, nodes, edges Cells, maps int, act Activation, sum bool) *Reader {
	l := &Reader{conv1: NewFieldConv(p, name, nodes, maps, act)}
	if len(edges.Cats) > 0 || edges.Attrs > 0 {
		l.edges = NewFieldConv(p, "edges", edges, maps, act)
		l.merge = NewMerge(sum, maps)
	}
	return l
}

func (l *Reader) Init(r random.Source) {
	l.conv1.Init(r)
	if l.edges != nil {
		l.edges.Init(r)
	}
}

// Channels returns c, the channels of the output.
func (l *Reader) Channels() int {
	if l.edges == nil {
		return l.conv1.Maps
	}
	return l.merge.Channels()
}

// Size returns w·c, the outputs of one graph.
func (l *Reader) Size() int { return l.conv1.W * l.Channels() }

// Output returns the outputs (n, w, c) of the n graphs of the last batch.
func (l *Reader) Output(n int) []float32 {
	y := l.y1
	if l.edges != nil {
		y = l.ym
	}
	return y[:n*l.Size()]
}

// Forward reads a batch of n graphs. A value out of range is an *InputError.
func (l *Reader) Forward(nodes, edges Inputs, n int) error {
	size := n * l.conv1.W * l.conv1.Maps
	l.y1 = scratch.Resize(l.y1, size)
	if err := l.conv1.Grow(nodes, n); err != nil {
		return err
	}
	if l.edges != nil {
		l.ye, l.ym = scratch.Resize(l.ye, size), scratch.Resize(l.ym, n*l.Size())
		if err := l.edges.Grow(edges, n); err != nil {
			return err
		}
	}
	if err := l.conv1.Forward(l.y1, nodes, 0, n); err != nil || l.edges == nil {
		return err
	}
	if err := l.edges.Forward(l.ye, edges, 0, n); err != nil {
		return err
	}
	l.merge.Forward(l.Output(n), l.y1[:size], l.ye[:size])
	return nil
}

// Backward sets the gradients of the weights. dy is the gradient of the output of the n
// graphs of the last batch, and is overwritten.
func (l *Reader) Backward(dy []float32, nodes, edges Inputs, n int) {
	l.conv1.StartGrad()
	if l.edges == nil {
		l.conv1.Backward(dy, l.y1, nodes, 0, n)
		return
	}
	l.edges.StartGrad()
	size := n * l.conv1.W * l.conv1.Maps
	l.d1, l.de = scratch.Resize(l.d1, size), scratch.Resize(l.de, size)
	d1, de := l.d1[:size], l.de[:size]
	l.merge.Backward(d1, de, dy)
	l.conv1.Backward(d1, l.y1, nodes, 0, n)
	l.edges.Backward(de, l.ye, edges, 0, n)
}
