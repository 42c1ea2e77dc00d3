package choose

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
)

// Measures holds the quality of predictions for rows with known targets:
//
//	m := choose.NewMeasures(classes)
//	err := rows.To(sinks.Predict{Net: net, Each: m.Add}).Run(ctx)
//	fmt.Println(m.Accuracy(), "±", m.Error(), "%")
type Measures struct {
	Classes []string // none if numbers are learned
	Rows    int      // whose target is known
	Unknown int      // rows whose target is not known, which count nowhere else
	Foreign int      // rows of Rows that Wrong counts
	// Confusion has the number of rows of a class (first index) that were said to be of
	// another.
	Confusion [][]int
	// Bins are the rows by the probability of the class that was said: 0 to 10 %, …, 90 to
	// 100 %.
	Bins [10]Bin

	loss, squares, sum, sumSquares float64
	answers                        sinks.Answers
}

// Bin is the rows whose predicted probability is in one interval.
type Bin struct {
	Rows       int     `json:"rows"`
	Confidence float64 `json:"confidence"` // mean probability of the predicted class
	Accuracy   float64 `json:"accuracy"`   // share of rows that are of it
}

// NewMeasures returns the measures of no rows.
func NewMeasures(classes []string) *Measures {
	m := &Measures{Classes: classes, Confusion: make([][]int, len(classes))}
	for i := range m.Confusion {
		m.Confusion[i] = make([]int, len(classes))
	}
	return m
}

// Add counts the prediction of a row. It fits sinks.Predict.Each.
func (m *Measures) Add(p sinks.Prediction) error {
	if len(m.Classes) == 0 {
		if math.IsNaN(float64(p.TargetValue)) {
			m.Unknown++
			return nil
		}
		d, y := float64(p.Value-p.TargetValue), float64(p.TargetValue)
		m.Rows, m.loss, m.squares, m.sum, m.sumSquares = m.Rows+1, m.loss+d*d, m.squares+d*d*d*d, m.sum+y, m.sumSquares+y*y
		return m.answers.Add(p)
	}
	switch {
	case p.Target < 0:
		m.Unknown++
		return nil
	case p.Target >= len(m.Classes) || len(p.Probs) != len(m.Classes):
		return fmt.Errorf("choose: a row of class %d has %d probabilities, want %d classes", p.Target, len(p.Probs), len(m.Classes))
	}
	sure := float64(p.Probs[p.Class])
	m.Rows++
	m.Confusion[p.Target][p.Class]++
	m.loss -= math.Log(max(float64(p.Probs[p.Target]), 1e-30))
	b := &m.Bins[min(9, max(0, int(10*sure)))]
	n := float64(b.Rows)
	right := 0.0
	if p.Class == p.Target {
		right = 1
	}
	b.Rows, b.Confidence, b.Accuracy = b.Rows+1, (b.Confidence*n+sure)/(n+1), (b.Accuracy*n+right)/(n+1)
	return m.answers.Add(p)
}

// By returns another measure of the predictions, such as validation.Balanced.
func (m *Measures) By(measure validation.Measure) (float64, error) {
	return measure.Of(&m.answers.Answers)
}

// Wrong counts rows of a class that the model does not have as errors: in Rows, Accuracy, Error
// and Majority. For Add such rows have no target.
func (m *Measures) Wrong(rows int) { m.Rows, m.Foreign = m.Rows+rows, m.Foreign+rows }

// Loss returns the mean cross-entropy in nats, or the mean squared error.
func (m *Measures) Loss() float64 { return m.loss / float64(m.Rows-m.Foreign) }

// Accuracy returns the share of correct rows, in percent.
func (m *Measures) Accuracy() float64 {
	right := 0
	for c := range m.Confusion {
		right += m.Confusion[c][c]
	}
	return 100 * float64(right) / float64(m.Rows)
}

// Score returns Accuracy, or RMSE for numbers.
func (m *Measures) Score() float64 {
	if len(m.Classes) == 0 {
		return m.RMSE()
	}
	return m.Accuracy()
}

// Error returns the standard error of Accuracy in percent, or of RMSE for numbers.
func (m *Measures) Error() float64 {
	n := float64(m.Rows)
	if len(m.Classes) == 0 {
		mean := m.loss / n
		return math.Sqrt(max(0, m.squares/n-mean*mean)/n) / (2 * max(math.Sqrt(mean), 1e-30))
	}
	p := m.Accuracy() / 100
	return 100 * math.Sqrt(p*(1-p)/n)
}

// Majority returns the share of the largest class, in percent.
func (m *Measures) Majority() float64 {
	most := 0
	for _, row := range m.Confusion {
		n := 0
		for _, x := range row {
			n += x
		}
		most = max(most, n)
	}
	return 100 * float64(most) / float64(m.Rows)
}

// AUC returns the area under the ROC curve of two classes. It is NaN for another number of
// classes and if all rows are of one class.
func (m *Measures) AUC() float64 {
	if len(m.Classes) == 2 {
		if auc, err := m.By(validation.ROC); err == nil {
			return auc
		}
	}
	return math.NaN()
}

// RMSE returns the root mean square error of numbers. Spread is the error of the mean of all
// targets as a prediction.
func (m *Measures) RMSE() float64 { return math.Sqrt(m.Loss()) }

// Spread returns the standard deviation of the targets.
func (m *Measures) Spread() float64 {
	n := float64(m.Rows)
	return math.Sqrt(max(0, m.sumSquares/n-m.sum*m.sum/n/n))
}

// Calibration returns the expected calibration error in percent: the mean over the rows of
// |accuracy - confidence| of their bin.
func (m *Measures) Calibration() (sum float64) {
	for _, b := range m.Bins {
		sum += 100 * float64(b.Rows) * math.Abs(b.Accuracy-b.Confidence) / float64(m.Rows-m.Foreign)
	}
	return sum
}
