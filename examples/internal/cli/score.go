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

// Score adds the flag -score. about describes the measured rows, and the default.
func Score(f *flag.FlagSet, p *validation.Measure, about string) {
	f.Var(measure{p}, "score", fmt.Sprintf("%s; a `measure` of classes: %s; of numbers: %s", about, measures(false), measures(true)))
}

// measures returns the names of the measures of numbers, or of classes.
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

// CheckScore refuses a measure of numbers for classes, and the reverse.
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

// Scored is the part of a report with the figures of -score; it is empty without the flag. The second of
// two classes is the positive one.
type Scored struct {
	Score validation.Measure `json:"score,omitempty"`
	// Value is the figure of the test rows, ValidationValue that of the validation rows. Accuracies are in
	// percent, others as in validation.Measure. A figure that is not defined, such as the AUC of one class,
	// is null.
	Value           *float64 `json:"value,omitempty"`
	ValidationValue *float64 `json:"validation_value,omitempty"`
}

// NewScored calls functions such as sinks.Answers.By. valid may be nil.
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

// MeanScore is the mean over folds or repeats, for NewScored.
func MeanScore(x []float64) func(validation.Measure) (float64, error) {
	return func(validation.Measure) (float64, error) { return stat.Mean(x, nil), nil }
}

// ScoreUnit is the factor of printed values: 100 for accuracies, which are in percent.
func ScoreUnit(m validation.Measure) float64 {
	if m == validation.Accuracy || m == validation.Balanced {
		return 100
	}
	return 1
}

// ScoreText is a value as text, without its unit. Areas under curves have four decimals.
func ScoreText(m validation.Measure, x float64) string {
	if m == validation.ROC || m == validation.Precision {
		return fmt.Sprintf("%.4f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

// Print writes a row of a table, if there is a score.
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
