package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Reader is the first layers of models: a tower over the nodes of the fields and, if the data have edges, one
// over their edges, with a merge layer.
//
//	nodes (B, w, k, a_v) ─ tower ┐
//	                             merge
//	edges (B, w, k, k, a_e) ─ tower ┘
type Reader struct {
	Nodes *Tower
	Edges *Tower // nil if the fields have no edges; the output is then that of Nodes
	merge *Merge

	ym, dn, de []float32 // output and gradients of merge
}

// NewReader merges the outputs of two towers, as sums or maps of them side by side. edges may be nil.
func NewReader(nodes, edges *Tower, maps int, sum bool) *Reader {
	return &Reader{Nodes: nodes, Edges: edges, merge: NewMerge(sum, maps)}
}

func (l *Reader) Init(r random.Source) {
	l.Nodes.init(r)
	if l.Edges != nil {
		l.Edges.init(r)
	}
}

// Size returns the outputs of one graph.
func (l *Reader) Size() int {
	n := l.Nodes.Size()
	if l.Edges == nil {
		return n
	}
	return n / l.merge.maps * l.merge.Channels()
}

// Forward returns the outputs (n, Size) of a batch of n graphs. A value out of range is an *InputError.
func (l *Reader) Forward(nodes, edges Inputs, n int) ([]float32, error) {
	y, err := l.Nodes.forward(nodes, n)
	if err != nil || l.Edges == nil {
		return y, err
	}
	ye, err := l.Edges.forward(edges, n)
	if err != nil {
		return nil, err
	}
	l.ym = scratch.Resize(l.ym, n*l.Size())
	l.merge.Forward(l.ym, y, ye)
	return l.ym, nil
}

// Backward sets the gradients of the weights. dy is the gradient of the output of the n
// graphs of the last batch, and is overwritten.
func (l *Reader) Backward(dy []float32, nodes, edges Inputs, n int) {
	if l.Edges == nil {
		l.Nodes.backward(dy, nodes, n)
		return
	}
	size := n * l.Nodes.Size()
	l.dn, l.de = scratch.Resize(l.dn, size), scratch.Resize(l.de, size)
	l.merge.Backward(l.dn, l.de, dy)
	l.Nodes.backward(l.dn, nodes, n)
	l.Edges.backward(l.de, edges, n)
}
