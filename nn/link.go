package nn

import (
	"errors"
	"fmt"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Link predicts whether two nodes are joined, the paper's missing edges. The first half of the
// w fields belongs to one end and the second half to the other. One encoder, a convolution of
// size and stride k and a dense layer, codes each end. The codes a and b enter a dense layer as
// a∘b and |a-b|, so swapping the ends gives the same bits. Dropout and one output follow; class
// 1 is a link. A row costs O(w·k·d·maps + w·maps·units + units²), of 16 maps and 64 units.
type Link struct {
	maps1      int        // channels of the convolution; 0 = 16
	code       int        // units of the code of an end; 0 = 64
	hidden     int        // units of the dense layer on both codes; 0 = 64
	activation activation // activation of all layers except the last; "" = relu
	dropout    float64    // probability that a hidden unit is dropped, below 1; 0 = 0.5, negative = none
	Optimizer  Optimizer  // nil = RMSprop{}
	Seed       uint64     // of the initial weights and of dropout
	workers    int        // as in CNN

	Learner // set by Init, and by a file
}

var _ Model = (*Link)(nil)

func (m *Link) settings() settings {
	return settings{
		kind: "link", name: "Link", learner: &m.Learner,
		sizes:   []size{{"Maps1", &m.maps1, 16}, {"Code", &m.code, 64}, {"Hidden", &m.hidden, 64}},
		words:   []word{m.activation.word(), fixedWord("Merge", "concat")},
		dropout: &m.dropout, loss: binaryCrossEntropy, optimizer: &m.Optimizer, seed: &m.Seed, workers: &m.workers,
	}
}

// Init works as CNN.Init. The data must have 2 classes and an even w.
func (m *Link) Init(s Shape) error { return initialise(m, s) }

func (m *Link) String() string { return m.settings().String() }

func (m *Link) fits(s Shape) error {
	if s.W%2 != 0 {
		return fmt.Errorf("w = %d, want an even number: half for each end of a link", s.W)
	}
	return nil
}

func (m *Link) lay(p *layer.Params, s Shape) body {
	act := m.activation.kind()
	s.W /= 2
	l := &linkLayers{fields: layer.NewReader(p, "conv1", s.nodes(), s.edges(), m.maps1, act, false)}
	l.code = layer.NewDense(p, "code", l.fields.Size(), m.code, act)
	l.hidden = layer.NewDense(p, "hidden", 2*m.code, m.hidden, act)
	return l
}

// linkLayers are the layers of a Link. A row of w fields is stored as two rows of w/2, one for each end.
//
//	fields (2·B, w/2, 16) ─ code (2·B, 64) ─ pair (B, 2·64) ─ hidden (B, 64)
type linkLayers struct {
	fields *layer.Reader
	code   *layer.Dense
	hidden *layer.Dense

	y2, pair, y3    []float32
	dx1, dy2, dpair []float32
}

func (l *linkLayers) init(r random.Source) {
	l.fields.Init(r)
	l.code.Init(r)
	l.hidden.Init(r)
}

func (l *linkLayers) width() int { return l.hidden.Out }

func (l *linkLayers) forward(b batch) ([]float32, error) {
	ends := 2 * b.rows
	if err := l.fields.Forward(b.nodes, b.edges, ends); err != nil {
		return nil, endError(err)
	}
	c := l.code.Out
	l.y2 = scratch.Resize(l.y2, ends*c)
	l.pair = scratch.Resize(l.pair, b.rows*2*c)
	l.y3 = scratch.Resize(l.y3, b.rows*l.hidden.Out)
	l.code.Forward(l.y2, l.fields.Output(ends), ends)
	for i := range b.rows {
		pairForward(l.pair[2*i*c:2*(i+1)*c], l.y2[2*i*c:2*(i+1)*c])
	}
	l.hidden.Forward(l.y3, l.pair, b.rows)
	return l.y3[:b.rows*l.hidden.Out], nil
}

// pairForward sets y to a∘b and |a-b|, side by side. a and b are the halves of x.
func pairForward(y, x []float32) {
	c := len(x) / 2
	a, b := x[:c], x[c:]
	product, difference := y[:c], y[c:]
	for j, v := range a {
		product[j] = v * b[j]
		difference[j] = max(v-b[j], b[j]-v)
	}
}

// pairBackward sets dx to the gradient of x.
func pairBackward(dx, dy, x []float32) {
	c := len(x) / 2
	a, b := x[:c], x[c:]
	for j, v := range a {
		dp, dd := dy[j], dy[c+j]
		switch {
		case v < b[j]:
			dd = -dd
		case v == b[j]:
			dd = 0 // |x| has no derivative at 0; 0 treats both ends alike
		}
		dx[j] = dp*b[j] + dd
		dx[c+j] = dp*v - dd
	}
}

func (l *linkLayers) backward(dx []float32, b batch) {
	ends := 2 * b.rows
	c := l.code.Out
	l.dpair = scratch.Resize(l.dpair, b.rows*2*c)
	l.dy2 = scratch.Resize(l.dy2, ends*c)
	l.dx1 = scratch.Resize(l.dx1, ends*l.fields.Size())
	l.hidden.Backward(l.dpair, dx, l.y3, l.pair, b.rows)
	for i := range b.rows {
		at, end := 2*i*c, 2*(i+1)*c
		pairBackward(l.dy2[at:end], l.dpair[at:end], l.y2[at:end])
	}
	dx1 := l.dx1[:ends*l.fields.Size()]
	l.code.Backward(dx1, l.dy2, l.y2, l.fields.Output(ends), ends)
	l.fields.Backward(dx1, b.nodes, b.edges, ends)
}

// endError converts the error of an end into that of its row.
func endError(err error) error {
	var e *layer.InputError
	if !errors.As(err, &e) {
		return err
	}
	return rowErrorf(e.Row/2, "end %d: %w", e.Row%2, e.Err)
}
