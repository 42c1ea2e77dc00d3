package nn

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestEarlyStop(t *testing.T) {
	m := &PSLR{}
	if err := m.Init(small); err != nil {
		t.Fatal(err)
	}
	stop := EarlyStop{Patience: 3, MinDelta: 0.1}
	// 0.95 is not 0.1 below 1, 0.85 is.
	losses := []float64{1, 0.95, 0.85, 0.8, 2, 0.75, 0}
	hash := ""
	for i, loss := range losses {
		if _, err := m.step(smallBatch(4)); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			hash = m.Hash()
		}
		done, err := stop.Observe(m, loss)
		if err != nil {
			t.Fatal(err)
		}
		if want := i == 5; done != want {
			t.Fatalf("test %d: done is %t", i+1, done)
		}
		if done {
			break
		}
	}
	if loss, test := stop.Best(); loss != 0.85 || test != 3 {
		t.Errorf("the best was %v in test %d, want 0.85 in test 3", loss, test)
	}
	if m.Hash() == hash {
		t.Fatal("nothing was learned since")
	}
	if err := stop.Restore(m); err != nil || m.Hash() != hash {
		t.Errorf("restored: %v, or other weights", err)
	}
}

func TestEarlyStopErrors(t *testing.T) {
	m := &PSLR{}
	var stop EarlyStop
	if _, err := new(EarlyStop).Observe(m, 1); !errors.Is(err, ErrNotReady) {
		t.Errorf("before Init: %v", err)
	}
	if err := m.Init(small); err != nil {
		t.Fatal(err)
	}
	if err := stop.Restore(m); err == nil || !strings.Contains(err.Error(), "no test was observed") {
		t.Errorf("Restore before Observe: %v", err)
	}
	if done, err := stop.Observe(m, math.NaN()); !done || err == nil || !strings.Contains(err.Error(), "the loss of test 1 is NaN") {
		t.Errorf("NaN: %t, %v", done, err)
	}
	if _, err := (&EarlyStop{Patience: -1}).Observe(m, 1); err == nil {
		t.Error("a negative patience was accepted")
	}
	if _, err := stop.Observe(m, 1); err != nil {
		t.Fatal(err)
	}
	other := &GRU{}
	if err := other.Init(small); err != nil {
		t.Fatal(err)
	}
	if err := stop.Restore(other); err == nil || !strings.Contains(err.Error(), " weights, the model has ") {
		t.Errorf("another model: %v", err)
	}
}

// mine is a model from outside the package, of one weight.
type mine struct {
	Model
	w float32
}

func (m *mine) AppendWeights(dst []float32) []float32 { return append(dst, m.w) }
func (m *mine) SetWeights(w []float32) error          { m.w = w[0]; return nil }

// Any model whose weights can be read and set is stopped.
func TestEarlyStopOfAnother(t *testing.T) {
	stop, m := EarlyStop{Patience: 2}, &mine{}
	for i, loss := range []float64{3, 1, 2, 4} {
		m.w = float32(i)
		done, err := stop.Observe(m, loss)
		if err != nil || done != (i == 3) {
			t.Fatalf("test %d: %t, %v", i, done, err)
		}
	}
	if err := stop.Restore(m); err != nil || m.w != 1 {
		t.Errorf("restored %v, want 1; %v", m.w, err)
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
