package nn

import (
	"io"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// GRU reads the w fields of a graph one after the other, in their order, with
// a gated recurrent unit: the recurrent networks of the paper's future work. A
// convolution of size and stride k makes channels of each field, as in CNN; the
// unit's state after the last field, or the mean of its states, then passes
// dropout and the output layer.
//
// Dummy fields, of graphs with fewer than w nodes, are steps as well, without
// input. A graph costs O(w·k·d·Maps1 + w·(Maps1+Hidden)·Hidden) for d values of a
// node.
//
// The fields are its settings, as those of CNN. A GRU is used by one goroutine
// at a time.
type GRU struct {
	W int // fields of a graph; 0 = as many as the data have
	K int // nodes of a field; 0 = as many as the data have

	Maps1  int // channels of the convolution; 0 = 16
	Hidden int // units of the state; 0 = 32

	Activation Activation // of the convolution; "" = ReLU
	Merge      Merge      // of nodes and edges, where there are edges; "" = Concat
	Pool       Pool       // what of the states is read; "" = Last

	// Dropout is the probability that a unit of what is read is dropped, below 1;
	// 0 = 0.5, negative = none.
	Dropout float64

	Loss      Loss      // "" = CrossEntropy where there are classes, else Squared
	Optimizer Optimizer // nil = RMSprop{}
	Seed      uint64    // of the initial weights and of dropout

	// Workers is how many goroutines share a step of more than 64 rows, up to 16;
	// 0 = 1. Results do not depend on it.
	Workers int

	// Info is saved with the weights and loaded with them. Keys may not begin
	// with "sanflow.".
	Info map[string]string

	*core
}

// Pool is what a recurrent network makes of its states, of which it has one per
// field.
type Pool string

const (
	Last Pool = "last" // the state after the last field
	Mean Pool = "mean" // the mean of the states
)

// word returns the setting.
func (p *Pool) word() word {
	return word{"Pool", (*string)(p), []string{string(Last), string(Mean)}}
}

var _ Model = (*GRU)(nil)

func (m *GRU) settings() settings {
	return settings{
		kind: "gru", name: "GRU", core: &m.core, info: &m.Info, w: &m.W, k: &m.K,
		sizes:   []size{{"Maps1", &m.Maps1, 16}, {"Hidden", &m.Hidden, 32}},
		words:   []word{m.Activation.word(), m.Merge.word(), m.Pool.word()},
		dropout: &m.Dropout, loss: &m.Loss, optimizer: &m.Optimizer, seed: &m.Seed, workers: &m.Workers,
	}
}

// Init does what CNN.Init does.
func (m *GRU) Init(s Shape) error { return initialise(m, s) }

// Save writes the model as CNN.Save does.
func (m *GRU) Save(w io.Writer) error { return m.save(w, m.Info) }

// Load reads what Save wrote, as CNN.Load does.
func (m *GRU) Load(r io.Reader) error { return load(m, r) }

// Metadata returns Info, which it makes where it is nil.
func (m *GRU) Metadata() map[string]string { return modelfile.Metadata(&m.Info) }

// String returns the settings in one line.
func (m *GRU) String() string { return m.settings().String() }

func (m *GRU) fits(Shape) error { return nil }

func (m *GRU) lay(p *layer.Params, s Shape) body {
	l := &gruLayers{fields: layer.NewReader(p, "conv1", s.nodes(), s.edges(), m.Maps1, m.Activation.kind(), m.Merge == Sum), mean: m.Pool == Mean}
	l.gru = layer.NewGRULayer(p, "gru", s.W, l.fields.Channels(), m.Hidden)
	return l
}

// gruLayers is a GRU at work.
//
//	fields (B, w, 16) ─ gru (B, w, 32) ─ last or mean (B, 32)
type gruLayers struct {
	fields *layer.Reader
	gru    *layer.GRULayer
	mean   bool

	y, dx1 []float32
}

func (l *gruLayers) init(r random.Source) {
	l.fields.Init(r)
	l.gru.Init(r)
}

func (l *gruLayers) width() int { return l.gru.Units }

func (l *gruLayers) forward(b batch) ([]float32, error) {
	if err := l.fields.Forward(b.nodes, b.edges, b.rows); err != nil {
		return nil, err
	}
	l.gru.Forward(l.fields.Output(b.rows), b.rows)
	u, n := l.gru.Units, l.gru.N
	l.y = scratch.Resize(l.y, b.rows*u)
	for i := range b.rows {
		y := l.y[i*u : i*u+u]
		if !l.mean {
			copy(y, l.gru.Output(i, n-1))
			continue
		}
		clear(y)
		for t := range n {
			for j, v := range l.gru.Output(i, t) {
				y[j] += v
			}
		}
		for j := range y {
			y[j] /= float32(n)
		}
	}
	return l.y[:b.rows*u], nil
}

func (l *gruLayers) backward(dx []float32, b batch) {
	if l.mean {
		for i := range dx {
			dx[i] /= float32(l.gru.N)
		}
	}
	size := b.rows * l.fields.Size()
	l.dx1 = scratch.Resize(l.dx1, size)
	l.gru.Backward(l.dx1, dx, l.mean, l.fields.Output(b.rows), b.rows)
	l.fields.Backward(l.dx1[:size], b.nodes, b.edges, b.rows)
}
