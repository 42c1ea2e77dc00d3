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

	// Workers is how many goroutines share a step of more than 64 rows, up to 16;
	// 0 = 1. Results do not depend on it.
	Workers int

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
		dropout: &c.Dropout, loss: &c.Loss, optimizer: &c.Optimizer, seed: &c.Seed, workers: &c.Workers,
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
	l := &cnnLayers{fields: newReader(p, s, c.Maps1, act, c.Merge), some: max(1, fieldsAtOnce/s.W)}
	l.conv2 = newConv1D(p, "conv2", s.W, l.fields.channels(), min(c.Size2, s.W), c.Maps2, act)
	l.hidden = newDense(p, "hidden", l.conv2.steps()*c.Maps2, c.Hidden, act)
	return l
}

// cnnLayers is a CNN at work.
//
//	fields (B, w, 16) ─ conv2 (B, w-9, 8) ─ hidden (B, 128)
type cnnLayers struct {
	fields *reader
	conv2  *conv1D
	hidden *dense
	some   int // graphs that the convolutions take at a time

	// Activations of a batch, then gradients; those of some graphs suffice below
	// conv2. Each is as long as the largest batch so far needed.
	y2, y3   []float32
	dx1, dy2 []float32
}

func (l *cnnLayers) init(r random) {
	l.fields.init(r)
	l.conv2.init(r)
	l.hidden.init(r)
}

func (l *cnnLayers) width() int { return l.hidden.out }

// fieldsAtOnce is how many fields a product of the first layers should have
// rows for, or short graphs would be many products of a few rows.
const fieldsAtOnce = 32

// forward runs the convolutions a few graphs at a time, so that the output of
// the first is still in the cache when the second reads it; the dense layer runs
// on the batch at once, so that its weights are read once.
func (l *cnnLayers) forward(b batch) ([]float32, error) {
	if err := l.fields.grow(b); err != nil {
		return nil, err
	}
	n := l.hidden.in
	l.y2 = grown(l.y2, b.rows*n)
	l.y3 = grown(l.y3, b.rows*l.hidden.out)
	for i := 0; i < b.rows; i += l.some {
		graphs := min(l.some, b.rows-i)
		if err := l.fields.forward(&b, i, graphs); err != nil {
			return nil, err
		}
		l.conv2.forward(l.y2[i*n:], l.fields.output(i, graphs), graphs)
	}
	l.hidden.forward(l.y3, l.y2, b.rows)
	return l.y3[:b.rows*l.hidden.out], nil
}

func (l *cnnLayers) backward(dx []float32, b batch) {
	n := l.hidden.in
	l.dx1 = grown(l.dx1, l.some*l.fields.size())
	l.dy2 = grown(l.dy2, b.rows*n)
	l.hidden.backward(l.dy2, dx, l.y3, l.y2, b.rows)

	// The dense layer has set its gradients; the convolutions add to theirs.
	l.fields.startGrad()
	l.conv2.startGrad()
	for i := 0; i < b.rows; i += l.some {
		graphs := min(l.some, b.rows-i)
		dx1 := l.dx1[:graphs*l.fields.size()]
		l.conv2.backward(dx1, l.dy2[i*n:], l.y2[i*n:], l.fields.output(i, graphs), graphs)
		l.fields.backward(dx1, &b, i, graphs)
	}
}
