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
	whole := func(c layer.Cells) layer.Cells { c.N, c.W, c.Fields = c.N*c.W, 1, c.W; return c }
	return &pslrLayers{layer.NewReader(p, "nodes", whole(s.nodes()), whole(s.edges()), units, layer.Linear, true)}
}

// pslrLayers are the layers of a PSLR. Its features are the outputs.
type pslrLayers struct{ fields *layer.Reader }

func (l *pslrLayers) init(random.Source) {}

func (l *pslrLayers) width() int { return l.fields.Size() }

func (l *pslrLayers) forward(b batch) ([]float32, error) {
	if err := l.fields.Forward(b.nodes, b.edges, b.rows); err != nil {
		return nil, err
	}
	return l.fields.Output(b.rows), nil
}

func (l *pslrLayers) backward(dx []float32, b batch) {
	l.fields.Backward(dx, b.nodes, b.edges, b.rows)
}
