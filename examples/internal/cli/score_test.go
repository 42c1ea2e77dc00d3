package cli

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn/validation"
)

// -score takes every measure by its name, -h lists them all, and one of numbers is refused
// for classes.
func TestScore(t *testing.T) {
	f, m := flag.NewFlagSet("c", flag.ContinueOnError), validation.Measure("")
	Score(f, &m, "what counts")
	for _, want := range validation.Measures() {
		if err := Parse(f, []string{"-score", string(want)}); err != nil || m != want || !strings.Contains(f.Lookup("score").Usage, string(want)) {
			t.Errorf("%s: %v, %v", want, m, err)
		}
		if for1, for0 := CheckScore(m, true), CheckScore(m, false); (for1 == nil) != m.Numbers() || (for0 == nil) == m.Numbers() {
			t.Errorf("%s: %v for numbers, %v for classes", m, for1, for0)
		}
	}
	if err := CheckScore("", true); err != nil {
		t.Error(err)
	}
	if err := CheckScore(validation.MAE, false); err == nil || !strings.HasPrefix(err.Error(), "-score mae is for numbers, and classes are learned: want one of accuracy, balanced") {
		t.Error(err)
	}
	f.SetOutput(io.Discard)
	if err := Parse(f, []string{"-score", "f1"}); err == nil || !strings.HasPrefix(err.Error(), "-score is f1, want one of accuracy, balanced") {
		t.Error(err)
	}
}

// Accuracies are in percent, and what cannot be measured is none.
func TestScored(t *testing.T) {
	half := func(validation.Measure) (float64, error) { return 0.5, nil }
	none := func(validation.Measure) (float64, error) { return 0, errors.New("one class") }
	for _, x := range []struct {
		m           validation.Measure
		test, valid func(validation.Measure) (float64, error)
		want        string
	}{
		{"", half, half, ""},
		{validation.Balanced, half, nil, "balanced\t50 %\t\n"},
		{validation.ROC, half, half, "auc\t0.5000\ton the validation part 0.5000\n"},
		{validation.ROC, none, half, "auc\tnone\ton the validation part 0.5000\n"},
		{validation.MAE, MeanScore([]float64{1, 2}), nil, "mae\t1.5\t\n"},
		{validation.MAE, MeanScore([]float64{math.Inf(1)}), nil, "mae\tnone\t\n"},
	} {
		var b bytes.Buffer
		if NewScored(x.m, x.test, x.valid).Print(&b); b.String() != x.want {
			t.Errorf("%q, want %q", &b, x.want)
		}
	}
}
