package sinks

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
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
}

var _ flow.Sink = Train{}

// Open initialises the model.
func (t Train) Open(in *arrow.Schema) (flow.Writer, error) {
	if t.Net == nil {
		return nil, errors.New("the field Net is not set")
	}
	shape, err := Shape(in)
	if err != nil {
		return nil, err
	}
	if f, ok, _ := record.Field(in, record.Target); shape.Classes == 0 && (!ok || f.Type.ID() != arrow.FLOAT32) {
		return nil, errors.New("there is no column target with class names, or of float32, to learn from")
	}
	return &trainer{t, shape}, t.Net.Init(shape)
}

type trainer struct {
	Train
	shape nn.Shape
}

func (t *trainer) Write(_ context.Context, rec arrow.Record) error {
	if rec.NumRows() == 0 {
		return nil
	}
	b, err := batchOf(rec, t.shape, true)
	if err != nil {
		return err
	}
	r, err := t.Net.Step(b)
	if err != nil {
		return rowError(flow.Name(t.Train), rec, fmt.Errorf("after %d graphs: %w", t.Net.Seen(), err))
	}
	if t.OnStep == nil {
		return nil
	}
	return t.OnStep(r)
}

func (t *trainer) Close(error) error { return nil }
