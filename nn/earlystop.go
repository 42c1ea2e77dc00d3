package nn

import (
	"fmt"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// EarlyStop ends a training when the loss on rows that the model does not
// learn from no longer falls, and keeps the weights of the best test (Prechelt,
// "Early stopping — but when?", 1998):
//
//	stop := nn.EarlyStop{Patience: 5}
//	for {
//		… one epoch of net.Step …
//		r, err := net.Evaluate(validation)
//		…
//		if done, err := stop.Observe(net, r.Loss); done || err != nil {
//			break
//		}
//	}
//	err := stop.Restore(net)
//
// Where the rows to test on are a stream, sinks.Evaluate gives their loss. The
// zero value is ready for use, and serves one training.
type EarlyStop struct {
	Patience int     // tests in a row without a new best that end the training; 0 = 10
	MinDelta float64 // how far below the best a loss must be to be a new best; 0 = any

	tests, bestTest int
	best            float64
	weights         []float32 // of the best test
}

// Observe takes the result of a test of m: its mean loss, or whatever else is
// better the lower it is. It reports whether the training should end. A loss that
// is not a number is an error.
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

// Best returns the lowest loss that was observed and the number of its test,
// from 1; 0 before the first.
func (e *EarlyStop) Best() (loss float64, test int) { return e.best, e.bestTest }

// Restore gives m the weights that it had at the best test. What the optimizer
// remembers is left as it is.
func (e *EarlyStop) Restore(m Weighted) error {
	if e.bestTest == 0 {
		return fmt.Errorf("nn: early stop: no test was observed")
	}
	return m.SetWeights(e.weights)
}
