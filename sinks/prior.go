package sinks

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Prior has the share of each class among the rows that were learned from. It makes answers for
// rows of which each class is equally likely (Saerens, Latinne and Decaestecker 2002, Adjusting
// the outputs of a classifier to new a priori probabilities, section 2.2): p of a class becomes
// p divided by its share, divided by the sum over the classes.
//
// It is for unbalanced classes, where a model rarely predicts a rare class: the balanced accuracy
// (validation.Balanced) rises, and the accuracy falls. With two classes the order of the rows stays,
// and so do validation.ROC and validation.Precision. Shares are above 0 and at most 1.
type Prior []float64

// PriorOf counts the classes of rows that have a target. A class without rows, whose probability
// is noise, has the share 1: its probability is not raised.
func PriorOf(classes int, rows ...arrow.Record) (Prior, error) {
	p, all := make(Prior, classes), 0.
	for _, rec := range rows {
		targets, err := record.Values[int32](rec, record.Target)
		if err != nil {
			return nil, err
		}
		for row, c := range targets {
			if int(c) >= classes {
				return nil, fmt.Errorf("sinks: row %d is of class %d, want below %d", row, c, classes)
			}
			if c >= 0 {
				p[c]++
				all++
			}
		}
	}
	for c := range p {
		if p[c] /= max(1, all); p[c] == 0 {
			p[c] = 1
		}
	}
	return p, nil
}

// Apply balances probabilities, (rows, classes), in place. It may change which class is the most
// probable one. It does not check the shares: a share of 0 makes NaN of its rows. Keep does.
func (p Prior) Apply(probs []float32) {
	for ; len(probs) >= len(p) && len(p) > 0; probs = probs[len(p):] {
		sum := 0.
		for c, share := range p {
			sum += float64(probs[c]) / share
		}
		for c, share := range p {
			probs[c] = float32(float64(probs[c]) / share / sum)
		}
	}
}

// priorNote is the metadata key of a Prior.
const priorNote = "prior"

// Keep puts the shares into the metadata of a model of classes, which Save writes. A model of
// numbers is an error, here and when a file is read. A nil Prior removes the shares. A Predictor
// and a Predict apply the shares to the predictions, after a Smoothing and a Temperature. The model
// itself does not change, nor does the loss that Fit tests.
func (p Prior) Keep(m nn.Saver) error {
	if p == nil {
		delete(m.Metadata(), priorNote)
		return nil
	}
	return keep(m, priorNote, &p)
}

func (of *Prior) check(s nn.Shape) error {
	p := *of
	if ofNumbers(s) {
		return errors.New("the model has learned numbers, want one of classes for a prior")
	}
	if len(p) != s.Classes && s.Classes > 0 || len(p) < 2 {
		return fmt.Errorf("the prior has %d shares, want one for each of %d classes", len(p), s.Classes)
	}
	for c, share := range p {
		if !(share > 0 && share <= 1) || math.IsInf(1/share, 0) {
			return fmt.Errorf("the prior has the share %v of class %d, want more than 0 and at most 1", share, c)
		}
	}
	return nil
}
