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
			if r, ok := c.(*RBM); ok {
				_, err := r.FreeEnergy(rows)
				_, gap := r.FreeEnergyGap(rows, rows)
				for _, err := range []error{err, gap, r.Gibbs(rows, 2, -1)} {
					if !kernel.Finite(float64(x)) && !errors.As(err, &row) {
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
