package sinks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Train lets a model learn from the stream. Each record is one step, so operators.Batch before
// it sets the batch size. The model predicts every batch before it learns from it; Accuracy,
// OnStep and OnRow report these predictions. If the targets are float32 instead of classes, the
// model learns numbers.
//
// A row is refused if its class is not one of the column's or an attribute is not finite or as
// large as 10²⁵; see flow.Options.Refused. The other rows of its record are learned from.
//
// With a Checkpoint, rows are durable and acknowledged when a file has the weights after them.
type Train struct {
	// Net learns. The sink calls Init with the shape of the records. Net must be set, and
	// other goroutines may not use it during the run.
	Net nn.Model
	// OnStep, if set, is called after each step, on the goroutine of the sink.
	// An error ends the run.
	OnStep func(nn.Result) error
	// OnRow, if set, is called for each row of a step, in order and before OnStep, with the
	// prediction before the model learned from it.
	OnRow func(Prediction) error
	// Checkpoint lets the training be stopped and resumed. The default is
	// not to.
	Checkpoint Checkpoint
}

var _ flow.Sink = Train{}

// Open initialises the model.
func (t Train) Open(in *arrow.Schema) (flow.Writer, error) {
	if t.Net == nil {
		return nil, errors.New("the field Net is not set")
	}
	shape, err := trainable(in)
	if err != nil {
		return nil, err
	}
	if err := t.Net.Init(shape); err != nil {
		return nil, err
	}
	progress, err := t.Checkpoint.open(t.Net, in)
	return &trainer{Train: t, asked: askedOf(in), shape: shape, progress: progress}, err
}

type trainer struct {
	Train
	*asked
	shape    nn.Shape
	progress *progress // nil: no checkpoints
	stepping bool
	written  int64 // number of records that were written
	said     []float32
}

func (t *trainer) Write(ctx context.Context, rec arrow.Record) error {
	return t.WriteSome(ctx, rec, never(flow.Name(t.Train), rec))
}

func (t *trainer) WriteSome(_ context.Context, rec arrow.Record, refuse func(row int, err error) error) error {
	t.written++
	if rec.NumRows() == 0 {
		return nil
	}
	if old, err := t.progress.pass(rec); old || err != nil {
		return err
	}
	t.stepping = true
	if err := leaveOut(rec, refuse, t.step); err != nil {
		return err
	}
	t.stepping = false
	return t.progress.done()
}

// step learns from a record, and calls OnRow and OnStep.
func (t *trainer) step(rec arrow.Record) error {
	b, err := batchOf(rec, t.shape, true)
	if err != nil {
		return err
	}
	sampled := t.open.Load()
	if t.OnRow != nil || sampled && t.shape.Classes <= mostSampled {
		b.Predicted = t.answers(int(rec.NumRows()))
	}
	r, err := t.Net.Step(b)
	var row *nn.RowError
	switch {
	case errors.As(err, &row):
		return err
	case err != nil:
		return fmt.Errorf("after %d graphs: %w", t.Net.Seen(), err)
	}
	if sampled {
		var said []float32
		if b.Predicted != nil {
			said = b.Predicted.Float32s()
		}
		t.add(r, rec, said, t.shape.Classes)
	}
	if t.OnRow != nil {
		if err := each(rec, t.shape, b.Predicted.Float32s(), t.OnRow); err != nil {
			return err
		}
	}
	if t.OnStep == nil {
		return nil
	}
	return t.OnStep(r)
}

// answers returns a buffer for the predictions for some rows.
func (t *trainer) answers(rows int) *tensor.Dense {
	n := max(1, t.shape.Classes)
	if len(t.said) < rows*n {
		t.said = make([]float32, rows*n)
	}
	return tensor.New(tensor.WithShape(rows, n), tensor.WithBacking(t.said[:rows*n]))
}

// Resume moves the source to the place of the checkpoint.
func (t *trainer) Resume(from *flow.Places) error {
	if t.progress == nil {
		return nil
	}
	return t.progress.begin(from)
}

// Durable returns the number of records in the checkpoint. Without checkpoints it returns the number of
// all records.
func (t *trainer) Durable() int64 {
	if t.progress == nil || t.progress.clean() {
		return t.written
	}
	return t.progress.durable
}

// Deadline returns the time of the next checkpoint.
func (t *trainer) Deadline() time.Time { return t.progress.deadline() }

// Expire writes a checkpoint.
func (t *trainer) Expire(context.Context) error { return t.progress.write() }

func (t *trainer) Close(err error) error { return t.progress.close(err, t.stepping) }

// trainable returns the shape of records with a target.
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

// addResult adds r to sum, whose Loss and AbsError are sums over rows.
func addResult(sum *nn.Result, r nn.Result) {
	sum.Rows += r.Rows
	sum.Correct += r.Correct
	sum.Loss += r.Loss * float64(r.Rows)
	sum.AbsError += r.AbsError * float64(r.Rows)
}

// meanResult returns the means of the sums of addResult.
func meanResult(sum nn.Result) nn.Result {
	n := float64(max(1, sum.Rows))
	sum.Loss /= n
	sum.AbsError /= n
	return sum
}
