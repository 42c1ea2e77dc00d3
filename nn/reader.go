package nn

import (
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// reader is what models begin with: the first convolution over the nodes of
// the fields and, where the data have edges, one over their edges beside it, and
// the merge layer that puts both together.
//
//	nodes (B, w, k, a_v) ─ conv1 (B, w, maps) ┐
//	                                             merge (B, w, c)
//	edges (B, w, k, k, a_e) ─ edges (B, w, maps) ┘
type reader struct {
	conv1 *fieldConv
	edges *fieldConv // nil: the fields come without edges, and y is y1
	merge *merge

	// Activations of a batch, and gradients of a few graphs. Each is as long as
	// the largest batch so far needed.
	y1, ye, ym []float32
	d1, de     []float32
}

// newReader lays out a reader; edges without channels are none.
func newReader(p *params, nodes, edges cells, maps int, act activation, sum bool) *reader {
	l := &reader{conv1: newFieldConv(p, "conv1", nodes, maps, act)}
	if len(edges.cats) > 0 || edges.attrs > 0 {
		l.edges = newFieldConv(p, "edges", edges, maps, act)
		l.merge = newMerge(sum, maps)
	}
	return l
}

func (l *reader) init(r random.Source) {
	l.conv1.init(r)
	if l.edges != nil {
		l.edges.init(r)
	}
}

// channels is c, the channels of the output.
func (l *reader) channels() int {
	if l.edges == nil {
		return l.conv1.maps
	}
	return l.merge.channels()
}

// size is w·c, the number of outputs of one graph.
func (l *reader) size() int { return l.conv1.w * l.channels() }

// grow makes room for a batch.
func (l *reader) grow(nodes, edges inputs, rows int) error {
	size := l.conv1.w * l.conv1.maps
	l.y1 = kernel.Grown(l.y1, rows*size)
	if err := l.conv1.grow(nodes, rows); err != nil || l.edges == nil {
		return err
	}
	l.ye = kernel.Grown(l.ye, rows*size)
	l.ym = kernel.Grown(l.ym, rows*l.size())
	return l.edges.grow(edges, rows)
}

// output returns the outputs (n, w, c) of n graphs of the batch from graph i
// on.
func (l *reader) output(i, n int) []float32 {
	y := l.y1
	if l.edges != nil {
		y = l.ym
	}
	return y[i*l.size() : (i+n)*l.size()]
}

// forward reads n graphs of the batch that grow has made room for, from graph i
// on.
func (l *reader) forward(nodes, edges inputs, i, n int) error {
	size := l.conv1.w * l.conv1.maps
	y1 := l.y1[i*size : (i+n)*size]
	if err := l.conv1.forward(y1, nodes, i, n); err != nil || l.edges == nil {
		return err
	}
	ye := l.ye[i*size : (i+n)*size]
	if err := l.edges.forward(ye, edges, i, n); err != nil {
		return err
	}
	l.merge.forward(l.output(i, n), y1, ye)
	return nil
}

// startGrad prepares for backward, which adds up the gradients of the graphs of
// one batch.
func (l *reader) startGrad() {
	l.conv1.startGrad()
	if l.edges != nil {
		l.edges.startGrad()
	}
}

// backward adds to the gradients of the weights. dy is the gradient of the
// output of n graphs from graph i on, and is overwritten.
func (l *reader) backward(dy []float32, nodes, edges inputs, i, n int) {
	size := l.conv1.w * l.conv1.maps
	y1 := l.y1[i*size : (i+n)*size]
	if l.edges == nil {
		l.conv1.backward(dy, y1, nodes, i, n)
		return
	}
	l.d1, l.de = kernel.Grown(l.d1, n*size), kernel.Grown(l.de, n*size)
	d1, de := l.d1[:n*size], l.de[:n*size]
	l.merge.backward(d1, de, dy)
	l.conv1.backward(d1, y1, nodes, i, n)
	l.edges.backward(de, l.ye[i*size:(i+n)*size], edges, i, n)
}
