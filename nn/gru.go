package nn

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// GRU reads the w fields in rank order with a gated recurrent unit, the paper's future work. A
// convolution of size and stride k feeds the unit; its last state passes dropout and the
// output layer. Dummy fields are steps without input. A graph costs O(w·k·d·Maps1 +
// w·(Maps1+Hidden)·Hidden).
type GRU struct {
	maps1      int        // channels of the convolution; 0 = 16
	Hidden     int        // units of the state; 0 = 32
	activation activation // activation of the convolution; "" = relu
	Dropout    float64    // probability that a unit of the state is dropped, below 1; 0 = 0.5, negative = none
	optimizer  Optimizer  // nil = RMSprop{}
	Seed       uint64     // of the initial weights and of dropout
	Workers    int        // as in CNN

	Learner // set by Init, and by a file
}

var _ Model = (*GRU)(nil)

func (m *GRU) settings() settings {
	return settings{
		kind: "gru", name: "GRU", learner: &m.Learner,
		sizes:   []size{{"Maps1", &m.maps1, 16}, {"Hidden", &m.Hidden, 32}},
		words:   []word{m.activation.word(), fixedWord("Merge", "concat"), fixedWord("Pool", "last")},
		dropout: &m.Dropout, optimizer: &m.optimizer, seed: &m.Seed, workers: &m.Workers,
	}
}

func (m *GRU) Init(s Shape) error { return initialise(m, s) }

func (m *GRU) String() string { return m.settings().String() }

func (m *GRU) lay(p *layer.Params, s Shape) body {
	tower := func(name string, in layer.Cells) *layer.Tower {
		return layer.NewTower(p, name, in, m.maps1, m.activation.kind())
	}
	l := &gruLayers{fields: layer.NewReader(tower("conv1", s.nodes()), tower("edges", s.edges()), m.maps1, false)}
	l.gru = layer.NewGRULayer(p, "gru", s.W, l.fields.Size()/s.W, m.Hidden)
	return l
}

// gruLayers are the layers of a GRU.
//
//	fields (B, w, 16) ─ gru (B, w, 32) ─ last (B, 32)
type gruLayers struct {
	fields *layer.Reader
	gru    *layer.GRULayer

	x, y, dx []float32 // input of gru, its last states, and the gradient of x
}

func (l *gruLayers) init(r random.Source) {
	l.fields.Init(r)
	l.gru.Init(r)
}

func (l *gruLayers) width() int { return l.gru.Units }

func (l *gruLayers) forward(b batch) (y []float32, err error) {
	if l.x, err = l.fields.Forward(b.nodes, b.edges, b.rows); err != nil {
		return nil, err
	}
	l.gru.Forward(l.x, b.rows)
	u, n := l.gru.Units, l.gru.N
	l.y = scratch.Resize(l.y, b.rows*u)
	for i := range b.rows {
		copy(l.y[i*u:i*u+u], l.gru.Output(i, n-1))
	}
	return l.y, nil
}

func (l *gruLayers) backward(dy []float32, b batch) {
	l.dx = scratch.Resize(l.dx, b.rows*l.fields.Size())
	l.gru.Backward(l.dx, dy, l.x, b.rows)
	l.fields.Backward(l.dx, b.nodes, b.edges, b.rows)
}
