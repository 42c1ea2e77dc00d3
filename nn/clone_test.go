package nn

import (
	"slices"
	"testing"
)

// A fork says what the model said when it was made, and does not notice that the
// model goes on learning.
func TestClone(t *testing.T) {
	if new(CNN).Clone() != nil {
		t.Error("there is a fork of nothing")
	}
	forModels(t, func(t *testing.T, s Shape, m Model) {
		b := tensorsOf(s, randomBatch(s, 5, 1))
		learnerOf(m).given = false
		if _, err := m.Clone().Predict(b, nil); err != ErrUntrained {
			t.Errorf("untrained: %v", err)
		}
		if _, err := m.Step(b); err != nil {
			t.Fatal(err)
		}
		want, err := m.Predict(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := m.Clone()
		if _, err := m.Step(b); err != nil {
			t.Fatal(err)
		}
		for _, f := range []Predictor{f, f.Clone()} {
			got, err := f.Predict(b, nil)
			if err != nil || !slices.Equal(got.Float32s(), want.Float32s()) {
				t.Errorf("%v, want %v, %v", got, want, err)
			}
			if f.Init(s) != nil || f.Init(Shape{W: 99, K: 1}) == nil {
				t.Error("a fork does not check shapes")
			}
		}
	})
}
