package nn

import (
	"fmt"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// EarlyStop ends a training when the validation loss no longer falls, and keeps the weights of
// the best test (Prechelt, "Early stopping — but when?", 1998). After each epoch, pass the loss
// of Evaluate, or of sinks.Evaluate for a stream, to Observe; at the end call Restore. It
// serves one training.
type EarlyStop struct {
	Patience int     // consecutive tests without a new best that end the training; 0 = 10
	MinDelta float64 // a new best is lower than the last by more than MinDelta; 0 = any

	tests, bestTest int
	best            float64
	weights         []float32 // of the best test
}

// Observe takes the loss of a test of m, a finite number, and reports whether to stop.
func (e *EarlyStop) Observe(m Weighted, loss float64) (stop bool, err error) {
	if e.Patience < 0 || !(e.MinDelta >= 0) {
		return false, fmt.Errorf("nn: early stop: Patience is %d, MinDelta is %v, want 0 or more", e.Patience, e.MinDelta)
	}
	e.tests++
	if !kernel.Finite(loss) {
		return true, fmt.Errorf("nn: early stop: the loss of test %d is %v", e.tests, loss)
	}
	if e.bestTest == 0 || loss < e.best-e.MinDelta {
		if e.weights = m.AppendWeights(e.weights[:0]); len(e.weights) == 0 {
			return false, ErrNotReady
		}
		e.best, e.bestTest = loss, e.tests
	}
	patience := e.Patience
	if patience == 0 {
		patience = 10
	}
	return e.tests-e.bestTest >= patience, nil
}

// Best returns the lowest loss and the number of its test, from 1; 0 for none.
func (e *EarlyStop) Best() (loss float64, test int) { return e.best, e.bestTest }

// Restore gives m the weights of the best test. The optimizer state stays.
func (e *EarlyStop) Restore(m Weighted) error {
	if e.bestTest == 0 {
		return fmt.Errorf("nn: early stop: no test was observed")
	}
	return m.SetWeights(e.weights)
}
