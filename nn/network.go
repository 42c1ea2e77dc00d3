package nn

import "github.com/sanflow/sanflow/nn/internal/kernel"

// network is a CNN at work: its layers, and the memory that a batch passes
// through.
//
//	indices (B, w, k, d_v) ┐
//	                       ├ conv1 (B, w, 16) ─ conv2 (B, w-9, 8) ─ hidden (B, 128) ─ dropout ─ out (B, classes)
//	values  (B, w, k, c_v) ┘
type network struct {
	params
	conv1  *fieldConv
	conv2  *conv1D
	hidden *dense
	out    *dense
	drop   *dropout // nil: none

	// Activations of a batch, then gradients. Each is as long as the largest
	// batch so far needed.
	idx                        []int32
	y1, y2, y3, dropped, logit []float32
	dy1, dy2, dy3, dlogit      []float32
}

// newNetwork lays out the network and allocates nothing; params.size says
// whether it may be.
func newNetwork(c *CNN, s Shape) *network {
	n := new(network)
	n.conv1 = newFieldConv(&n.params, "conv1", s, c.Maps1)
	n.conv2 = newConv1D(&n.params, "conv2", s.W, c.Maps1, min(c.Size2, s.W), c.Maps2)
	n.hidden = newDense(&n.params, "hidden", n.conv2.steps()*c.Maps2, c.Hidden, true)
	n.out = newDense(&n.params, "out", c.Hidden, s.Classes, false)
	return n
}

func (n *network) init(seed uint64) {
	r := newRandom(seed, streamInit)
	n.conv1.init(r)
	n.conv2.init(r)
	n.hidden.init(r)
	n.out.init(r)
}

// grow makes room for a batch of that many rows.
func (n *network) grow(rows int) {
	n.idx = grown(n.idx, rows*n.conv1.width())
	n.y1 = grown(n.y1, rows*n.conv2.n*n.conv2.in)
	n.y2 = grown(n.y2, rows*n.hidden.in)
	n.y3 = grown(n.y3, rows*n.hidden.out)
	n.logit = grown(n.logit, rows*n.out.out)
}

// growGrad makes room for the gradients as well. A network that only predicts
// never needs it.
func (n *network) growGrad(rows int) {
	n.dropped = grown(n.dropped, rows*n.hidden.out)
	n.dy1 = grown(n.dy1, n.conv2.n*n.conv2.in) // one graph's
	n.dy2 = grown(n.dy2, rows*n.hidden.in)
	n.dy3 = grown(n.dy3, rows*n.hidden.out)
	n.dlogit = grown(n.dlogit, rows*n.out.out)
}

// grown returns x with room for n values; what it held may be lost.
func grown[T any](x []T, n int) []T {
	if n <= len(x) {
		return x
	}
	return make([]T, n)
}

// forward computes the logits (B, classes) of a batch as predictions: nothing
// is dropped. An index that its channel does not have is a *RowError.
//
// The convolutions run graph by graph, so that the output of the first is
// still in the cache when the second reads it; the dense layers run on the
// batch at once, so that their weights are read once.
func (n *network) forward(b batch) error {
	n.grow(b.rows)
	in, xs := n.conv1.width(), n.conv1.w*n.conv1.k*n.conv1.attrs
	w1, w2 := n.conv2.n*n.conv2.in, n.hidden.in
	for i := range b.rows {
		idx := n.idx[i*in : i*in+in]
		if bad := n.conv1.index(idx, b.cats[i*in:i*in+in]); bad >= 0 {
			return n.badValue(i, bad, b.cats[i*in+bad])
		}
		y1 := n.y1[i*w1 : i*w1+w1]
		n.conv1.forward(y1, idx, b.attrs[i*xs:i*xs+xs])
		n.conv2.forward(n.y2[i*w2:i*w2+w2], y1)
	}
	n.hidden.forward(n.y3, n.y2, b.rows)
	n.out.forward(n.logit, n.y3, b.rows)
	return nil
}

func (n *network) badValue(row, at int, v int32) error {
	d, k := len(n.conv1.cats), n.conv1.k
	return rowErrorf(row, "field %d, vertex %d, discrete channel %d: value %d, want -1 to %d",
		at/d/k, at/d%k, at%d, v, n.conv1.cats[at%d]-1)
}

// loss compares the logits of forward with the targets.
func (n *network) loss(b batch) (loss float64, correct int) {
	n.growGrad(b.rows)
	return kernel.SoftmaxCE(n.logit, b.rows, n.out.out, b.targets, n.dlogit)
}

// dropLoss drops activations and computes the loss again, which is what the
// gradients are of. The layers below need no second pass.
func (n *network) dropLoss(b batch) (loss float64) {
	if n.drop == nil {
		panic("nn: dropLoss without dropout")
	}
	size := b.rows * n.hidden.out
	n.drop.forward(n.dropped, n.y3[:size])
	n.out.forward(n.logit, n.dropped, b.rows)
	loss, _ = kernel.SoftmaxCE(n.logit, b.rows, n.out.out, b.targets, n.dlogit)
	return loss
}

// backward sets the gradients of all weights, of the loss that was computed
// last.
func (n *network) backward(b batch) {
	size := b.rows * n.hidden.out
	if n.drop == nil {
		n.out.backward(n.dy3, n.dlogit, n.logit, n.y3, b.rows)
	} else {
		n.out.backward(n.dy3, n.dlogit, n.logit, n.dropped, b.rows)
		n.drop.backward(n.dy3[:size])
	}
	n.hidden.backward(n.dy2, n.dy3, n.y3, n.y2, b.rows)

	// The dense layers have set their gradients; the convolutions add to theirs,
	// graph by graph.
	clearGrad(n.conv1.table, n.conv1.dense, n.conv1.bias, n.conv2.weight, n.conv2.bias)
	in, xs := n.conv1.width(), n.conv1.w*n.conv1.k*n.conv1.attrs
	w1, w2 := n.conv2.n*n.conv2.in, n.hidden.in
	dy1 := n.dy1[:w1]
	for i := range b.rows {
		y1, y2 := n.y1[i*w1:i*w1+w1], n.y2[i*w2:i*w2+w2]
		n.conv2.backward(dy1, n.dy2[i*w2:i*w2+w2], y2, y1)
		n.conv1.backward(dy1, y1, n.idx[i*in:i*in+in], b.attrs[i*xs:i*xs+xs])
	}
}
