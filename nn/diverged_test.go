package nn

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// A number that is out of all proportion is the fault of its row, which is named
// before it has touched the weights or what the optimizer remembers: the batch
// without that row is learned from as if it had never come.
func TestExtremeRow(t *testing.T) {
	refused := 0
	for _, test := range modelCases {
		if test.s.Attrs == 0 && test.s.EdgeAttrs == 0 && test.s.Classes > 0 {
			continue
		}
		for _, opt := range []Optimizer{RMSprop{}, Adam{}, AdaGrad{}} {
			for _, x := range []float32{1e25, -3e38, float32(math.NaN()), float32(math.Inf(-1))} {
				m := test.new()
				*m.(architecture).settings().optimizer = opt
				c := learnerOf(ready(t, test.s, m))
				if _, err := c.step(randomBatch(test.s, 8, 1)); err != nil {
					t.Fatal(err)
				}
				hash, states := c.Hash(), memory(c)
				b := randomBatch(test.s, 8, 2)
				for _, v := range [][]float32{b.nodes.Attrs, b.edges.Attrs, b.values} {
					if len(v) > 0 {
						v[5*len(v)/8] = x
						break
					}
				}
				_, err := c.step(b)
				if err == nil && kernel.Finite(float64(x)) && checkRows("", memory(c), 1) == nil && checkRows("", c.work.W, 1) == nil {
					continue // no unit lets the number through
				}
				refused++
				var row *RowError
				if !errors.As(err, &row) || row.Row != 5 {
					t.Fatalf("%s, %T, %v: %v, want row 5 named", test.name, opt, x, err)
				}
				if c.Hash() != hash || !slices.Equal(memory(c), states) || c.Seen() != 8 {
					t.Errorf("%s, %T, %v: the row has changed the model", test.name, opt, x)
				}
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d rows were refused", refused)
	}
}

// memory returns what the optimizer of a model remembers.
func memory(c *Learner) (x []float32) {
	for _, s := range c.opt.state() {
		x = append(x, s.x...)
	}
	return x
}

// The same for encoders.
func TestExtremeRowOfEncoder(t *testing.T) {
	for _, c := range []Encoder{
		&RBM{Units: Gaussian, Hidden: 4, Seed: 1},
		&Autoencoder{Units: Gaussian, Hidden: 4, Seed: 1},
		&Autoencoder{Units: Gaussian, Hidden: 4, Optimizer: Adam{}, Seed: 1},
	} {
		if err := c.Init(3); err != nil {
			t.Fatal(err)
		}
		x := normal(newRand(1), 12)
		in := tensor.New(tensor.WithShape(4, 3), tensor.WithBacking(x))
		if _, err := c.Step(in); err != nil {
			t.Fatal(err)
		}
		hash := c.(interface{ Hash() string }).Hash()
		for _, huge := range []float32{1e25, 3e38, float32(math.NaN()), float32(math.Inf(1))} {
			x[7] = huge
			_, err := c.Step(in)
			var row *RowError
			if !errors.As(err, &row) || row.Row != 2 {
				t.Errorf("%v: %v: %v, want row 2 named", c, huge, err)
			}
			if c.(interface{ Hash() string }).Hash() != hash || c.Seen() != 4 {
				t.Errorf("%v: %v: the row has changed the weights", c, huge)
			}
		}
		x[7] = 0
		for range 5 {
			if _, err := c.Step(in); err != nil {
				t.Errorf("%v: afterwards: %v", c, err)
			}
		}
	}
}

// An untrained model returns ErrUntrained from all methods but Step.
func TestUntrained(t *testing.T) {
	for _, test := range modelCases {
		m := test.new()
		if m.Trained() {
			t.Errorf("%s: trained before Init", test.name)
		}
		if err := m.Init(test.s); err != nil {
			t.Fatal(err)
		}
		b := tensorsOf(test.s, randomBatch(test.s, 4, 1))
		use := func(want error) {
			t.Helper()
			_, predict := m.Predict(b, nil)
			_, evaluate := m.Evaluate(b)
			_, together := (&Ensemble{Nets: []Predictor{m, m}}).Predict(b, nil)
			for i, err := range []error{predict, evaluate, together, m.Save(io.Discard)} {
				if err != want {
					t.Errorf("%s, use %d: %v, want %v", test.name, i, err, want)
				}
			}
			if is := want == nil; m.Trained() != is || (&Ensemble{Nets: []Predictor{m}}).Trained() != is || m.Clone().Trained() != is {
				t.Errorf("%s: trained: %t, want %t", test.name, m.Trained(), is)
			}
		}
		use(ErrUntrained)
		if _, err := m.Step(b); err != nil {
			t.Fatal(err)
		}
		use(nil)
	}
	for i, err := range []error{new(CNN).Save(io.Discard), new(RBM).Save(io.Discard)} {
		if !errors.Is(err, ErrUntrained) {
			t.Errorf("use %d of a model before Init: %v", i, err)
		}
	}
	if (&Ensemble{}).Trained() {
		t.Error("nothing is trained")
	}
}

// An encoder that has not learned gives no code, draws nothing, begins no network and is
// no file; one that was given weights, or read from a file, is as one that has learned.
func TestUntrainedEncoder(t *testing.T) {
	for _, c := range []Encoder{&RBM{Hidden: 4, Seed: 1}, &Autoencoder{Hidden: 4, Seed: 1}} {
		if err := c.Init(6); err != nil {
			t.Fatal(err)
		}
		x, code := randomRows(3, 6, 1), randomRows(3, 4, 1)
		use := func(want error) {
			t.Helper()
			net := &CNN{Maps1: 4, Size2: 1}
			if err := net.Init(Shape{W: 2, K: 2, Cats: []int{3}, Classes: 2}); err != nil {
				t.Fatal(err)
			}
			_, encode := c.Encode(x, nil)
			_, decode := c.(interface {
				Decode(y, dst *tensor.Dense) (*tensor.Dense, error)
			}).Decode(code, nil)
			uses := []error{encode, decode, net.UseCode(c), c.Save(io.Discard)}
			if r, ok := c.(*RBM); ok {
				uses = append(uses, r.Sample(randomRows(3, 6, 1), 0))
			}
			for i, err := range uses {
				if !errors.Is(err, want) {
					t.Errorf("%T, use %d: %v, want %v", c, i, err, want)
				}
			}
		}
		use(ErrUntrained)
		if r, ok := c.(*RBM); ok { // what units are on average is no code
			if err := r.InitBias(x); err != nil {
				t.Fatal(err)
			}
			use(ErrUntrained)
		}
		if c.(interface{ Trained() bool }).Trained() {
			t.Errorf("%T is trained", c)
		}
		_, _, given := c.Weights() // any of them
		given.Float32s()[0]++
		use(nil)
	}
	r := &RBM{Hidden: 4}
	if err := r.Init(6); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Step(randomRows(3, 6, 1)); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := r.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded := new(RBM)
	if err := into(loaded, &file); err != nil || !loaded.Trained() {
		t.Errorf("a loaded machine is trained: %t (%v)", loaded.Trained(), err)
	}
	if err := r.Sample(randomRows(2, 6, 1), 4); err == nil || !strings.Contains(err.Error(), "hidden unit 4, want 0 to 3") {
		t.Errorf("Sample: %v", err)
	}
}

// Step tells of each row what Predict would have told before.
func TestStepPredicts(t *testing.T) {
	forModels(t, func(t *testing.T, s Shape, m Model) {
		if HoldsOut(m) {
			t.Skip("Step says what the head does that leaves a row out: see TestLogisticHeadsLeaveRowsOut")
		}
		learnerOf(m).given = true
		for _, rows := range []int{3, 200} {
			b := tensorsOf(s, randomBatch(s, rows, 1))
			want, err := m.Predict(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			b.Predicted = tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(want.Shape()...))
			if _, err := m.Step(b); err != nil {
				t.Fatal(err)
			}
			if rows < maxPart && !slices.Equal(want.Float32s(), b.Predicted.Float32s()) {
				t.Errorf("%d rows: Step predicted %v, Predict %v", rows, b.Predicted, want)
			}
			for i, x := range b.Predicted.Float32s() { // parts of a batch may round otherwise than the whole
				if math.Abs(float64(x-want.Float32s()[i])) > 1e-5 {
					t.Fatalf("%d rows: Step predicted %v, Predict %v", rows, x, want.Float32s()[i])
				}
			}
		}
	})
}
