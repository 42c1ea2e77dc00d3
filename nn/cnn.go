package nn

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// CNN is the network of the PATCHY-SAN paper (Niepert et al. 2016, section Experimental
// Set-up): a convolution of size and stride k over the w·k nodes, a convolution of stride 1
// over the w fields, a dense layer, all with ReLU, then dropout and softmax. Defaults are the
// paper's.
//
// With edges it is the paper's k = 10ᴱ: two more convolutions read the w·k² pairs of nodes, the
// first with size and stride k². A merge layer combines nodes and edges before the dense layer.
//
// A graph costs O(w·k·d·Maps1 + w·Size2·Maps1·Maps2 + w·Maps2·Hidden) for d values of a node;
// edges cost the same with k² for k.
type CNN struct {
	Maps1      int        // channels of the first convolution; 0 = 16
	Maps2      int        // channels of the second convolution; 0 = 8
	Size2      int        // fields that the second convolution spans, at most w; 0 = 10
	Hidden     int        // units of the dense layer; 0 = 128
	activation activation // activation of all layers except the last; "" = relu
	Dropout    float64    // probability that a hidden unit is dropped, below 1, in steps of 2⁻¹⁶; 0 = 0.5, negative = none
	Optimizer  Optimizer  // nil = RMSprop{}
	Seed       uint64     // of the initial weights and of dropout
	Workers    int        // goroutines of a step of more than 64 rows, at most 16, with equal results; 0 = 1

	Learner // set by Init, and by a file
}

var _ Model = (*CNN)(nil)

func (c *CNN) settings() settings {
	return settings{
		kind: "cnn", name: "CNN", learner: &c.Learner,
		sizes:   []size{{"Maps1", &c.Maps1, 16}, {"Maps2", &c.Maps2, 8}, {"Size2", &c.Size2, 10}, {"Hidden", &c.Hidden, 128}},
		words:   []word{c.activation.word(), fixedWord("Merge", "concat")},
		dropout: &c.Dropout, optimizer: &c.Optimizer, seed: &c.Seed, workers: &c.Workers,
	}
}

// Init fills zero fields and draws the weights from Seed. A field that contradicts the shape,
// and a second Init with another shape, are errors.
func (c *CNN) Init(s Shape) error { return initialise(c, s) }

func (c *CNN) String() string { return c.settings().String() }

func (c *CNN) lay(p *layer.Params, s Shape) body {
	tower := func(prefix string, in layer.Cells) *layer.Tower {
		return layer.NewTower(p, prefix+"conv1", in, c.Maps1, c.activation.kind()).Over(p, prefix+"conv2", c.Size2, c.Maps2)
	}
	nodes := tower("", s.nodes())
	l := &cnnLayers{fields: layer.NewReader(nodes, tower("edges.", s.edges()), nodes.Size(), false)}
	l.hidden = layer.NewDense(p, "hidden", l.fields.Size(), c.Hidden, c.activation.kind())
	return l
}

// cnnLayers are the layers of a CNN.
//
//	nodes (B, w, k, a_v) ─ tower (B, w-9, 8) ┐
//	                                            merge ─ hidden (B, 128)
//	edges (B, w, k, k, a_e) ─ tower (B, w-9, 8) ┘
type cnnLayers struct {
	fields *layer.Reader
	hidden *layer.Dense

	x, y, dx []float32 // input and output of hidden, and the gradient of x
}

func (l *cnnLayers) init(r random.Source) {
	l.fields.Init(r)
	l.hidden.Init(r)
}

func (l *cnnLayers) width() int { return l.hidden.Out }

// forward runs the dense layer once for the whole batch, so that its weights are read once.
func (l *cnnLayers) forward(b batch) (y []float32, err error) {
	if l.x, err = l.fields.Forward(b.nodes, b.edges, b.rows); err != nil {
		return nil, err
	}
	l.y = scratch.Resize(l.y, b.rows*l.hidden.Out)
	l.hidden.Forward(l.y, l.x, b.rows)
	return l.y, nil
}

func (l *cnnLayers) backward(dy []float32, b batch) {
	l.dx = scratch.Resize(l.dx, b.rows*l.hidden.In)
	l.hidden.Backward(l.dx, dy, l.y, l.x, b.rows)
	l.fields.Backward(l.dx, b.nodes, b.edges, b.rows)
}
