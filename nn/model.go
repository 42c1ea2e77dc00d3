package nn

import (
	"fmt"
	"io"
	"slices"

	"gorgonia.org/tensor"
)

// Predictor predicts rows: a Model or an Ensemble. sinks.Predict calls it.
// One goroutine at a time may use a Predictor.
type Predictor interface {
	// Init fits the model to the shape of the data, once. On a model that was initialised or
	// loaded, Init checks the shape.
	Init(Shape) error
	Shape() Shape // the shape given to Init or read by Load; zero before

	// Predict returns float32, row-major: the probability of each class (B, classes), or the value
	// (B, 1). A dst that is not nil must have that shape and becomes the result. Targets are
	// ignored. The model does not change. An untrained model returns ErrUntrained.
	Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error)

	// Clone copies the weights, for predictions in several goroutines or during learning. The copy
	// cannot learn. Clone returns nil before Init.
	Clone() Predictor

	Trained() bool // it has learned, or its weights come from a file or SetWeights
}

// Model learns from a stream of batches. sinks.Fit, sinks.Train and sinks.Predict call it.
type Model interface {
	Saver

	// Evaluate compares the predictions for a batch with its targets and changes nothing. A batch
	// without rows gives a zero Result. An untrained model returns ErrUntrained.
	Evaluate(Batch) (Result, error)

	// Step predicts the batch, counts correct rows, then changes the weights once. An error leaves
	// the model unchanged; a *RowError names the row at fault. A batch without rows has no effect.
	Step(Batch) (Result, error)

	// Seen is the number of rows learned from. A row counts once for each Step. Accuracy is the share of
	// these rows that Step predicted correctly before it learned them. It is 0 before the first row and
	// for numeric targets.
	Seen() int
	Accuracy() float64

	// AppendWeights appends a copy of all weights to dst; none before Init. A model of numbers
	// appends their mean and deviation last.
	AppendWeights(dst []float32) []float32

	// SetWeights takes the result of AppendWeights of a model with the same settings and shape.
	// The state of the optimizer stays.
	SetWeights([]float32) error

	// Checkpoint writes the weights, the optimizer state and the counts as a safetensors file, so
	// that training can stop after any step and resume to the same weights, byte for byte. note,
	// such as a position in the stream, and best, empty or the result of AppendWeights, are stored
	// for the caller. The file header, with note, has at most 64 MiB.
	Checkpoint(w io.Writer, note string, best []float32) error

	// Resume restores an initialised model and returns note and best, nil where it was empty. A
	// damaged file, other settings and another shape are errors, and the model is unchanged. After
	// ErrKernels alone the model has been resumed, and note and best are valid.
	Resume(r io.Reader) (note string, best []float32, err error)
}

// Saver is a Predictor with a file and metadata: a Model or an Ensemble.
// sinks.Save keeps the recipe of the fields in the metadata.
type Saver interface {
	Predictor

	Save(io.Writer) error        // an untrained model returns ErrUntrained
	Metadata() map[string]string // notes that the file keeps, never nil; the caller may change it; no key begins with "sanflow."
}

// HoldsOut reports whether m holds each row out of one of its parts, as a Logistic of several heads
// does. Step reports that part's prediction, so the mean loss of an epoch is an out-of-sample loss.
func HoldsOut(m Model) bool {
	l, ok := m.(*Logistic)
	return ok && l.Heads > 1
}

// MetadataOf returns the metadata of a Saver, and nil for another model.
func MetadataOf(m Predictor) map[string]string {
	if n, ok := m.(Saver); ok {
		return n.Metadata()
	}
	return nil
}

// Result is the outcome of a Step, measured before it learned, or of a test.
type Result struct {
	Rows     int     // rows of the batch
	Correct  int     // rows whose most probable class, the first of equals, is the target; 0 for numbers
	Loss     float64 // mean loss of the rows: nats, or the squared error of numbers
	AbsError float64 // mean absolute error of the rows; 0 for classes
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

func (e *RowError) Unwrap() error { return e.Err }

// shiftRow converts a *RowError of a part of a batch to one of the batch. The part begins with row from.
func shiftRow(err error, from int) error {
	if r, ok := err.(*RowError); ok {
		return &RowError{r.Row + from, r.Err}
	}
	return err
}

func rowErrorf(row int, format string, args ...any) error {
	return &RowError{row, fmt.Errorf(format, args...)}
}

// Clone returns a copy that predicts; see Predictor.
func (c *Learner) Clone() Predictor {
	if !c.ready() {
		return nil
	}
	return c.with(slices.Clone(c.work.W))
}

// with returns a Predictor that borrows the weights and does not change them.
func (c *Learner) with(weights []float32) Predictor {
	f := &Learner{learner: &learner{arch: c.arch, shape: c.shape, loss: c.loss, unit: c.unit, given: c.Trained()}}
	f.work = lay(c.arch, c.shape)
	f.work.Place(weights)
	if _, ok := f.work.body.(*logisticLayer); ok {
		return additive{clone{f}}
	}
	return clone{f}
}

// clone is a Predictor that shares or copies the weights of a Learner, and cannot learn.
type clone struct{ learner *Learner }

func (f clone) Init(s Shape) error {
	return f.learner.shape.Check(s.of(len(f.learner.shape.Counts) > 0))
}

func (f clone) Trained() bool { return f.learner.Trained() }

func (f clone) Shape() Shape { return f.learner.Shape() }

func (f clone) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	return f.learner.Predict(b, dst)
}

// Clone shares the weights, which never change.
func (f clone) Clone() Predictor { return f.learner.with(f.learner.work.W) }
