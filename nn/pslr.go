package nn

import (
	"io"

	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// PSLR is the logistic regression on the patches of the PATCHY-SAN paper
// (Niepert et al. 2016, section Experimental Set-up): one weight per class for
// every channel of every node of every field, edges likewise where the data
// have them, and nothing hidden. Without classes it is linear regression. It is
// what a CNN must beat: it cannot learn from two nodes what neither says
// alone.
//
// The problem is convex, so it begins at 0 and has no seed. Where there are more
// weights than graphs, an Optimizer with WeightDecay is advisable, which does
// what an L2 penalty is for. A graph costs O(w·k·d·classes) for d values of a
// node.
//
// The fields are its settings, as those of CNN. A PSLR is used by one goroutine
// at a time.
type PSLR struct {
	W int // fields of a graph; 0 = as many as the data have
	K int // nodes of a field; 0 = as many as the data have

	Loss      Loss      // "" = CrossEntropy where there are classes, else Squared
	Optimizer Optimizer // nil = RMSprop{}

	// Workers is how many goroutines share a step of more than 64 rows, up to 16;
	// 0 = 1. Results do not depend on it.
	Workers int

	// Info is saved with the weights and loaded with them. Keys may not begin
	// with "sanflow.".
	Info map[string]string

	*core
}

var _ Model = (*PSLR)(nil)

func (m *PSLR) settings() settings {
	return settings{
		kind: "pslr", name: "PSLR", core: &m.core, info: &m.Info, w: &m.W, k: &m.K,
		loss: &m.Loss, optimizer: &m.Optimizer, workers: &m.Workers,
	}
}

// Init does what CNN.Init does.
func (m *PSLR) Init(s Shape) error { return initialise(m, s) }

// Save writes the model as CNN.Save does.
func (m *PSLR) Save(w io.Writer) error { return m.save(w, m.Info) }

// Load reads what Save wrote, as CNN.Load does.
func (m *PSLR) Load(r io.Reader) error { return load(m, r) }

// Metadata returns Info, which it makes where it is nil.
func (m *PSLR) Metadata() map[string]string { return modelfile.Metadata(&m.Info) }

// String returns the settings in one line.
func (m *PSLR) String() string { return m.settings().String() }

func (m *PSLR) fits(Shape) error { return nil }

func (m *PSLR) lay(p *layer.Params, s Shape) body {
	// All fields of a graph are read as one, so no weight is shared.
	units := m.Loss.units(s)
	whole := func(c layer.Cells) layer.Cells { c.N, c.W, c.Fields = c.N*c.W, 1, c.W; return c }
	return &pslrLayers{layer.NewReader(p, "nodes", whole(s.nodes()), whole(s.edges()), units, layer.Linear, true)}
}

// pslrLayers is a PSLR at work: its features are the outputs.
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
