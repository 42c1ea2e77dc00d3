package sinks

import (
	"errors"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn/drift"
)

// Watch is a Train that detects a rise of the error rate of the model after a change of the data. A
// detector is given the error of each row, before the model learns from the row. Watch changes
// nothing: OnAlarm decides.
//
//	flow.From(set).…Via(operators.Batch{Size: 8}).
//		To(sinks.Watch{Train: sinks.Train{Net: net}, OnAlarm: func(a drift.Alarm) error {
//			log.Print(a.Before, " → ", a.After)
//			return nil
//		}})
//
// What the detector has seen is not part of a Checkpoint: after a restart it begins anew.
type Watch struct {
	Train
	// Detector watches the errors. The default is drift.Rise of drift.ADWIN: each run has
	// its own.
	Detector drift.Detector
	// Error returns the error of a row, for drift.ADWIN a number from 0 to 1. The default is
	// 1 if the class is wrong and 0 if it is right; if numbers are learned, Error
	// must be set.
	Error func(Prediction) float64
	// OnAlarm is called at each alarm, whose Position is the number of the row, from 0, and
	// whose Time is its position in the source, or -1. It must be set. An error ends the run.
	OnAlarm func(drift.Alarm) error
}

var _ flow.Sink = Watch{}

// Open opens the Train.
func (w Watch) Open(in *arrow.Schema) (flow.Writer, error) {
	if w.OnAlarm == nil {
		return nil, errors.New("the field OnAlarm is not set")
	}
	if w.Detector == nil {
		w.Detector = drift.Rise{Of: &drift.ADWIN{}}
	}
	if w.Error == nil {
		shape, err := trainable(in)
		if err != nil {
			return nil, err
		}
		if shape.Classes == 0 {
			return nil, errors.New("the field Error is not set, and the targets are numbers")
		}
		w.Error = func(p Prediction) float64 {
			if p.Class == p.Target {
				return 0
			}
			return 1
		}
	}
	var t *trainer
	rows, next := int64(0), w.OnRow
	w.OnRow = func(p Prediction) error {
		a, alarm := w.Detector.Add(w.Error(p))
		if rows++; alarm {
			a.Position, a.Time = rows-1, p.Pos
			t.alarm(a)
			if err := w.OnAlarm(a); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		return next(p)
	}
	opened, err := w.Train.Open(in)
	t, _ = opened.(*trainer)
	return opened, err
}
