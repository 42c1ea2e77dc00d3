package sinks

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/validation"
)

// Answers collects predictions for a validation.Measure:
//
//	var answers sinks.Answers
//	err := rows.To(sinks.Predict{Net: net, Each: answers.Add}).Run(ctx)
//	auc, err := validation.ROC.Of(&answers.Answers)
type Answers struct {
	validation.Answers
	// Unknown is the number of rows whose target is not known, which are left out.
	Unknown int
}

// Add adds the prediction of a row. It fits Predict.Each.
func (a *Answers) Add(p Prediction) error {
	if p.Probs == nil {
		if math.IsNaN(float64(p.TargetValue)) {
			a.Unknown++
			return nil
		}
		a.Want, a.Said = append(a.Want, float64(p.TargetValue)), append(a.Said, float64(p.Value))
		return nil
	}
	switch {
	case p.Target < 0:
		a.Unknown++
		return nil
	case a.Classes != 0 && a.Classes != len(p.Probs) || p.Target >= len(p.Probs):
		return fmt.Errorf("answers: a row of class %d has %d probabilities, those before it %d", p.Target, len(p.Probs), a.Classes)
	}
	a.Classes = len(p.Probs)
	a.Class, a.Probs = append(a.Class, int32(p.Target)), append(a.Probs, p.Probs...)
	return nil
}
