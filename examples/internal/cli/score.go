package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/nn/validation"
)

// Score adds the flag -score; about says what is measured, and what holds without it.
func Score(f *flag.FlagSet, p *validation.Measure, about string) {
	f.Var(measure{p}, "score", fmt.Sprintf("%s; a `measure` of classes: %s; of numbers: %s", about, measures(false), measures(true)))
}

// measures names those for numbers, or for classes.
func measures(numbers bool) string {
	var names []string
	for _, m := range validation.Measures() {
		if m.Numbers() == numbers {
			names = append(names, string(m))
		}
	}
	return strings.Join(names, ", ")
}

// measure is the value of -score.
type measure struct{ m *validation.Measure }

func (v measure) String() string {
	if v.m == nil {
		return ""
	}
	return string(*v.m)
}

func (v measure) Set(name string) error {
	m, err := validation.ParseMeasure(name)
	if err != nil {
		return errors.New("want one of " + measures(false) + ", " + measures(true))
	}
	*v.m = m
	return nil
}

// CheckScore refuses a measure of numbers if classes are learned, and the reverse.
func CheckScore(m validation.Measure, numbers bool) error {
	if m == "" || m.Numbers() == numbers {
		return nil
	}
	is, learned := "classes", "numbers"
	if !numbers {
		is, learned = learned, is
	}
	return Usage(fmt.Errorf("-score %s is for %s, and %s are learned: want one of %s", m, is, learned, measures(numbers)))
}

// Scored is what came of -score, as a part of a report; it is empty without the flag. Of two
// classes the second is the positive one.
type Scored struct {
	Score validation.Measure `json:"score,omitempty"`
	// Value is that of the rows that are tested on, and ValidationValue that of the rows that
	// were chosen by: accuracies are in percent, others as validation.Measure has them. Null is
	// what the rows do not have, such as the AUC of one class.
	Value           *float64 `json:"value,omitempty"`
	ValidationValue *float64 `json:"validation_value,omitempty"`
}

// NewScored measures by a function, such as sinks.Answers.By; valid may be nil.
func NewScored(m validation.Measure, test, valid func(validation.Measure) (float64, error)) (s Scored) {
	if m == "" {
		return s
	}
	s.Score = m
	for _, part := range []struct {
		to *(*float64)
		by func(validation.Measure) (float64, error)
	}{{&s.Value, test}, {&s.ValidationValue, valid}} {
		if part.by == nil {
			continue
		}
		if x, err := part.by(m); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			x *= ScoreUnit(m)
			*part.to = &x
		}
	}
	return s
}

// MeanScore is a mean, over folds or repeats, for NewScored.
func MeanScore(x []float64) func(validation.Measure) (float64, error) {
	return func(validation.Measure) (float64, error) { return stat.Mean(x, nil), nil }
}

// ScoreUnit is what values of a measure are shown in: percent of accuracies.
func ScoreUnit(m validation.Measure) float64 {
	if m == validation.Accuracy || m == validation.Balanced {
		return 100
	}
	return 1
}

// ScoreText is the text of a value of a measure, without its unit: four decimals of areas under curves.
func ScoreText(m validation.Measure, x float64) string {
	if m == validation.ROC || m == validation.Precision {
		return fmt.Sprintf("%.4f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

// Print writes a line of a table, if there is a score.
func (s Scored) Print(w io.Writer) {
	if s.Score == "" {
		return
	}
	unit := ""
	if ScoreUnit(s.Score) == 100 {
		unit = " %"
	}
	text := func(x *float64) string {
		if x == nil {
			return "none"
		}
		return ScoreText(s.Score, *x) + unit
	}
	note := ""
	if s.ValidationValue != nil {
		note = "on the validation part " + text(s.ValidationValue)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\n", s.Score, text(s.Value), note)
}
