package nn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// Numbers that overflow what is computed are errors, which name the row, and never an
// answer.
func TestOverflow(t *testing.T) {
	ctx := context.Background()
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
	deep := &Deep{Size: 2}
	var contexts Contexts
	contexts.Append([]uint64{1, 2, 3})
	if err := deep.Fit(ctx, &contexts); err != nil {
		t.Fatal(err)
	}
	tried := map[string]error{}
	targets := tensor.New(tensor.WithBacking([]int32{0, 1}))
	for _, by := range []Similarity{Linear, Cosine, Min, UnitMin} {
		svm := &SVM{Kernel: by}
		if err := errors.Join(svm.FitCounts(ctx, counts, class), svm.Init(shape)); err != nil {
			t.Fatal(err)
		}
		for _, x := range []float64{1e308, 1e155, math.Inf(1), math.NaN()} {
			if by.least() && x == 1e155 {
				continue // its minima are finite
			}
			name := func(what string) string { return string(by) + what + fmt.Sprint(x) }
			_, tried[name(" Classify ")] = svm.Classify(one(x).Row(1))
			_, tried[name(" Predict ")] = svm.Predict(Batch{Counts: one(x)}, nil)
			_, tried[name(" Evaluate ")] = svm.Evaluate(Batch{Counts: one(x), Targets: targets})
			_, tried[name(" GramOf ")] = GramOf(ctx, one(x), by, 1)
			_, tried[name(" Deep.Gram ")] = deep.Gram(ctx, one(x))
			tried[name(" FitCounts ")] = (&SVM{Kernel: by}).FitCounts(ctx, one(x), []int32{0, 1})
			if by.least() && finite(x) {
				continue // a Logistic of Min reads no more than the 64 lowest levels of a count
			}
			if by == UnitMin {
				continue
			}
			_, tried[name(" Logistic.Predict ")] = logistic(by).Predict(Batch{Counts: one(x)}, nil)
			_, tried[name(" Logistic.Step ")] = logistic(by).Step(Batch{Counts: one(x), Targets: targets})
			_, tried[name(" Logistic.Evaluate ")] = logistic(by).Evaluate(Batch{Counts: one(x), Targets: targets})
			_, _, _, tried[name(" Logistic.Entries ")] = logistic(by).Entries(one(x))
		}
	}
	for what, err := range tried {
		if err == nil || !strings.Contains(err.Error(), "0x") && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v, want an error that names the count", what, err)
		}
	}
}

// A matrix of similarities that are finite, but whose sums are not, gives no machine,
// and no class.
func TestSVMOfHugeMatrix(t *testing.T) {
	g := &Gram{N: 4, K: make([]float64, 16)}
	for i := range 4 {
		g.K[5*i] = 1e308
	}
	m := &SVM{MaxSteps: 1000}
	if err := m.Fit(context.Background(), g, []int32{0, 1, 2, 3}, []int32{0, 1, 0, 1}); err == nil {
		for i := range 4 {
			if c := m.Class(g.Row(i)); c != int32(i%2) && c != -1 {
				t.Errorf("row %d is of class %d", i, c)
			}
		}
	} else if !strings.Contains(err.Error(), "scale the kernel") && !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	if c := m.Class([]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}); c != -1 {
		t.Errorf("the class of NaN is %d", c)
	}
}

// What a coder is given and cannot compute with is an error that names the row; so is
// what is no number afterwards.
func TestCodersOfHugeRows(t *testing.T) {
	for name, c := range map[string]interface {
		Coder
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
			if !finite(float64(x)) && (!errors.As(err, &row) || row.Row != 1) {
				t.Errorf("%s: %v encoded: %v", name, x, err)
			}
			if _, err := c.Step(rows); !errors.As(err, &row) || row.Row != 1 {
				t.Errorf("%s: %v learned: %v", name, x, err)
			}
			if r, ok := c.(*RBM); ok {
				_, err := r.FreeEnergy(rows)
				_, gap := r.FreeEnergyGap(rows, rows)
				for _, err := range []error{err, gap, r.Gibbs(rows, 2, -1)} {
					if !finite(float64(x)) && !errors.As(err, &row) {
						t.Errorf("%s: %v: %v", name, x, err)
					}
				}
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
