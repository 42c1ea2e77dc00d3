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
			e.Nets = append(e.Nets, &CNN{Seed: seed})
			continue
		}
		e.Nets = append(e.Nets, m)
	}
	if err := e.Init(small); err != nil || e.Shape().W != small.W {
		t.Fatal(err)
	}
	for _, m := range e.Nets {
		if _, err := m.(Model).Step(b); err != nil {
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

// What was saved answers as before, bit for bit, and so does a clone; saved again it has the
// same bytes.
func TestEnsembleFile(t *testing.T) {
	b := tensorsOf(small, smallBatch(5))
	e := &Ensemble{Nets: []Predictor{&Pooled{Seed: 1, Maps: 3}, &Pooled{Seed: 2, Maps: 3}, &PSLR{}}, info: map[string]string{"a": "b"}}
	if e.Clone() != nil || (&Ensemble{}).Clone() != nil {
		t.Error("a clone before Init")
	}
	if err := e.Init(small); err != nil {
		t.Fatal(err)
	}
	var file, again bytes.Buffer
	if err := e.Save(&file); !errors.Is(err, ErrUntrained) {
		t.Errorf("untrained: %v", err)
	}
	for _, m := range e.Nets {
		if _, err := m.(Model).Step(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Save(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := loadModel(bytes.NewReader(file.Bytes())); err == nil || !strings.Contains(err.Error(), "which is no network") {
		t.Errorf("as a network: %v", err)
	}
	loaded := new(Ensemble)
	if err := into(loaded, bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := loaded.Save(&again); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) || loaded.Metadata()["a"] != "b" {
		t.Errorf("other bytes, or %v", err)
	}
	want, err := e.Predict(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Predictor{loaded, e.Clone(), loaded.Clone().Clone()} {
		got, err := p.Predict(b, nil)
		if err != nil || !slices.Equal(got.Float32s(), want.Float32s()) {
			t.Errorf("%T: %v, %v, want %v", p, got, err, want)
		}
	}
	type unsaved struct{ Predictor }
	nested, other := &Ensemble{Nets: []Predictor{e}}, &PSLR{}
	if err := other.Init(Shape{W: 4, K: 2, Attrs: 2, Classes: 3}); err != nil {
		t.Fatal(err)
	}
	learnerOf(other).given = true
	for want, bad := range map[string]*Ensemble{
		"neither been initialised": {}, "has no Save": {Nets: []Predictor{unsaved{e.Nets[0]}}},
		"an ensemble of an ensemble": nested, "for rows of the shape": {Nets: []Predictor{e.Nets[0], other}},
	} {
		file.Reset()
		err := bad.Save(io.Writer(&file))
		if err == nil {
			err = into(new(Ensemble), &file)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
