package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Reader is what models begin with: the first convolution over the nodes of
// the fields and, where the data have edges, one over their edges beside it, and
// the merge layer that puts both together.
//
//	nodes (B, w, k, a_v) ─ conv1 (B, w, maps) ┐
//	                                             merge (B, w, c)
//	edges (B, w, k, k, a_e) ─ edges (B, w, maps) ┘
type Reader struct {
	conv1 *FieldConv
	edges *FieldConv // nil: the fields come without edges, and y is y1
	merge *Merge

	// Activations of a batch, and gradients of a few graphs. Each is as long as
	// the largest batch so far needed.
	y1, ye, ym []float32
	d1, de     []float32
}

// NewReader lays out a reader; edges without channels are none.
func NewReader(p *Params, nodes, edges Cells, maps int, act Activation, sum bool) *Reader {
	l := &Reader{conv1: NewFieldConv(p, "conv1", nodes, maps, act)}
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

// Channels is c, the channels of the output.
func (l *Reader) Channels() int {
	if l.edges == nil {
		return l.conv1.Maps
	}
	return l.merge.Channels()
}

// Size is w·c, the number of outputs of one graph.
func (l *Reader) Size() int { return l.conv1.W * l.Channels() }

// Grow makes room for a batch.
func (l *Reader) Grow(nodes, edges Inputs, rows int) error {
	size := l.conv1.W * l.conv1.Maps
	l.y1 = scratch.Resize(l.y1, rows*size)
	if err := l.conv1.Grow(nodes, rows); err != nil || l.edges == nil {
		return err
	}
	l.ye = scratch.Resize(l.ye, rows*size)
	l.ym = scratch.Resize(l.ym, rows*l.Size())
	return l.edges.Grow(edges, rows)
}

// Output returns the outputs (n, w, c) of n graphs of the batch from graph i
// on.
func (l *Reader) Output(i, n int) []float32 {
	y := l.y1
	if l.edges != nil {
		y = l.ym
	}
	return y[i*l.Size() : (i+n)*l.Size()]
}

// Forward reads n graphs of the batch that grow has made room for, from graph i
// on.
func (l *Reader) Forward(nodes, edges Inputs, i, n int) error {
	size := l.conv1.W * l.conv1.Maps
	y1 := l.y1[i*size : (i+n)*size]
	if err := l.conv1.Forward(y1, nodes, i, n); err != nil || l.edges == nil {
		return err
	}
	ye := l.ye[i*size : (i+n)*size]
	if err := l.edges.Forward(ye, edges, i, n); err != nil {
		return err
	}
	l.merge.Forward(l.Output(i, n), y1, ye)
	return nil
}

// StartGrad prepares for backward, which adds up the gradients of the graphs of
// one batch.
func (l *Reader) StartGrad() {
	l.conv1.StartGrad()
	if l.edges != nil {
		l.edges.StartGrad()
	}
}

// Backward adds to the gradients of the weights. dy is the gradient of the
// output of n graphs from graph i on, and is overwritten.
func (l *Reader) Backward(dy []float32, nodes, edges Inputs, i, n int) {
	size := l.conv1.W * l.conv1.Maps
	y1 := l.y1[i*size : (i+n)*size]
	if l.edges == nil {
		l.conv1.Backward(dy, y1, nodes, i, n)
		return
	}
	l.d1, l.de = scratch.Resize(l.d1, n*size), scratch.Resize(l.de, n*size)
	d1, de := l.d1[:n*size], l.de[:n*size]
	l.merge.Backward(d1, de, dy)
	l.conv1.Backward(d1, y1, nodes, i, n)
	l.edges.Backward(de, l.ye[i*size:(i+n)*size], edges, i, n)
}
