package nn

import (
	"math"
	"strings"
	"testing"
)

// The weights that were appended are restored, and a model of other weights refuses them.
func TestSetWeights(t *testing.T) {
	m := &PSLR{}
	if err := m.Init(small); err != nil {
		t.Fatal(err)
	}
	if _, err := m.step(smallBatch(4)); err != nil {
		t.Fatal(err)
	}
	hash, weights := m.Hash(), m.AppendWeights(nil)
	if _, err := m.step(smallBatch(4)); err != nil {
		t.Fatal(err)
	}
	if m.Hash() == hash {
		t.Fatal("nothing was learned since")
	}
	if err := m.SetWeights(weights); err != nil || m.Hash() != hash {
		t.Errorf("restored: %v, or other weights", err)
	}
	other := &GRU{}
	if err := other.Init(small); err != nil {
		t.Fatal(err)
	}
	if err := other.SetWeights(weights); err == nil || !strings.Contains(err.Error(), " weights, the model has ") {
		t.Errorf("another model: %v", err)
	}
}

// Evaluate says what Step says, and changes nothing.
func TestEvaluate(t *testing.T) {
	forModels(t, func(t *testing.T, s Shape, m Model) {
		c := learnerOf(m)
		in := tensorsOf(s, randomBatch(s, 7, 1))
		hash := c.Hash()
		got, err := c.Evaluate(in)
		if err != nil {
			t.Fatal(err)
		}
		if c.Hash() != hash || c.Seen() != 0 {
			t.Error("Evaluate has changed the model")
		}
		want, err := c.Step(in)
		if err != nil {
			t.Fatal(err)
		}
		if got != want && !HoldsOut(m) {
			t.Errorf("%+v, Step says %+v", got, want)
		}
		in.Targets, in.Values = nil, nil
		if _, err := c.Evaluate(in); err == nil {
			t.Error("a batch without targets was evaluated")
		}
		c.work.W[0] = float32(math.NaN())
		in = tensorsOf(s, randomBatch(s, 7, 1))
		if r, err := c.Evaluate(in); err == nil {
			t.Errorf("weights that are not numbers: %+v", r)
		}
	})
	if _, err := new(CNN).Evaluate(Batch{}); err != ErrNotReady {
		t.Errorf("before Init: %v", err)
	}
}
