package sinks

import (
	"fmt"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
)

// Probabilities holds the class probabilities of rows, summed over models. It makes an ensemble
// of models that are not in memory together and may read different columns.
//
//	said := sinks.NewProbabilities(len(test), classes)
//	err := flow.From(rows).To(said.Ask(net)).Run(ctx)
//	fmt.Println(said.Accuracy(), validation.AUC(said.Ranking(1)))
type Probabilities struct {
	Classes int
	Sum     []float64 // (rows, classes), over the models
	Target  []int     // class of each row, -1 if it is unknown
	Models  float64   // how many were asked
}

// NewProbabilities returns the probabilities of rows without any model.
func NewProbabilities(rows, classes int) *Probabilities {
	return &Probabilities{Classes: classes, Sum: make([]float64, rows*classes), Target: make([]int, rows)}
}

// Ask returns a sink that adds the predictions of a model for the rows of a stream, in the
// order of the rows here. A stream that has all rows twice, such as pairs of nodes in both
// directions, counts as two models. A stream that ends within the rows is an error.
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

// Set adds the prediction p of a model to a row.
func (a *Probabilities) Set(row int, p Prediction) {
	a.Target[row] = p.Target
	for c, x := range p.Probs {
		a.Row(row)[c] += float64(x)
	}
}

// Append adds a row with the prediction p of one model.
func (a *Probabilities) Append(p Prediction) {
	a.Target = append(a.Target, p.Target)
	for _, x := range p.Probs {
		a.Sum = append(a.Sum, float64(x))
	}
}

// Row returns the sums of a row, which the caller may not change.
func (a *Probabilities) Row(i int) []float64 { return a.Sum[i*a.Classes : (i+1)*a.Classes] }

// Class returns the most probable class of a row, the first of equals.
func (a *Probabilities) Class(row int) (top int) { return argmax(a.Row(row)) }

// argmax returns the place of the largest number, the first of equals.
func argmax[T float32 | float64](x []T) (top int) {
	for i, v := range x {
		if v > x[top] {
			top = i
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

// Accuracy returns the share of correct rows, in percent.
func (a *Probabilities) Accuracy() float64 {
	return 100 * float64(a.Correct()) / float64(len(a.Target))
}

// By returns a measure of the mean over the models, on the rows whose target is known.
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

// Ranking returns the probability of a class for each row, up to a factor, and whether the
// class is the target: the arguments of validation.AUC and validation.AveragePrecision.
func (a *Probabilities) Ranking(class int) (score []float64, positive []bool) {
	for row, target := range a.Target {
		score, positive = append(score, a.Row(row)[class]), append(positive, target == class)
	}
	return score, positive
}
