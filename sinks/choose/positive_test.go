package choose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/links"
)

func TestPositive(t *testing.T) {
	for _, test := range []struct {
		classes []string
		name    string
		rows    []int
		want    string
	}{
		{[]string{"fraud", "ok"}, "", []int{3, 90}, "fraud"},
		{[]string{"fraud", "ok"}, "", []int{90, 3}, "ok"},
		{[]string{"a", "b"}, "", []int{5, 5}, "b"},
		{[]string{"b", "a"}, "", []int{5, 5}, "b"},
		{[]string{"a", "b"}, "", []int{1, 0}, "b"},
		{[]string{"a", "b"}, "a", []int{90, 3}, "a"},
		{[]string{"a", "b", "c"}, "", []int{1, 2, 3}, ""},
		{[]string{"a", "b", "c"}, "b", []int{1, 2, 3}, "b"},
		{[]string{"one"}, "", []int{5}, ""},
		{[]string{"one"}, "one", []int{5}, "one"},
		{nil, "", nil, ""},
		{links.Classes(), "", []int{3, 90}, "link"},
		{[]string{"a", "b"}, "c", []int{1, 2}, `error: the positive class is "c", want one of the classes ["a" "b"]`},
		{nil, "c", nil, `error: the positive class is "c", and numbers are learned`},
	} {
		got, err := Positive(test.classes, test.name, test.rows)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// The measures do not depend on the order of the names of classes.
func TestMeasuresOfRarer(t *testing.T) {
	fill := func(turn bool) *Measures {
		m := NewMeasures([]string{"fraud", "ok"})
		if turn {
			m = NewMeasures([]string{"a-ok", "fraud"})
		}
		for row, p := range []float32{0.9, 0.75, 0.25, 0.125, 0.625, 0, 0.0625} {
			one := sinks.Prediction{Probs: []float32{p, 1 - p}, Target: 1}
			if row == 0 || row == 2 {
				one.Target = 0
			}
			if p <= 0.5 {
				one.Class = 1
			}
			if turn {
				one.Probs[0], one.Probs[1], one.Class, one.Target = 1-p, p, 1-one.Class, 1-one.Target
			}
			if err := m.Add(one); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	m, turned := fill(false), fill(true)
	if m.Class() != "fraud" || turned.Class() != "fraud" {
		t.Errorf("%q and %q", m.Class(), turned.Class())
	}
	by := func(m *Measures, measure validation.Measure) float64 {
		x, err := m.By(measure)
		if err != nil {
			t.Error(err)
		}
		return x
	}
	// The two rows of fraud are first and fourth of seven: P 1/1 and 2/4.
	ap := by(m, validation.Precision)
	if math.Abs(ap-0.75) > 1e-12 || by(turned, validation.Precision) != ap {
		t.Errorf("AP %v", ap)
	}
	if auc := by(m, validation.ROC); by(turned, validation.ROC) != auc || auc != 0.8 {
		t.Errorf("AUC %v", auc)
	}
	are, said, both := m.Found()
	if a, s, b := turned.Found(); a != are || s != said || b != both || are != 2 || said != 3 || both != 1 {
		t.Errorf("%d %d %d", are, said, both)
	}
	// Of seven rows the top 0.1, 1 and 5 % are one, which is of fraud.
	want := []Top{{0.1, 1, 100, 50}, {1, 1, 100, 50}, {5, 1, 100, 50}}
	if tops := m.Tops(); !slices.Equal(tops, want) || !slices.Equal(turned.Tops(), want) {
		t.Errorf("%+v", tops)
	}
	m.Positive = "ok"
	if other := by(m, validation.Precision); other == ap {
		t.Error(other)
	}
	m.Positive = "none"
	if _, err := m.By(validation.Precision); err == nil || !strings.Contains(err.Error(), `"none"`) || m.Class() != "" {
		t.Error(err)
	}
}
