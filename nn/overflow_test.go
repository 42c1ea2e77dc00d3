package nn

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Numbers that overflow what is computed are errors, which name the row, and never an
// answer.
func TestOverflow(t *testing.T) {
	one := func(x float64) *Counts {
		c := new(Counts)
		c.Append([]uint64{1, 2}, []float64{1, 2})
		c.Append([]uint64{1, 3}, []float64{x, x})
		return c
	}
	counts, class := new(Counts), []int32{0, 1, 0, 1}
	for i := range 4 {
		counts.Append([]uint64{uint64(1 + i%2), 9}, []float64{2, 1})
	}
	shape := Shape{Counts: []string{"words"}, Classes: 2}
	logistic := func(k Similarity) *Logistic {
		m := &Logistic{Width: 8, Kernel: k}
		err := m.Init(shape)
		if err == nil {
			_, err = m.Step(Batch{Counts: counts, Targets: tensor.New(tensor.WithBacking(class))})
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	tried := map[string]error{}
	targets := tensor.New(tensor.WithBacking([]int32{0, 1}))
	for _, by := range []Similarity{Linear, Cosine} {
		for _, x := range []float64{1e308, 1e155, math.Inf(1), math.NaN()} {
			name := func(what string) string { return string(by) + what + fmt.Sprint(x) }
			_, tried[name(" Predict ")] = logistic(by).Predict(Batch{Counts: one(x)}, nil)
			_, tried[name(" Step ")] = logistic(by).Step(Batch{Counts: one(x), Targets: targets})
			_, tried[name(" Evaluate ")] = logistic(by).Evaluate(Batch{Counts: one(x), Targets: targets})
		}
	}
	for what, err := range tried {
		if err == nil || !strings.Contains(err.Error(), "0x") && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v, want an error that names the count", what, err)
		}
	}
}

// What an encoder is given and cannot compute with is an error that names the row; so is
// what is no number afterwards.
func TestEncodersOfHugeRows(t *testing.T) {
	for name, c := range map[string]interface {
		Encoder
		Decode(y, dst *tensor.Dense) (*tensor.Dense, error)
	}{
		"rbm": &RBM{Units: Gaussian, Hidden: 3}, "autoencoder": &Autoencoder{Units: Gaussian, Hidden: 3},
	} {
		if err := c.Init(4); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Step(rowsOf(4, normal(newRand(1), 12))); err != nil {
			t.Fatal(err)
		}
		w, _, _ := c.Weights()
		copy(w.Float32s(), []float32{1, 1, 1, -1, 1, 1}) // so that the first code of huge values is Inf-Inf
		for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 3e38} {
			rows := rowsOf(4, []float32{0, 0, 0, 0, x, x, x, x})
			var row *RowError
			_, err := c.Encode(rows, nil)
			if !kernel.Finite(float64(x)) && (!errors.As(err, &row) || row.Row != 1) {
				t.Errorf("%s: %v encoded: %v", name, x, err)
			}
			if _, err := c.Step(rows); !errors.As(err, &row) || row.Row != 1 {
				t.Errorf("%s: %v learned: %v", name, x, err)
			}
		}
		huge := w.Float32s()
		for i := range huge {
			huge[i] = math.MaxFloat32 * float32(1-2*(i/3%2))
		}
		var row *RowError
		if _, err := c.Encode(rowsOf(4, []float32{2, 2, 2, 2}), nil); !errors.As(err, &row) {
			t.Errorf("%s: Inf - Inf encoded: %v", name, err)
		}
		if _, err := c.Decode(rowsOf(3, []float32{1, 1, 1}), nil); !errors.As(err, &row) {
			t.Errorf("%s: overflow decoded: %v", name, err)
		}
		huge[0] = float32(math.NaN())
		if err := c.Save(io.Discard); err == nil {
			t.Errorf("%s: a NaN was saved", name)
		}
	}
}

// Sums that overflow are an error in every model, whatever the activation makes of an
// infinity: a rectifier and a sigmoid make -Inf 0, a softmax too.
func TestOverflowOfSums(t *testing.T) {
	for _, test := range modelCases {
		for _, act := range []activation{relu, tanh, sigmoid} {
			m := test.new()
			words := m.(architecture).settings().words
			if len(words) > 0 && words[0].name == "Activation" {
				*words[0].v = string(act)
			} else if act != relu {
				continue
			}
			c := learnerOf(ready(t, test.s, m))
			if test.s.Attrs+test.s.EdgeAttrs > 0 { // one row is at fault
				for _, x := range []float32{3e38, -3e38, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())} {
					for i := range c.work.W {
						c.work.W[i] = -10
					}
					b := randomBatch(test.s, 4, 1)
					for _, attrs := range [][]float32{b.nodes.Attrs, b.edges.Attrs} {
						for i := range len(attrs) / 4 {
							attrs[len(attrs)/2+i] = x
						}
					}
					refusesRow(t, fmt.Sprintf("%s, %s, attributes of %v", test.name, act, x), m, tensorsOf(test.s, b), 2)
				}
			}
			if len(test.s.Counts) > 0 {
				continue // signs differ by id: see below
			}
			for _, w := range []float32{-3e38, 3e38} {
				for i := range c.work.W {
					c.work.W[i] = w
				}
				b := randomBatch(test.s, 4, 1)
				for i := range b.nodes.Cats {
					b.nodes.Cats[i] = 0
				}
				for i := range b.nodes.Attrs {
					b.nodes.Attrs[i] = 1
				}
				refusesRow(t, fmt.Sprintf("%s, %s, weights of %v", test.name, act, w), m, tensorsOf(test.s, b), -1)
			}
		}
	}
}

// refusesRow checks that m refuses a batch, and names the row if there is one.
func refusesRow(t *testing.T, name string, m Model, b Batch, want int) {
	t.Helper()
	_, predict := m.Predict(b, nil)
	_, evaluate := m.Evaluate(b)
	hash := learnerOf(m).Hash()
	_, learn := m.Step(b)
	for what, err := range map[string]error{"predicted": predict, "tested": evaluate, "learned": learn} {
		var row *RowError
		if errors.As(err, &row); err == nil || want >= 0 && (row == nil || row.Row != want) {
			t.Errorf("%s: %s: %v, want an error that names row %d", name, what, err, want)
		}
	}
	if learnerOf(m).Hash() != hash {
		t.Errorf("%s: the weights have changed", name)
	}
}

// An output of a model of counts that overflows to -Inf is no probability of 0.
func TestOverflowOfCounts(t *testing.T) {
	for _, heads := range []int{1, 3} {
		for _, unit := range []int{0, 1} {
			m := &Logistic{Width: 13, Kernel: Linear, Heads: heads}
			ready(t, Shape{Counts: []string{"wl"}, Classes: 2}, m)
			c := m.work.body.(*logisticLayer)
			row, x := slot(7, 13, 1)
			for i := range c.width() {
				if i%2 == unit {
					c.table.W[int(row)*c.width()+i] = -10 * x
				}
			}
			counts := new(Counts)
			counts.Append([]uint64{1}, []float64{1})
			counts.Append([]uint64{7}, []float64{3e38})
			b := Batch{Counts: counts, Targets: tensor.New(tensor.WithBacking([]int32{1, int32(1 - unit)}))}
			refusesRow(t, fmt.Sprintf("%d heads, class %d", heads, unit), m, b, 1)
		}
	}
}

// An encoder answers only where no sum has overflowed, and then as sums of float64 say,
// in whatever order the terms come: an overflow is an error that names the row.
func TestEncodersSumInAnyOrder(t *testing.T) {
	const huge = math.MaxFloat32
	terms := []float32{huge, -huge, huge, -huge, huge / 2, 1, -huge / 4}
	r := newRand(3)
	for range 200 {
		r.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
		n := 1 + r.IntN(len(terms))
		x := make([]float32, n)
		for i := range x {
			x[i] = []float32{0, 1, 1, 0.5, 1.5, 3}[r.IntN(6)]
		}
		sum, size := 0.0, 0.0
		for i, v := range x {
			sum += float64(v) * float64(terms[i])
			size += math.Abs(float64(v) * float64(terms[i]))
		}
		for name, c := range map[string]interface {
			Encoder
			Decode(y, dst *tensor.Dense) (*tensor.Dense, error)
		}{
			"rbm": &RBM{Units: Gaussian, Hidden: 3}, "autoencoder": &Autoencoder{Units: Gaussian, Hidden: 3},
		} {
			if err := c.Init(n); err != nil {
				t.Fatal(err)
			}
			w, hidden, _ := c.Weights()
			for i := range w.Float32s() {
				w.Float32s()[i] = terms[i/3]
			}
			hidden.Float32s()[0] = 1
			rows := rowsOf(n, append(make([]float32, n), x...))
			y, err := c.Encode(rows, nil)
			var row *RowError
			switch {
			case err != nil && (!errors.As(err, &row) || row.Row != 1):
				t.Fatalf("%s: %v of %v: %v, want row 1 named", name, x, terms, err)
			case err != nil && size < huge, err == nil && math.Abs(sum) > huge:
				t.Fatalf("%s: %v of %v, a sum of %v: %v", name, x, terms, sum, err)
			case err == nil && size > 1e30 && math.Abs(sum) > 1e-5*size:
				if p := y.Float32s()[3]; p != map[bool]float32{true: 1}[sum > 0] {
					t.Fatalf("%s: %v of %v, a sum of %v: code %v", name, x, terms, sum, p)
				}
			}
		}
	}
}

// A reconstruction whose sum overflows is learned from by no encoder, though a logistic unit
// makes it 0 or 1.
func TestOverflowOfReconstruction(t *testing.T) {
	for _, c := range []Encoder{
		&RBM{Hidden: 3}, &RBM{Hidden: 3, cd: 2},
		&Autoencoder{Hidden: 3},
	} {
		for _, sign := range []float32{1, -1} {
			if err := c.Init(4); err != nil {
				t.Fatal(err)
			}
			w, hidden, visible := c.Weights()
			for i := range w.Float32s() {
				w.Float32s()[i] = 0
			}
			for i := range 3 {
				hidden.Float32s()[i] = 30     // units that are on
				w.Float32s()[i] = 3e38 * sign // of the first value, which no row has
				visible.Float32s()[0] = 3e38 * sign
			}
			if _, err := c.Step(rowsOf(4, []float32{0, 1, 0, 1, 0, 0, 1, 1})); err == nil {
				t.Errorf("%v, %v: a sum that overflows was learned from", c, sign)
			}
			if _, err := c.(interface {
				Decode(y, dst *tensor.Dense) (*tensor.Dense, error)
			}).Decode(rowsOf(3, []float32{0, 0, 0, 1, 1, 1}), nil); err == nil || !strings.Contains(err.Error(), "row 1") {
				t.Errorf("%v, %v: decoded: %v", c, sign, err)
			}
		}
	}
}

// A score is a sum of numbers, or an error that names its row.
func TestOverflowOfScores(t *testing.T) {
	for _, w := range []float32{3e38, -3e38} {
		r := &Ranker{Hidden: 2}
		if err := r.Init(3); err != nil {
			t.Fatal(err)
		}
		for i := range r.mean {
			r.mean[i], r.all.W[i] = w, w
		}
		x := []float32{0, 0, 0, 2, 2, 2}
		var row *RowError
		if err := r.Score(x, make([]float32, 2)); !errors.As(err, &row) {
			t.Errorf("weights of %v: scored: %v", w, err)
		}
		if _, err := r.Learn(Question{X: x}); !errors.As(err, &row) {
			t.Errorf("weights of %v: learned: %v", w, err)
		}
	}
}
