package nn

import (
	"errors"
	"math"
	"testing"

	"gorgonia.org/tensor"
)

// The mean of what the models say, into whatever tensor.
func TestEnsemble(t *testing.T) {
	b := tensorsOf(small, smallBatch(5))
	var e Ensemble
	if _, err := e.Predict(b, nil); !errors.Is(err, ErrNotReady) || e.Init(small) == nil || e.Shape().W != 0 {
		t.Errorf("no models: %v", err)
	}
	want := make([]float64, 15)
	for seed := range uint64(3) {
		m := &PSLR{}
		if seed > 0 {
			e = append(e, &CNN{Seed: seed})
			continue
		}
		e = append(e, m)
	}
	if err := e.Init(small); err != nil || e.Shape().W != small.W {
		t.Fatal(err)
	}
	for _, m := range e {
		if _, err := m.Step(b); err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range p.Float32s() {
			want[i] += float64(x) / 3
		}
	}
	for _, dst := range []*tensor.Dense{nil, tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(5, 3))} {
		p, err := e.Predict(b, dst)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range p.Float32s() {
			if math.Abs(float64(x)-want[i]) > 1e-6 {
				t.Errorf("%v, want %v", p, want)
				break
			}
		}
	}
}
