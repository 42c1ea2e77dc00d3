package nn

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

func newReader(p *params, s Shape, maps int, act activation, m Merge) *reader {
	l := &reader{conv1: newFieldConv(p, "conv1", s.nodes(), maps, act)}
	if s.hasEdges() {
		l.edges = newFieldConv(p, "edges", s.edges(), maps, act)
		l.merge = newMerge(m, maps)
	}
	return l
}

func (l *reader) init(r random) {
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
func (l *reader) grow(b batch) error {
	size := l.conv1.w * l.conv1.maps
	l.y1 = grown(l.y1, b.rows*size)
	if err := l.conv1.grow(b.nodes, b.rows); err != nil || l.edges == nil {
		return err
	}
	l.ye = grown(l.ye, b.rows*size)
	l.ym = grown(l.ym, b.rows*l.size())
	return l.edges.grow(b.edges, b.rows)
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
func (l *reader) forward(b *batch, i, n int) error {
	size := l.conv1.w * l.conv1.maps
	y1 := l.y1[i*size : (i+n)*size]
	if err := l.conv1.forward(y1, b.nodes, i, n); err != nil || l.edges == nil {
		return err
	}
	ye := l.ye[i*size : (i+n)*size]
	if err := l.edges.forward(ye, b.edges, i, n); err != nil {
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
func (l *reader) backward(dy []float32, b *batch, i, n int) {
	size := l.conv1.w * l.conv1.maps
	y1 := l.y1[i*size : (i+n)*size]
	if l.edges == nil {
		l.conv1.backward(dy, y1, b.nodes, i, n)
		return
	}
	l.d1, l.de = grown(l.d1, n*size), grown(l.de, n*size)
	d1, de := l.d1[:n*size], l.de[:n*size]
	l.merge.backward(d1, de, dy)
	l.conv1.backward(d1, y1, b.nodes, i, n)
	l.edges.backward(de, l.ye[i*size:(i+n)*size], b.edges, i, n)
}
