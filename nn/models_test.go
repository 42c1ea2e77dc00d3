package nn

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// modelCases are all models in all their forms, small enough for differences
// weight by weight, which need derivatives everywhere: hence tanh and sigmoid.
var modelCases = []modelCase{
	{"CNN", small, func() Model {
		return &CNN{Maps1: 5, Maps2: 3, Size2: 3, Hidden: 6, activation: tanh, Seed: 7}
	}},
	{"CNN, nodes", Shape{W: 1, K: 3, Cats: []int{2, 3}, Attrs: 2, Classes: 4}, func() Model {
		return &CNN{Maps1: 4, Maps2: 3, Hidden: 5, activation: tanh, Seed: 7}
	}},
	{"CNN, edges, concat", Shape{W: 3, K: 2, Cats: []int{3}, EdgeCats: []int{2, 3}, EdgeAttrs: 2, Classes: 3}, func() Model {
		return &CNN{Maps1: 4, Maps2: 3, Size2: 2, Hidden: 5, activation: tanh, Seed: 7, Optimizer: Adam{}}
	}},
	{"CNN, sparse", Shape{W: 2, K: 3, Sparse: 7, Classes: 2}, func() Model {
		return &CNN{Maps1: 4, Maps2: 3, Hidden: 5, activation: tanh, Seed: 7}
	}},
	{"CNN, regression", Shape{W: 4, K: 2, Cats: []int{3}, Attrs: 1, Sparse: 4}, func() Model {
		return &CNN{Maps1: 4, Maps2: 3, Size2: 2, Hidden: 5, activation: tanh, Seed: 7}
	}},
	{"PSLR", Shape{W: 3, K: 2, Cats: []int{3, 2}, Attrs: 2, Sparse: 3, EdgeCats: []int{2}, EdgeAttrs: 1, Classes: 3}, func() Model { return &PSLR{Optimizer: Adam{WeightDecay: 0.1}} }},
	{"PSLR, regression", Shape{W: 3, K: 2, Attrs: 2}, func() Model { return &PSLR{} }},
	{"Logistic", Shape{Counts: []string{"wl"}, Classes: 3}, func() Model { return &Logistic{Width: 13} }},
	{"Logistic, regression", Shape{Counts: []string{"wl"}}, func() Model { return &Logistic{Width: 13, Kernel: Linear} }},
	{"Logistic, min", Shape{Counts: []string{"wl"}, Classes: 3}, func() Model { return &Logistic{Width: 31, Kernel: Min, Optimizer: Adam{}} }},
	{"Logistic, heads", Shape{Counts: []string{"wl"}, Classes: 3}, func() Model { return &Logistic{Width: 17, Kernel: Min, Heads: 3, Optimizer: AdaGrad{Rate: 0.03}} }},
	{"Logistic, heads, regression", Shape{Counts: []string{"wl"}}, func() Model { return &Logistic{Width: 13, Heads: 2, Optimizer: Adam{}} }},
	{"GRU, last", Shape{W: 4, K: 2, Cats: []int{3, 2}, EdgeCats: []int{2}, Classes: 3}, func() Model {
		return &GRU{maps1: 4, Hidden: 3, activation: tanh, Seed: 7}
	}},
	{"Pooled", Shape{W: 2, K: 3, Cats: []int{3, 2}, Attrs: 1, Sparse: 4, Classes: 3}, func() Model {
		return &Pooled{Maps: 4, activation: tanh, Seed: 7}
	}},
}

type modelCase struct {
	name string
	s    Shape
	new  func() Model
}

// learnerOf returns the Learner of a model.
func learnerOf(m Model) *Learner { return m.(architecture).settings().learner }

// forModels runs a test for every model, initialised, with biases that are not
// 0.
func forModels(t *testing.T, f func(t *testing.T, s Shape, m Model)) {
	for _, test := range modelCases {
		t.Run(test.name, func(t *testing.T) {
			f(t, test.s, ready(t, test.s, test.new()))
		})
	}
}

func ready(t testing.TB, s Shape, m Model) Model {
	t.Helper()
	if err := m.Init(s); err != nil {
		t.Fatal(err)
	}
	r := newRand(11)
	for _, w := range learnerOf(m).work.List {
		if len(w.Shape) > 1 && w.W[0] != 0 {
			continue
		}
		for i := range w.W {
			w.W[i] = float32(0.2 * r.NormFloat64())
		}
	}
	learnerOf(m).given = true
	return m
}

// gradient returns that of all weights.
func gradient(r *replica) (g []float32) {
	keep := func() bool { g = slices.Clone(r.G); return true }
	if body, ok := r.body.(scatterer); ok {
		table, _ := body.scatter()
		table.whole(&r.Params, keep)
	} else {
		keep()
	}
	return g
}

// Every weight's gradient against differences of the loss, under the mask of
// dropout that the step drew. The weights are float32, so the differences are
// wide, yet short of the next kink of Link's |a-b|, and of fourth order:
// (8·(f(h)-f(-h)) - (f(2h)-f(-2h))) / 12h.
func TestModelGradients(t *testing.T) {
	forModels(t, func(t *testing.T, s Shape, m Model) {
		work := learnerOf(m).work
		b := randomBatch(s, 5, 3)
		loss := func() float64 {
			_, learned, err := work.learn(b, 3, 32, b.rows)
			if err != nil {
				t.Fatal(err)
			}
			return learned / float64(b.rows)
		}
		loss()
		grad := gradient(work)
		const h = 1.0 / 512
		at, moved := 0, 0
		for _, l := range work.List {
			for i, v := range l.W {
				f := func(x float32) float64 { l.W[i] = v + x; return loss() }
				want := (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
				l.W[i] = v
				if got := float64(grad[at+i]); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
					t.Fatalf("d loss / d %s[%d] = %v, want %v", l.Name, i, got, want)
				}
				if want != 0 {
					moved++
				}
			}
			at += (len(l.W) + layer.Align - 1) / layer.Align * layer.Align
		}
		if moved < len(work.W)/4 {
			t.Errorf("only %d of %d gradients are not 0: the test shows little", moved, len(work.W))
		}
	})
}

// Rows do not see each other: a batch is its rows, whatever memory held before,
// and its gradient is their mean.
func TestModelBatchIsItsRows(t *testing.T) {
	forModels(t, func(t *testing.T, s Shape, m Model) {
		c := learnerOf(m)
		c.work.drop = nil
		whole := randomBatch(s, 7, 5)
		learn := func(b batch) (y, g []float32) {
			y, err := c.work.forward(b)
			if err != nil {
				t.Fatal(err)
			}
			y = slices.Clone(y)
			if _, _, err := c.work.learn(b, 0, 0, b.rows); err != nil {
				t.Fatal(err)
			}
			return y[:b.rows*c.loss.units(s)], slices.Clone(c.work.G)
		}
		y, g := learn(whole)
		var ys []float64
		sum := make([]float64, len(g))
		for _, cut := range [][2]int{{0, 1}, {1, 4}, {4, 7}} {
			y, g := learn(whole.cut(s, cut[0], cut[1]))
			for _, v := range y {
				ys = append(ys, float64(v))
			}
			for i, v := range g {
				sum[i] += float64(v) * float64(cut[1]-cut[0]) / 7
			}
		}
		compare(t, "gradient", g, sum, 1e-6)
		compare(t, "output", y, ys, 1e-6)
	})
}

// Saved, loaded as what it is and as any model, and saved again.
func TestModelSaveLoad(t *testing.T) {
	forModels(t, func(t *testing.T, s Shape, m Model) {
		b := randomBatch(s, 9, 1)
		for range 5 {
			if _, err := learnerOf(m).step(b); err != nil {
				t.Fatal(err)
			}
		}
		var file bytes.Buffer
		if err := m.Save(&file); err != nil {
			t.Fatal(err)
		}
		any, err := loadModel(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%T %v", any, any), fmt.Sprintf("%T %v", m, m); got != want {
			t.Errorf("loaded as\n%s, want\n%s", got, want)
		}
		if learnerOf(any).Hash() != learnerOf(m).Hash() {
			t.Error("other weights")
		}
		var again bytes.Buffer
		if err := any.Save(&again); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
			t.Errorf("saved again, the bytes differ (%v)", err)
		}
		in := tensorsOf(s, b)
		in.Targets, in.Values = nil, nil
		p, err := m.Predict(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := any.Predict(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		columns := max(1, s.Classes)
		if !slices.Equal(p.Shape(), []int{9, columns}) || !slices.Equal(p.Float32s(), q.Float32s()) {
			t.Errorf("predictions %v, and %v after loading", p, q)
		}
		for i := range 9 {
			row := p.Float32s()[i*columns : (i+1)*columns]
			sum := float32(0)
			for _, v := range row {
				sum += v
			}
			if s.Classes > 0 && math.Abs(float64(sum)-1) > 1e-6 {
				t.Errorf("probabilities %v of row %d do not add up to 1", row, i)
			}
		}
		if err := any.Init(s); err != nil {
			t.Errorf("Init after Load: %v", err)
		}
		other := s.clone()
		want := "nodes a field (k)"
		if other.K++; len(s.Counts) > 0 {
			other.Counts, want = []string{"sp"}, `for counts of ["wl"], the data have ["sp"]`
		}
		if err := any.Init(other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Init for another k: %v", err)
		}
	})
}

// The same seed gives the same bytes, whatever the memory held.
func TestModelSameBytes(t *testing.T) {
	for _, test := range modelCases {
		train := func(warm bool) string {
			m := test.new()
			if err := m.Init(test.s); err != nil {
				t.Fatal(err)
			}
			c := learnerOf(m)
			if warm {
				p := make([]float32, 40*max(1, test.s.Classes))
				if err := c.predict(p, randomBatch(test.s, 40, 77)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 12 {
				if _, err := c.step(randomBatch(test.s, 1+i%9, uint64(i))); err != nil {
					t.Fatal(err)
				}
			}
			return c.Hash()
		}
		if train(false) != train(true) {
			t.Errorf("%s: weights depend on what was predicted before", test.name)
		}
	}
}

func TestModelNoAllocations(t *testing.T) {
	if underRace {
		t.Skip("the kernels' pool of scratch memory is drained under the race detector")
	}
	forModels(t, func(t *testing.T, s Shape, m Model) {
		in, less := tensorsOf(s, randomBatch(s, 8, 1)), tensorsOf(s, randomBatch(s, 5, 2))
		dst := tensor.New(tensor.WithShape(5, max(1, s.Classes)), tensor.Of(tensor.Float32))
		got := testing.AllocsPerRun(20, func() {
			_, err := m.Step(in)
			_, err2 := m.Step(less)
			_, err3 := m.Predict(less, dst)
			if err := errors.Join(err, err2, err3); err != nil {
				t.Fatal(err)
			}
		})
		if got != 0 {
			t.Errorf("%v allocations a round, want none", got)
		}
	})
}

// Numbers are learned as classes are: what was predicted is measured first.
func TestRegression(t *testing.T) {
	s := Shape{W: 2, K: 2, Attrs: 1}
	for _, m := range []Model{&CNN{Seed: 1, Dropout: -1, Optimizer: Adam{Rate: 1e-2}}, &PSLR{Optimizer: AdaGrad{Rate: 0.1}}, &GRU{Seed: 1, Dropout: -1, optimizer: Adam{Rate: 1e-2}}} {
		if err := m.Init(s); err != nil {
			t.Fatal(err)
		}
		c := learnerOf(m)
		var squares, abs float64
		var last Result
		for i := range 400 {
			b := randomBatch(s, 32, uint64(i))
			for j := range b.values {
				x := b.nodes.Attrs[4*j:]
				b.values[j] = 3 + 2*x[0] - x[3]
			}
			p := make([]float32, 32)
			if err := c.predict(p, b); err != nil {
				t.Fatal(err)
			}
			var sq, ab float64
			for j, v := range p {
				d := float64(v) - float64(b.values[j])
				sq += d * d
				ab += math.Abs(d)
			}
			r, err := c.step(b)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(r.Loss-sq/32) > 1e-6*(1+r.Loss) || math.Abs(r.AbsError-ab/32) > 1e-6*(1+r.AbsError) || r.Correct != 0 {
				t.Fatalf("%T: step %d: %+v, want a loss of %v and an error of %v", m, i, r, sq/32, ab/32)
			}
			squares += sq
			abs += ab
			last = r
		}
		n := float64(400 * 32)
		if math.Abs(c.lossSum-squares)/n > 1e-6 || math.Abs(c.abs-abs)/n > 1e-6 || c.Accuracy() != 0 {
			t.Errorf("%T: sums of squares %v and of errors %v, accuracy %v, want %v, %v, 0", m, c.lossSum, c.abs, c.Accuracy(), squares, abs)
		}
		if last.Loss > 0.05 {
			t.Errorf("%T: has not learned a sum: %+v", m, last)
		}
	}
}

// Weights that have run away stop the training with the step's number, and a
// prediction with its row.
func TestModelDiverged(t *testing.T) {
	forModels(t, func(t *testing.T, s Shape, m Model) {
		c := learnerOf(m)
		b := randomBatch(s, 4, 1)
		if _, err := c.step(b); err != nil {
			t.Fatal(err)
		}
		for _, w := range c.work.List {
			w.W[0] = float32(math.NaN())
		}
		hash := c.Hash()
		var row *RowError
		_, err := c.step(b)
		if err == nil || !strings.HasPrefix(err.Error(), "nn: step 2: the loss is NaN") || errors.As(err, &row) {
			t.Errorf("Step: %v, want the step named", err)
		}
		if c.Hash() != hash || c.Seen() != 4 {
			t.Error("the step has changed the model")
		}
		if err := c.predict(make([]float32, 4*max(1, s.Classes)), b); !errors.As(err, &row) {
			t.Errorf("Predict: %v, want a row named", err)
		}
		if err := m.Save(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "is NaN") {
			t.Errorf("Save: %v, want the weight named", err)
		}
	})
}
