package nn

import (
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// PSLR is the logistic regression on patches of the PATCHY-SAN paper (Niepert et al. 2016,
// section Experimental Set-up): one weight per class for every channel of every node and edge
// of every field. For numbers it is linear regression. It learns no interactions. The problem
// is convex: weights begin at 0. With more weights than graphs, set the WeightDecay of Adam. A graph costs
// O(w·k·d·classes).
type PSLR struct {
	Optimizer Optimizer // nil = RMSprop{}
	Workers   int       // as in CNN

	Learner // set by Init, and by a file
}

var _ Model = (*PSLR)(nil)

func (m *PSLR) settings() settings {
	return settings{
		kind: "pslr", name: "PSLR", learner: &m.Learner,
		optimizer: &m.Optimizer, workers: &m.Workers,
	}
}

func (m *PSLR) Init(s Shape) error { return initialise(m, s) }

func (m *PSLR) String() string { return m.settings().String() }

func (m *PSLR) lay(p *layer.Params, s Shape) body {
	// All fields of a graph are read as one, so no weight is shared.
	units := lossOf(s).units(s)
	whole := func(name string, in layer.Cells) *layer.Tower {
		in.N, in.W, in.Fields = in.N*in.W, 1, in.W
		return layer.NewTower(p, name, in, units, layer.Linear)
	}
	return &pslrLayers{layer.NewReader(whole("nodes", s.nodes()), whole("edges", s.edges()), units, true)}
}

// pslrLayers are the layers of a PSLR. Its features are the outputs.
type pslrLayers struct{ fields *layer.Reader }

func (l *pslrLayers) init(random.Source) {}

func (l *pslrLayers) width() int { return l.fields.Size() }

func (l *pslrLayers) forward(b batch) ([]float32, error) {
	return l.fields.Forward(b.nodes, b.edges, b.rows)
}

func (l *pslrLayers) backward(dx []float32, b batch) {
	l.fields.Backward(dx, b.nodes, b.edges, b.rows)
}
