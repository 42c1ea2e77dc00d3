package choose

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/links"
)

// Measures holds the quality of predictions for rows with known targets:
//
//	m := choose.NewMeasures(classes)
//	err := rows.To(sinks.Predict{Net: net, Each: m.Add}).Run(ctx)
//	fmt.Println(m.Accuracy(), "±", m.Error(), "%")
type Measures struct {
	Classes []string // none if numbers are learned
	// Positive is the class that AUC, AP, precision and recall are about, a name of Classes. The
	// default is that of [Positive] for the rows that were added.
	Positive string
	Rows     int // whose target is known
	Unknown  int // rows whose target is not known, which count nowhere else
	Foreign  int // rows of Rows that Wrong counts
	// Confusion has the number of rows by class (first index) and predicted class.
	Confusion [][]int
	// Name is that of one of several targets, and Targets has the measures of each of them. Rows and Unknown are then of
	// rows that have one of them or none, By is the mean over the targets, and all others are of the targets alone.
	Name    string
	Targets []*Measures

	answers sinks.Answers
}

// NewMeasures returns the measures of no rows, of classes, or of several targets in place of them.
func NewMeasures(classes []string, targets ...record.TargetChannel) *Measures {
	m := &Measures{Classes: classes, Confusion: make([][]int, len(classes))}
	for _, t := range targets {
		one := NewMeasures(t.Classes)
		one.Name = t.Name
		m.Targets = append(m.Targets, one)
	}
	for i := range m.Confusion {
		m.Confusion[i] = make([]int, len(classes))
	}
	return m
}

// Add counts the prediction of a row. It fits sinks.Predict.Each.
func (m *Measures) Add(p sinks.Prediction) error {
	if len(p.Targets) != len(m.Targets) {
		return fmt.Errorf("choose: a row has %d targets, want %d", len(p.Targets), len(m.Targets))
	}
	known := false
	for i, one := range p.Targets {
		before := m.Targets[i].Rows
		if err := m.Targets[i].Add(one); err != nil {
			return fmt.Errorf("target %q: %w", m.Targets[i].Name, err)
		}
		known = known || m.Targets[i].Rows > before
	}
	switch {
	case known:
		m.Rows++
		return nil
	case len(m.Classes) == 0 && math.IsNaN(float64(p.TargetValue)), len(m.Classes) > 0 && p.Target < 0:
		m.Unknown++
		return nil
	case len(m.Classes) == 0:
	case p.Target >= len(m.Classes) || len(p.Probs) != len(m.Classes):
		return fmt.Errorf("choose: a row of class %d has %d probabilities, want %d classes", p.Target, len(p.Probs), len(m.Classes))
	default:
		m.Confusion[p.Target][p.Class]++
	}
	m.Rows++
	return m.answers.Add(p)
}

// Bins returns the rows by the probability of the predicted class.
func (m *Measures) Bins() [10]validation.Bin { return m.answers.Bins() }

// By returns a measure of the predictions, such as validation.Balanced, of rows of the classes of the model.
// AUC and AP are those of the positive class, if there is one. Of several targets it is the mean over those whose rows
// have it.
func (m *Measures) By(measure validation.Measure) (float64, error) {
	mean, n, failed := 0., 0., error(nil)
	for _, one := range m.Targets {
		if x, err := one.By(measure); err == nil {
			mean, n = mean+x, n+1
		} else {
			failed = fmt.Errorf("target %q: %w", one.Name, err)
		}
	}
	switch {
	case n > 0:
		return mean / n, nil
	case failed != nil:
		return 0, failed
	}
	if class, _, err := m.positive(); err != nil {
		return 0, err
	} else if class >= 0 {
		measure = measure.About(class)
	}
	return measure.Of(&m.answers.Answers)
}

// positive returns the positive class, or -1, and how many rows are of each class.
func (m *Measures) positive() (class int, rows []int, err error) {
	for _, said := range m.Confusion {
		n := 0
		for _, x := range said {
			n += x
		}
		rows = append(rows, n)
	}
	name, err := Positive(m.Classes, m.Positive, rows)
	return slices.Index(m.Classes, name), rows, err
}

// Class returns the positive class, or "" if there is none.
func (m *Measures) Class() string {
	if class, _, err := m.positive(); err == nil && class >= 0 {
		return m.Classes[class]
	}
	return ""
}

// Found returns how many rows of Rows are of the positive class, how many were predicted to be,
// and how many are both: precision is both/said, recall both/are. A row is predicted to be of a
// class if that is its most probable one: of two classes, if the probability is at least 0.5, and
// above it for the second. All are 0 without a positive class.
func (m *Measures) Found() (are, said, both int) {
	class, rows, err := m.positive()
	if err != nil || class < 0 {
		return 0, 0, 0
	}
	for _, row := range m.Confusion {
		said += row[class]
	}
	return rows[class], said, m.Confusion[class][class]
}

// Top is the rows with the highest probabilities of the positive class.
type Top struct {
	Share     float64 `json:"share"`     // of all rows, in percent
	Rows      int     `json:"rows"`      // at least one
	Precision float64 `json:"precision"` // share of Rows that are of the class, in percent
	Recall    float64 `json:"recall"`    // share of the rows of the class that are among Rows, in percent
}

var topShares = []float64{0.1, 1, 5}

// Tops returns the precision and the recall of the top 0.1, 1 and 5 % of the rows, of rows of equal probabilities the mean over
// all orders (validation.AtTop); none without a positive class, or without rows of it.
func (m *Measures) Tops() (tops []Top) {
	class, rows, err := m.positive()
	if err != nil || class < 0 || rows[class] == 0 {
		return nil
	}
	n := len(m.answers.Class)
	score, positive := make([]float64, n), make([]bool, n)
	for i, c := range m.answers.Class {
		score[i], positive[i] = float64(m.answers.Probs[i*len(m.Classes)+class]), int(c) == class
	}
	for _, share := range topShares {
		top := Top{Share: share, Rows: max(1, int(math.Round(float64(n)*share/100)))}
		found := validation.AtTop(score, positive, top.Rows)
		top.Precision, top.Recall = 100*found/float64(top.Rows), 100*found/float64(rows[class])
		tops = append(tops, top)
	}
	return tops
}

// Wrong counts rows of a class that the model does not have as errors: in Rows, Accuracy, Error
// and Majority. For Add such rows have no target.
func (m *Measures) Wrong(rows int) { m.Rows, m.Foreign = m.Rows+rows, m.Foreign+rows }

// Correct returns the number of correct rows.
func (m *Measures) Correct() (right int) {
	for c := range m.Confusion {
		right += m.Confusion[c][c]
	}
	return right
}

// Accuracy returns the share of correct rows, in percent.
func (m *Measures) Accuracy() float64 { return 100 * float64(m.Correct()) / float64(m.Rows) }

// Error returns the standard error of Accuracy in percent, or of the RMSE of numbers. The error of few
// rows, or of none or all of them right, is too small: validation.Wilson of Correct and Rows is not.
func (m *Measures) Error() float64 {
	n := float64(m.Rows)
	if len(m.Classes) > 0 {
		p := m.Accuracy() / 100
		return 100 * math.Sqrt(p*(1-p)/n)
	}
	squares := make([]float64, len(m.answers.Want))
	for i, want := range m.answers.Want {
		d := want - m.answers.Value[i]
		squares[i] = d * d
	}
	mean, deviation := stat.PopMeanStdDev(squares, nil)
	return deviation / math.Sqrt(n) / (2 * max(math.Sqrt(mean), 1e-30))
}

// Majority returns the share of the largest class, in percent.
func (m *Measures) Majority() float64 {
	_, rows, _ := m.positive()
	most := 0
	for _, n := range rows {
		most = max(most, n)
	}
	return 100 * float64(most) / float64(m.Rows)
}

// Spread returns the standard deviation of the targets, if they are numbers: the RMSE where their mean
// is the prediction.
func (m *Measures) Spread() float64 { return stat.PopStdDev(m.answers.Want, nil) }

// Positive returns the name of the positive class, which AUC, AP, precision and recall are about.
// It is name, if that is set, and of pairs of nodes the link. The default for two classes is the
// rarer one: rows has the number of rows of each class, and of equals the class with the greater
// name is positive. Numbers and, without a name, more than two classes have no positive class: the
// result is "". A name that is no class is an error.
func Positive(classes []string, name string, rows []int) (string, error) {
	switch {
	case name != "" && len(classes) == 0:
		return "", fmt.Errorf("the positive class is %q, and numbers are learned", name)
	case name != "" && !slices.Contains(classes, name):
		return "", fmt.Errorf("the positive class is %.80q, want one of the classes %.200q", name, classes)
	case name != "" || len(classes) != 2:
		return name, nil
	case slices.Equal(classes, links.Classes()):
		return classes[1], nil
	case rows[0] < rows[1] || rows[0] == rows[1] && classes[0] > classes[1]:
		return classes[0], nil
	}
	return classes[1], nil
}
