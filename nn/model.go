package nn

import (
	"fmt"
	"io"

	"gorgonia.org/tensor"
)

// Predictor answers for rows: every Model does, and so does an [Ensemble]. It is
// what sinks.Predict asks. A Predictor is used by one goroutine at a time.
type Predictor interface {
	// Init fits the model to the records it will be fed, once, before the first
	// batch. A model that was initialised or loaded checks the shape instead.
	Init(Shape) error

	// Shape returns what Init was called with or Load has read; zero before.
	Shape() Shape

	// Predict returns what the model says of every row of the batch, float32: the
	// probability of each class (B, classes), or the number learned (B, 1). The
	// result is dst when dst is not nil, which must have that shape. The model
	// does not change. One that has learned nothing yet returns ErrUntrained.
	Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error)
}

// Evaluator is a Predictor that can be tested on rows whose targets are known: a
// [Model], or a graphkernel.SVM. sinks.Evaluate drives it.
type Evaluator interface {
	Predictor

	// Evaluate tests the model on a batch with targets, as Step of a [Model] does
	// before it learns. The model does not change. One that has learned nothing yet
	// returns ErrUntrained.
	Evaluate(Batch) (Result, error)
}

// Model is a network that learns from a stream: what sinks.Train, sinks.Evaluate
// and sinks.Predict drive. Those of this package are also [Weighted], [Saver] and
// a [Checkpointer], which a model of your own may be or not.
type Model interface {
	Evaluator

	// Step predicts the batch, then learns from it. An error leaves the model
	// as it was; a *RowError names a row without which it would be none.
	Step(Batch) (Result, error)

	// Seen is the number of rows learned from, Accuracy the share of them that
	// was predicted right before it was learned from.
	Seen() int
	Accuracy() float64

	// Save writes the weights and all that is needed to use them again. A model that
	// has learned nothing yet returns ErrUntrained.
	Save(io.Writer) error
}

// Weighted is what can be brought back to what it was: [EarlyStop] needs no more
// of a model.
type Weighted interface {
	// AppendWeights appends a copy of all weights to dst and returns it.
	AppendWeights(dst []float32) []float32

	// SetWeights makes the weights those that AppendWeights has returned.
	SetWeights([]float32) error
}

// Saver is a [Model], an [Ensemble] or a graphkernel.SVM, whose file has metadata, such as how its
// fields were made; sinks.Save keeps a recipe there.
type Saver interface {
	Predictor

	// Save writes what was learned and all that is needed to use it again.
	Save(io.Writer) error

	// Metadata returns the metadata of the user, which may be changed.
	Metadata() map[string]string
}

// HeldOut is a model that leaves each row out of what some part of it learns, and
// lets that part say what Step reports: a Logistic of several heads. The mean loss
// of an epoch is then that of rows not learned from, and tells when to stop.
type HeldOut interface {
	Model

	// HoldsOut reports whether it does, by its settings.
	HoldsOut() bool
}

// HoldsOut reports whether a model is one that holds rows out by itself.
func HoldsOut(m Model) bool {
	h, ok := m.(HeldOut)
	return ok && h.HoldsOut()
}

// Trained reports whether a model has learned from something, or was loaded, so that
// what it says is more than chance. Those of this package have a method of that name;
// a model of your own without one is taken to have learned.
func Trained(m Predictor) bool { return trained(m) }

func trained(m any) bool {
	t, ok := m.(interface{ Trained() bool })
	return !ok || t.Trained()
}

// MetadataOf returns the metadata of a model, nil when it has none.
func MetadataOf(m Predictor) map[string]string {
	if n, ok := m.(Saver); ok {
		return n.Metadata()
	}
	return nil
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

// Cloner is a Predictor that can be copied, so that several goroutines ask at
// the same time, or go on asking while the model learns. The models of this
// package are.
type Cloner interface {
	Predictor

	// Clone returns a predictor with the weights of now, copied, and memory of
	// its own, but none for learning. It is nil before Init.
	Clone() Predictor
}

// Clone returns a predictor with the weights of now; see Cloner.
func (c *core) Clone() Predictor {
	if c == nil {
		return nil
	}
	f := &core{arch: c.arch, shape: c.shape, loss: c.loss, unit: c.unit, taught: c.Trained()}
	f.work = lay(c.arch, c.shape)
	f.work.Place(append([]float32(nil), c.work.W...))
	if _, ok := f.work.body.(*logisticLayer); ok {
		return additive{clone{f}}
	}
	return clone{f}
}

// clone is a core that predicts and does nothing else.
type clone struct{ core *core }

func (f clone) Init(s Shape) error { return f.core.shape.Check(s.of(len(f.core.shape.Counts) > 0)) }

func (f clone) Trained() bool { return f.core.Trained() }

func (f clone) Shape() Shape { return f.core.Shape() }

func (f clone) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	return f.core.Predict(b, dst)
}

func (f clone) Clone() Predictor { return f.core.Clone() }
