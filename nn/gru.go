package nn

import (
	"io"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// GRU reads the w fields in rank order with a gated recurrent unit, the paper's future work. A
// convolution of size and stride k feeds the unit; its pooled state passes dropout and the
// output layer. Dummy fields are steps without input. A graph costs O(w·k·d·Maps1 +
// w·(Maps1+Hidden)·Hidden).
type GRU struct {
	W          int               // fields of a graph; 0 = as in the data
	K          int               // nodes of a field; 0 = as in the data
	Maps1      int               // channels of the convolution; 0 = 16
	Hidden     int               // units of the state; 0 = 32
	activation activation        // of the convolution; "" = relu
	merge      merging           // of nodes and edges; "" = concat
	pool       pooling           // of the states; "" = lastState
	Dropout    float64           // probability that a unit of the pooled state is dropped, below 1; 0 = 0.5, negative = none
	lossKind   lossName          // "" = CrossEntropy for classes, Squared for numbers
	Optimizer  Optimizer         // nil = RMSprop{}
	Seed       uint64            // of the initial weights and of dropout
	Workers    int               // as in CNN
	Info       map[string]string // as in CNN

	*Learner // nil before Init and Load
}

// pooling reduces the states of a GRU, one per field, to one vector.
type pooling string

const (
	lastState pooling = "last" // the state after the last field
	meanState pooling = "mean" // the mean of the states
)

// word returns the setting.
func (p *pooling) word() word {
	return word{"Pool", (*string)(p), []string{string(lastState), string(meanState)}}
}

var _ Model = (*GRU)(nil)

func (m *GRU) settings() settings {
	return settings{
		kind: "gru", name: "GRU", learner: &m.Learner, info: &m.Info, w: &m.W, k: &m.K,
		sizes:   []size{{"Maps1", &m.Maps1, 16}, {"Hidden", &m.Hidden, 32}},
		words:   []word{m.activation.word(), m.merge.word(), m.pool.word()},
		dropout: &m.Dropout, loss: &m.lossKind, optimizer: &m.Optimizer, seed: &m.Seed, workers: &m.Workers,
	}
}

func (m *GRU) Init(s Shape) error { return initialise(m, s) }

func (m *GRU) Save(w io.Writer) error { return m.save(w, m.Info) }

func (m *GRU) Metadata() map[string]string { return modelfile.Metadata(&m.Info) }

func (m *GRU) String() string { return m.settings().String() }

func (m *GRU) fits(Shape) error { return nil }

func (m *GRU) lay(p *layer.Params, s Shape) body {
	l := &gruLayers{fields: layer.NewReader(p, "conv1", s.nodes(), s.edges(), m.Maps1, m.activation.kind(), m.merge == added), mean: m.pool == meanState}
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
