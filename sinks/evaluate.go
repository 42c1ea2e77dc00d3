package sinks

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Evaluate tests a model on the stream. Records may have any number of rows. The model does not
// change. Fit with Valid and Patience tests after each epoch, and keeps the best weights.
type Evaluate struct {
	// Net is tested: an nn.Model. It must be set and trained or loaded. An untrained model is an nn.ErrUntrained. Train passes the predictions
	// for each batch before it learns, the first included, to OnStep and OnRow.
	Net nn.Evaluator
	// Done is called with the result of all rows when the stream has ended
	// without an error, unless it had none. It must be set. An error ends the
	// run.
	Done func(nn.Result) error
}

var _ flow.Sink = Evaluate{}

// Open checks the model against the schema.
func (e Evaluate) Open(in *arrow.Schema) (flow.Writer, error) {
	if e.Net == nil || e.Done == nil {
		return nil, errors.New("the fields Net and Done must be set")
	}
	if !e.Net.Trained() { // before Init, which would leave it with random weights
		return nil, nn.ErrUntrained
	}
	shape, err := trainable(in)
	if err != nil {
		return nil, err
	}
	return &evaluator{Evaluate: e, shape: shape}, e.Net.Init(shape)
}

// trainable returns the shape of records that name what is to be learned.
func trainable(s *arrow.Schema) (nn.Shape, error) {
	shape, err := Shape(s)
	if err != nil {
		return shape, err
	}
	if f, ok, _ := record.Field(s, record.Target); shape.Classes == 0 && (!ok || f.Type.ID() != arrow.FLOAT32) {
		return shape, errors.New("there is no column target with class names, or of float32, to learn from")
	}
	return shape, nil
}

type evaluator struct {
	Evaluate
	shape nn.Shape
	all   nn.Result // Loss and AbsError are sums so far
}

func (e *evaluator) Write(ctx context.Context, rec arrow.Record) error {
	return e.WriteSome(ctx, rec, never(flow.Name(e.Evaluate), rec))
}

func (e *evaluator) WriteSome(_ context.Context, rec arrow.Record, refuse func(row int, err error) error) error {
	return leaveOut(rec, refuse, func(rec arrow.Record) error {
		b, err := batchOf(rec, e.shape, true)
		if err != nil {
			return err
		}
		r, err := e.Net.Evaluate(b)
		if err != nil {
			return err
		}
		addResult(&e.all, r)
		return nil
	})
}

func (e *evaluator) Close(failed error) error {
	if failed != nil || e.all.Rows == 0 {
		return nil
	}
	return e.Done(meanResult(e.all))
}

// addResult adds r to sum, whose Loss and AbsError are sums.
func addResult(sum *nn.Result, r nn.Result) {
	sum.Rows += r.Rows
	sum.Correct += r.Correct
	sum.Loss += r.Loss * float64(r.Rows)
	sum.AbsError += r.AbsError * float64(r.Rows)
}

// meanResult makes means of the sums.
func meanResult(sum nn.Result) nn.Result {
	n := float64(max(1, sum.Rows))
	sum.Loss /= n
	sum.AbsError /= n
	return sum
}
