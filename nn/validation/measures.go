package validation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Answers are predictions for rows with known targets, for a Measure.
type Answers struct {
	Classes int       // 0 if numbers are learned
	Class   []int32   // of each row
	Probs   []float32 // (rows, Classes): the probability of each class
	Want    []float64 // the number of each row, if Classes is 0
	Value   []float64 // the prediction for each row, if Classes is 0
}

// Rows returns the number of rows.
func (a *Answers) Rows() int { return max(len(a.Class), len(a.Want)) }

// Measure is the name of a score of [Answers]. All but the last two are for classes. Of
// two classes the second one is the positive one; of more, AUC and AP are means over the
// classes, each against all others, that have rows and are not all of them. Measure.About
// sets another positive class.
type Measure string

const (
	// Accuracy is the share of rows whose class is the most probable one, the first of equals.
	// Balanced is the mean of the accuracies of the classes that occur, so that each class counts
	// the same.
	Accuracy Measure = "accuracy"
	Balanced Measure = "balanced"
	// ROC is AUC, Precision AveragePrecision.
	ROC       Measure = "auc"
	Precision Measure = "ap"
	// MRR is the mean of 1/rank of the class of a row, by probability: see [Rank].
	MRR Measure = "mrr"
	// LogLoss is the mean of -log p of the class of a row in nats, where p is at least
	// 1e-30.
	LogLoss Measure = "logloss"
	// Brier is the mean of Σ (p - y)² over the classes, where y is 1 for the class of the
	// row and else 0; of two classes half of it, (p - y)² of the positive one.
	Brier Measure = "brier"
	// Calibration is the expected calibration error. Rows are divided into ten intervals of equal
	// width by the probability of their predicted class, and the error is the mean over the rows of
	// |accuracy - mean probability| of their interval.
	Calibration Measure = "calibration"
	// RMSE is the root of the mean squared error of numbers, MAE the mean absolute error.
	RMSE Measure = "rmse"
	MAE  Measure = "mae"
)

// Measures returns all measures.
func Measures() []Measure {
	return []Measure{Accuracy, Balanced, ROC, Precision, MRR, LogLoss, Brier, Calibration, RMSE, MAE}
}

// ParseMeasure returns the measure of that name.
func ParseMeasure(name string) (Measure, error) {
	var names []string
	for _, m := range Measures() {
		if string(m) == name {
			return m, nil
		}
		names = append(names, string(m))
	}
	return "", fmt.Errorf("there is no measure %q, want one of %s", name, strings.Join(names, " "))
}

// Lower reports whether a lower value is better.
func (m Measure) Lower() bool {
	return slices.Contains([]Measure{LogLoss, Brier, Calibration, RMSE, MAE}, m)
}

// ofClass separates a measure from the number of its positive class.
const ofClass = " of class "

// About returns the AUC or the AP of one class against all others. Measures without a positive
// class do not change. ParseMeasure does not read the result.
func (m Measure) About(class int) Measure {
	if m == ROC || m == Precision {
		return m + Measure(ofClass+strconv.Itoa(class))
	}
	return m
}

// Numbers reports whether the measure is for numbers, not for classes.
func (m Measure) Numbers() bool { return m == RMSE || m == MAE }

// Loss converts a value so that a lower result is better.
func (m Measure) Loss(value float64) float64 {
	if m.Lower() {
		return value
	}
	return -value
}

// Of returns the measure of answers. Targets of the other kind, no rows, and AUC or AP on rows
// of one class are errors. Accuracies are shares, not percent. O(rows·classes), and
// O(rows·classes·log rows) for AUC and AP.
func (m Measure) Of(a *Answers) (float64, error) {
	n := a.Rows()
	switch {
	case n == 0:
		return 0, fmt.Errorf("%s: there are no rows to measure", m)
	case m.Numbers() != (a.Classes == 0):
		return 0, fmt.Errorf("%s is for %s", m, map[bool]string{true: "numbers, and the rows have classes", false: "classes, and the rows have numbers"}[m.Numbers()])
	case a.Classes == 0 && len(a.Value) != n || a.Classes > 0 && len(a.Probs) != n*a.Classes:
		return 0, fmt.Errorf("%s: %d rows, and answers for another number of them", m, n)
	}
	for i, c := range a.Class {
		if c < 0 || int(c) >= a.Classes {
			return 0, fmt.Errorf("%s: row %d is of class %d, want 0 to %d", m, i, c, a.Classes-1)
		}
	}
	name, of, _ := strings.Cut(string(m), ofClass)
	switch Measure(name) {
	case Accuracy:
		return a.mean(func(i int) float64 { return indicator(a.best(i) == int(a.Class[i])) }), nil
	case Balanced:
		return a.balanced(), nil
	case ROC:
		return a.perClass(m, of, AUC)
	case Precision:
		return a.perClass(m, of, AveragePrecision)
	case MRR:
		return a.mean(func(i int) float64 { return 1 / Rank(a.row(i), int(a.Class[i])) }), nil
	case LogLoss:
		return a.mean(func(i int) float64 { return -math.Log(max(float64(a.row(i)[a.Class[i]]), 1e-30)) }), nil
	case Brier:
		return a.brier(), nil
	case Calibration:
		return a.calibration(), nil
	case RMSE:
		return math.Sqrt(a.mean(func(i int) float64 { d := a.Value[i] - a.Want[i]; return d * d })), nil
	case MAE:
		return a.mean(func(i int) float64 { return math.Abs(a.Value[i] - a.Want[i]) }), nil
	}
	_, err := ParseMeasure(string(m))
	return 0, err
}

// Rank returns the rank of one score among all, from 1 for the highest. Equal scores share the
// mean of their ranks, as in the evaluation of the Open Graph Benchmark.
func Rank[T cmp.Ordered](scores []T, of int) float64 {
	higher, equal := 0, 0
	for _, s := range scores {
		switch cmp.Compare(s, scores[of]) {
		case 1:
			higher++
		case 0:
			equal++
		}
	}
	return float64(higher) + float64(1+equal)/2
}

// row returns the probabilities of row i.
func (a *Answers) row(i int) []float32 { return a.Probs[i*a.Classes : (i+1)*a.Classes] }

// best returns the most probable class of row i, the first of equals.
func (a *Answers) best(i int) int {
	best := 0
	for c, p := range a.row(i) {
		if p > a.row(i)[best] {
			best = c
		}
	}
	return best
}

func (a *Answers) mean(of func(row int) float64) (sum float64) {
	n := a.Rows()
	for i := range n {
		sum += of(i)
	}
	return sum / float64(n)
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (a *Answers) balanced() (sum float64) {
	rows, right, classes := make([]float64, a.Classes), make([]float64, a.Classes), 0.0
	for i, c := range a.Class {
		rows[c]++
		right[c] += indicator(a.best(i) == int(c))
	}
	for c, n := range rows {
		if n > 0 {
			sum, classes = sum+right[c]/n, classes+1
		}
	}
	return sum / classes
}

// perClass applies a measure to one class, to the second of two classes, or as a mean over more classes.
func (a *Answers) perClass(m Measure, one string, of func([]float64, []bool) float64) (float64, error) {
	from, to := 0, a.Classes
	if a.Classes == 2 {
		from = 1
	}
	if one != "" {
		class, err := strconv.Atoi(one)
		if err != nil || class < 0 || class >= a.Classes {
			return 0, fmt.Errorf("%s: there are %d classes", m, a.Classes)
		}
		from, to = class, class+1
	}
	n := a.Rows()
	score, positive := make([]float64, n), make([]bool, n)
	sum, classes := 0.0, 0
	for c := from; c < to; c++ {
		found := 0
		for i, class := range a.Class {
			score[i], positive[i] = float64(a.row(i)[c]), int(class) == c
			found += int(indicator(positive[i]))
		}
		if found > 0 && found < n {
			sum, classes = sum+of(score, positive), classes+1
		}
	}
	switch {
	case classes == 0 && one != "" && !slices.ContainsFunc(positive, func(is bool) bool { return is }):
		return 0, fmt.Errorf("%s: none of %d rows is of it", m, n)
	case classes == 0:
		return 0, fmt.Errorf("%s: all %d rows are of one class", m, n)
	}
	return sum / float64(classes), nil
}

func (a *Answers) brier() float64 {
	scale := 1.0
	if a.Classes == 2 {
		scale = 0.5
	}
	return scale * a.mean(func(i int) (sum float64) {
		for c, p := range a.row(i) {
			d := float64(p) - indicator(c == int(a.Class[i]))
			sum += d * d
		}
		return sum
	})
}

func (a *Answers) calibration() (sum float64) {
	for _, b := range a.binned() {
		sum += math.Abs(b.Accuracy - b.Confidence)
	}
	return sum / float64(a.Rows())
}

// Bin is the rows whose predicted probability is in one interval.
type Bin struct {
	Rows       int     `json:"rows"`
	Confidence float64 `json:"confidence"` // mean probability of the predicted class
	Accuracy   float64 `json:"accuracy"`   // share of rows that are of it
}

// Bins returns the rows by the probability of the predicted class: 0 to 10 %, …, 90 to 100 %. The mean
// over the rows of |accuracy - confidence| of their bin is Calibration.
func (a *Answers) Bins() [10]Bin {
	bins := a.binned()
	for i := range bins {
		n := float64(max(1, bins[i].Rows))
		bins[i].Confidence, bins[i].Accuracy = bins[i].Confidence/n, bins[i].Accuracy/n
	}
	return bins
}

// binned is Bins with sums in place of means and shares.
func (a *Answers) binned() (bins [10]Bin) {
	for i, c := range a.Class {
		best := a.best(i)
		p := float64(a.row(i)[best])
		b := &bins[min(9, max(0, int(10*p)))]
		b.Rows, b.Confidence, b.Accuracy = b.Rows+1, b.Confidence+p, b.Accuracy+indicator(best == int(c))
	}
	return bins
}
