package nn

import "io"

// CNN is the network of the PATCHY-SAN paper (Niepert et al. 2016, section
// Experimental Set-up): a convolution of size and stride k over the w·k
// vertices, a convolution of stride 1 over the w fields, a dense layer, all
// with ReLU, then dropout and softmax. It learns by cross-entropy, one step a
// batch.
//
// Where the data have edges it is the network of the paper's k = 10ᴱ: a second
// branch convolves the w·k² pairs of vertices with size and stride k², and a
// merge layer puts the two side by side, field by field, before the second
// convolution.
//
// The fields are its settings, zero meaning the default, which is the paper's.
// Init and Load replace zeros by what they stand for, and later changes have no
// effect. A CNN is used by one goroutine at a time.
type CNN struct {
	W int // fields of a graph; 0 = as many as the data have
	K int // vertices of a field; 0 = as many as the data have

	Maps1  int // channels of the first convolution; 0 = 16
	Maps2  int // channels of the second; 0 = 8
	Size2  int // fields that the second spans, at most w; 0 = 10
	Hidden int // units of the dense layer; 0 = 128

	Activation Activation // of all layers but the last; "" = ReLU
	Merge      Merge      // of vertices and edges, where there are edges; "" = Concat

	// Dropout is the probability that a hidden unit is dropped, below 1, to a
	// precision of 2⁻¹⁶; 0 = 0.5, negative = none.
	Dropout float64

	Loss      Loss      // "" = CrossEntropy where there are classes, else Squared
	Optimizer Optimizer // nil = RMSprop{}
	Seed      uint64    // of the initial weights and of dropout

	// Info is saved with the weights and loaded with them: class names,
	// labelings, whatever its reader needs. Keys may not begin with "sanflow.".
	Info map[string]string

	*core
}

var _ Model = (*CNN)(nil)

func (c *CNN) settings() settings {
	return settings{
		kind: "cnn", name: "CNN", core: &c.core, info: &c.Info, w: &c.W, k: &c.K,
		sizes:   []size{{"Maps1", &c.Maps1, 16}, {"Maps2", &c.Maps2, 8}, {"Size2", &c.Size2, 10}, {"Hidden", &c.Hidden, 128}},
		words:   []word{c.Activation.word(), c.Merge.word()},
		dropout: &c.Dropout, loss: &c.Loss, optimizer: &c.Optimizer, seed: &c.Seed,
	}
}

// Init builds the network for data of that shape, with the weights that Seed
// stands for. Zero fields of c are filled from the shape and the defaults; a
// field that contradicts the shape is an error. A second Init with the same
// shape does nothing, with another it is an error.
func (c *CNN) Init(s Shape) error { return initialise(c, s) }

// Save writes the network as a safetensors file, which other tools read too:
// the weights, and as metadata the settings, the shape and Info. The same
// network gives the same bytes. Optimizer state and counts are not part of it.
func (c *CNN) Save(w io.Writer) error { return c.save(w, c.Info) }

// Load reads what Save wrote, up to the end of r, and is used instead of Init
// or before it. Settings come from the file: those of c that shape the network
// must be zero or agree, while Dropout, Optimizer and Seed stay when they are
// set. A file that is damaged, or is not a CNN, is an error, and c is as
// before.
func (c *CNN) Load(r io.Reader) error { return load(c, r) }

// String returns the settings in one line.
func (c *CNN) String() string { return c.settings().String() }

func (c *CNN) fits(Shape) error { return nil }

func (c *CNN) lay(p *params, s Shape) body {
	act := c.Activation.kind()
	l := &cnnLayers{conv1: newFieldConv(p, "conv1", s.vertices(), c.Maps1, act)}
	maps := c.Maps1
	if s.hasEdges() {
		l.edges = newFieldConv(p, "edges", s.edges(), c.Maps1, act)
		l.merge = newMerge(c.Merge, s.W, c.Maps1)
		maps = l.merge.width()
	}
	l.conv2 = newConv1D(p, "conv2", s.W, maps, min(c.Size2, s.W), c.Maps2, act)
	l.hidden = newDense(p, "hidden", l.conv2.steps()*c.Maps2, c.Hidden, act)
	return l
}

// cnnLayers is a CNN at work.
//
//	vertices (B, w, k, a_v) ─ conv1 (B, w, 16) ┐
//	                                           merge ─ conv2 (B, w-9, 8) ─ hidden (B, 128)
//	edges (B, w, k, k, a_e) ─ edges (B, w, 16) ┘
type cnnLayers struct {
	conv1  *fieldConv
	edges  *fieldConv // nil: the fields come without edges, and conv2 reads conv1
	merge  *merge
	conv2  *conv1D
	hidden *dense

	// Activations of a batch, then gradients; those of one graph suffice below
	// conv2. Each is as long as the largest batch so far needed.
	y1, ye, ym, y2, y3 []float32
	dy1, dye, dym, dy2 []float32
}

func (l *cnnLayers) init(r random) {
	l.conv1.init(r)
	if l.edges != nil {
		l.edges.init(r)
	}
	l.conv2.init(r)
	l.hidden.init(r)
}

func (l *cnnLayers) width() int { return l.hidden.out }

// forward runs the convolutions graph by graph, so that the output of the
// first is still in the cache when the second reads it; the dense layer runs on
// the batch at once, so that its weights are read once.
func (l *cnnLayers) forward(b batch) ([]float32, error) {
	if err := l.conv1.grow(b.nodes, b.rows); err != nil {
		return nil, err
	}
	w1, wm, w2 := l.conv1.size(), l.conv2.n*l.conv2.in, l.hidden.in
	l.y1 = grown(l.y1, b.rows*w1)
	l.y2 = grown(l.y2, b.rows*w2)
	l.y3 = grown(l.y3, b.rows*l.hidden.out)
	if l.edges != nil {
		if err := l.edges.grow(b.edges, b.rows); err != nil {
			return nil, err
		}
		l.ye = grown(l.ye, b.rows*w1)
		l.ym = grown(l.ym, b.rows*wm)
	}
	for i := range b.rows {
		x := l.y1[i*w1 : i*w1+w1]
		if err := l.conv1.forward(x, b.nodes, i); err != nil {
			return nil, err
		}
		if l.edges != nil {
			ye, ym := l.ye[i*w1:i*w1+w1], l.ym[i*wm:i*wm+wm]
			if err := l.edges.forward(ye, b.edges, i); err != nil {
				return nil, err
			}
			l.merge.forward(ym, x, ye)
			x = ym
		}
		l.conv2.forward(l.y2[i*w2:i*w2+w2], x)
	}
	l.hidden.forward(l.y3, l.y2, b.rows)
	return l.y3[:b.rows*l.hidden.out], nil
}

func (l *cnnLayers) backward(dx []float32, b batch) {
	w1, wm, w2 := l.conv1.size(), l.conv2.n*l.conv2.in, l.hidden.in
	l.dy1 = grown(l.dy1, w1)
	l.dy2 = grown(l.dy2, b.rows*w2)
	l.hidden.backward(l.dy2, dx, l.y3, l.y2, b.rows)

	// The dense layer has set its gradients; the convolutions add to theirs,
	// graph by graph.
	l.conv1.startGrad()
	l.conv2.startGrad()
	if l.edges == nil {
		dy1 := l.dy1[:w1]
		for i := range b.rows {
			y1 := l.y1[i*w1 : i*w1+w1]
			l.conv2.backward(dy1, l.dy2[i*w2:i*w2+w2], l.y2[i*w2:i*w2+w2], y1)
			l.conv1.backward(dy1, y1, b.nodes, i)
		}
		return
	}
	l.edges.startGrad()
	l.dye = grown(l.dye, w1)
	l.dym = grown(l.dym, wm)
	dy1, dye, dym := l.dy1[:w1], l.dye[:w1], l.dym[:wm]
	for i := range b.rows {
		l.conv2.backward(dym, l.dy2[i*w2:i*w2+w2], l.y2[i*w2:i*w2+w2], l.ym[i*wm:i*wm+wm])
		l.merge.backward(dy1, dye, dym)
		l.conv1.backward(dy1, l.y1[i*w1:i*w1+w1], b.nodes, i)
		l.edges.backward(dye, l.ye[i*w1:i*w1+w1], b.edges, i)
	}
}
