package sinks

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
)

// Probabilities has the class probabilities of rows, summed over models that answer for
// the same rows: an ensemble whose members need not be in memory together, nor read the
// same columns.
//
//	said := sinks.NewProbabilities(len(test), classes)
//	err := flow.From(rows).To(said.Ask(net)).Run(ctx)
//	fmt.Println(said.Accuracy(), validation.AUC(said.Ranking(1)))
type Probabilities struct {
	Classes int
	Sum     []float64 // (rows, classes), over the models
	Target  []int     // class of each row, -1 where it is not known
	Models  float64   // how many were asked
}

// NewProbabilities returns the probabilities of rows that no model was asked about.
func NewProbabilities(rows, classes int) *Probabilities {
	return &Probabilities{Classes: classes, Sum: make([]float64, rows*classes), Target: make([]int, rows)}
}

// Ask is a sink that adds what a model says of the rows of a stream, which come in the
// order of the rows here. A stream that has all rows twice, such as pairs of nodes from
// both sides, counts as two models. A stream that ends within the rows is an error.
func (a *Probabilities) Ask(net nn.Predictor) Predict {
	row := 0
	return Predict{Net: net, Each: func(p Prediction) error {
		if len(p.Probs) != a.Classes || len(a.Target) == 0 {
			return fmt.Errorf("row %d has probabilities of %d classes, want %d of %d rows", row, len(p.Probs), a.Classes, len(a.Target))
		}
		if row == 0 {
			a.Models++
		}
		a.Set(row, p)
		row = (row + 1) % len(a.Target)
		return nil
	}}
}

// Set adds what a model says of a row.
func (a *Probabilities) Set(row int, p Prediction) {
	a.Target[row] = p.Target
	for c, x := range p.Probs {
		a.Row(row)[c] += float64(x)
	}
}

// Add adds what is said in b, of the same rows.
func (a *Probabilities) Add(b *Probabilities) {
	for i, x := range b.Sum {
		a.Sum[i] += x
	}
	copy(a.Target, b.Target)
	a.Models += b.Models
}

// Mean returns the mean of a and b, of the same rows: that of the models of each counts
// half.
func (a *Probabilities) Mean(b *Probabilities) *Probabilities {
	m := NewProbabilities(len(a.Target), a.Classes)
	copy(m.Target, a.Target)
	m.Models = 1
	for i := range m.Sum {
		m.Sum[i] = (a.Sum[i]/a.Models + b.Sum[i]/b.Models) / 2
	}
	return m
}

// Append adds a row, of which one model says p.
func (a *Probabilities) Append(p Prediction) {
	a.Target = append(a.Target, p.Target)
	for _, x := range p.Probs {
		a.Sum = append(a.Sum, float64(x))
	}
}

// Row returns the sums of a row, borrowed.
func (a *Probabilities) Row(i int) []float64 { return a.Sum[i*a.Classes : (i+1)*a.Classes] }

// Of returns the probabilities of some rows.
func (a *Probabilities) Of(rows []int32) *Probabilities {
	b := NewProbabilities(len(rows), a.Classes)
	b.Models = a.Models
	for i, row := range rows {
		copy(b.Row(i), a.Row(int(row)))
		b.Target[i] = a.Target[row]
	}
	return b
}

// Class returns the most probable class of a row, the first of equals.
func (a *Probabilities) Class(row int) (top int) {
	probs := a.Row(row)
	for c, x := range probs {
		if x > probs[top] {
			top = c
		}
	}
	return top
}

// Correct counts the rows whose most probable class is the target.
func (a *Probabilities) Correct() (correct int) {
	for row, target := range a.Target {
		if a.Class(row) == target {
			correct++
		}
	}
	return correct
}

// Accuracy is the share of correct rows, in percent.
func (a *Probabilities) Accuracy() float64 {
	return 100 * float64(a.Correct()) / float64(len(a.Target))
}

// Loss is the mean cross-entropy of the mean over the models, in nats.
func (a *Probabilities) Loss() (sum float64) {
	for row, target := range a.Target {
		sum -= logOf(a.Row(row)[target] / a.Models)
	}
	return sum / float64(len(a.Target))
}

// By is another measure of the mean over the models, of the rows whose target is known.
func (a *Probabilities) By(m validation.Measure) (float64, error) {
	known := validation.Answers{Classes: a.Classes}
	for row, target := range a.Target {
		if target < 0 {
			continue
		}
		known.Class = append(known.Class, int32(target))
		for _, x := range a.Row(row) {
			known.Probs = append(known.Probs, float32(x/a.Models))
		}
	}
	return m.Of(&known)
}

// Ranking returns how probable a class is for each row, up to a factor, and whether the
// class is the target: the arguments of validation.AUC and validation.AveragePrecision.
func (a *Probabilities) Ranking(class int) (score []float64, positive []bool) {
	for row, target := range a.Target {
		score, positive = append(score, a.Row(row)[class]), append(positive, target == class)
	}
	return score, positive
}

// Better reports whether a is correct about more of some rows than b by more than
// chance: of the n rows about which one is correct and the other is not, a must win over
// b by more than √n, a standard error.
func (a *Probabilities) Better(b *Probabilities, rows []int32) bool {
	gained, lost := 0., 0.
	for _, row := range rows {
		target := a.Target[row]
		switch now, before := a.Class(int(row)) == target, b.Class(int(row)) == target; {
		case now && !before:
			gained++
		case before && !now:
			lost++
		}
	}
	return gained-lost > math.Sqrt(gained+lost)
}
