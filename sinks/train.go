package sinks

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
)

// Train lets a model learn from the stream: each record is one step, so
// operators.Batch before it sets the batch size. The model predicts every
// batch before it learns from it; its Accuracy and the results handed to
// OnStep are those of that test. Where the targets are numbers, float32 instead
// of classes, it learns these.
type Train struct {
	// Net learns. It is initialised with the shape of the records, or checked
	// against that. It must be set, and no one else may use it during the run.
	Net nn.Model
	// OnStep, if set, is called after each step, on the goroutine of the sink.
	// An error ends the run.
	OnStep func(nn.Result) error
	// Checkpoint lets the training be stopped and gone on with. The default is
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
	progress, err := t.Checkpoint.open(t.Net)
	return &trainer{Train: t, shape: shape, progress: progress}, err
}

type trainer struct {
	Train
	shape    nn.Shape
	progress *progress // nil: no checkpoints
	stepping bool
}

func (t *trainer) Write(_ context.Context, rec arrow.Record) error {
	if rec.NumRows() == 0 {
		return nil
	}
	b, err := batchOf(rec, t.shape, true)
	if err != nil {
		return err
	}
	if old, err := t.progress.pass(rec); old || err != nil {
		return err
	}
	t.stepping = true
	r, err := t.Net.Step(b)
	if err != nil {
		return rowError(flow.Name(t.Train), rec, fmt.Errorf("after %d graphs: %w", t.Net.Seen(), err))
	}
	if t.OnStep != nil {
		if err := t.OnStep(r); err != nil {
			return err
		}
	}
	t.stepping = false
	return t.progress.done()
}

func (t *trainer) Close(err error) error { return t.progress.close(err, t.stepping) }
