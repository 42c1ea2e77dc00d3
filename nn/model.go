package nn

import (
	"fmt"
	"io"

	"gorgonia.org/tensor"
)

// Model is a network that learns from a stream: what sinks.Train and
// sinks.Predict drive. A Model is used by one goroutine at a time.
type Model interface {
	// Init fits the model to the records it will be fed, once, before the first
	// batch. A model that was initialised or loaded checks the shape instead.
	Init(Shape) error

	// Step predicts the batch, then learns from it. An error leaves the model
	// as it was.
	Step(Batch) (Result, error)

	// Predict returns what the model says of every row of the batch, float32: the
	// probability of each class (B, classes), or the number learned (B, 1). The
	// result is dst when dst is not nil, which must have that shape. The model
	// does not change.
	Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error)

	// Seen is the number of rows learned from, Accuracy the share of them that
	// was predicted right before it was learned from.
	Seen() int
	Accuracy() float64

	// Save writes the weights and all that is needed to use them again.
	Save(io.Writer) error
}

// InfoOf returns the Info of a model that Load has read, nil when it has none.
func InfoOf(m Model) map[string]string {
	a, ok := m.(architecture)
	if !ok {
		return nil
	}
	return *a.settings().info
}

// Result is what one step saw, measured before it learned.
type Result struct {
	Rows     int     // rows of the batch
	Correct  int     // rows whose class was the most probable one, the first of equals; 0 where numbers are learned
	Loss     float64 // mean of the loss over the rows: nats, or the squared error where numbers are learned
	AbsError float64 // mean absolute error of the rows where numbers are learned, else 0
}

func (t tally) result() Result {
	n := float64(t.rows)
	return Result{Rows: t.rows, Correct: t.correct, Loss: t.loss / n, AbsError: t.abs / n}
}

// RowError is an error in one row of a batch. The model has not changed.
type RowError struct {
	Row int // from 0
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("nn: row %d: %v", e.Row, e.Err) }

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }

// shiftRow returns err, where it names a row of a part of a batch that begins
// with row from, for the batch.
func shiftRow(err error, from int) error {
	if r, ok := err.(*RowError); ok {
		return &RowError{r.Row + from, r.Err}
	}
	return err
}

// rowErrorf returns a *RowError.
func rowErrorf(row int, format string, args ...any) error {
	return &RowError{row, fmt.Errorf(format, args...)}
}
