package sinks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
)

// ErrSteps is the error of a model that cannot learn from one row at a time, such as trees.
var ErrSteps = errors.New("the model cannot learn from one row at a time: want an nn.Model, such as nn.Best, or an nn.Ensemble of such")

// RowLearner is a copy of the model of an OpenRows that learns from rows, one in a step. One goroutine at a time may call its methods. What it learns
// changes no answer of the Predictor until Publish.
type RowLearner struct {
	p      *Predictor
	fields *flow.Direct
	shape  nn.Shape
	digest string
	net    nn.Saver
	nets   []nn.Model   // that learn: net, or the models of an ensemble
	loaded nn.Predictor // net before it learns
}

// Learner returns a copy of the model that learns at a rate, 0 = that of the training. The optimizer begins anew: a model file has no state of it. The caller
// closes the RowLearner.
func (o *OpenRows) Learner(rate float64) (l *RowLearner, err error) {
	saved, ok := o.p.net.(nn.Saver)
	if !ok {
		return nil, fmt.Errorf("a %T: %w", o.p.net, ErrSteps)
	}
	var file bytes.Buffer
	if err := saved.Save(&file); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(file.Bytes())
	l = &RowLearner{p: o.p, digest: hex.EncodeToString(sum[:])}
	if l.net, err = nn.LoadPredictor(&file); err != nil {
		return nil, err
	}
	nets := []nn.Predictor{l.net}
	if several, ok := l.net.(*nn.Ensemble); ok {
		nets = several.Nets
	}
	for _, net := range nets {
		m, ok := net.(nn.Model)
		if !ok {
			return nil, fmt.Errorf("a %T: %w", net, ErrSteps)
		}
		if slow, ok := net.(interface{ SetRate(float64) error }); ok && rate != 0 {
			if err := slow.SetRate(rate); err != nil {
				return nil, err
			}
		}
		l.nets = append(l.nets, m)
	}
	l.loaded = l.net.Clone()
	if l.fields, err = o.fields.Fork(); err != nil {
		return nil, err
	}
	if _, l.shape, _, err = o.p.copyFor(l.fields.Schema()); err == nil && l.shape.Classes == 0 {
		err = errors.New("the model learns numbers, want classes")
	}
	if err != nil {
		return nil, errors.Join(err, l.fields.Close())
	}
	return l, nil
}

// Digest tells the model that was loaded from others. What has been learned since does not change it.
func (l *RowLearner) Digest() string { return l.digest }

// Learn predicts a row, then takes a step in which the model learns its class. It returns the probabilities of the classes as they were before the
// step, and those of the model that was loaded. An error leaves the model as it was.
func (l *RowLearner) Learn(ctx context.Context, row arrow.Record, class int32) (said, loaded []float32, err error) {
	made, err := l.fields.Process(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		for _, rec := range made {
			rec.Release()
		}
	}()
	if len(made) != 1 || made[0].NumRows() != 1 {
		return nil, nil, errors.New("sinks: learner: the operators do not make one row of a row")
	}
	b, err := batchOf(made[0], l.shape, false)
	if err != nil {
		return nil, nil, err
	}
	ask := func(net nn.Predictor) ([]float32, error) {
		answer, err := net.Predict(b, nil)
		if err != nil {
			return nil, err
		}
		l.p.as.direct(answer.Float32s(), l.shape)
		return answer.Float32s(), nil
	}
	if said, err = ask(l.net); err != nil {
		return nil, nil, err
	}
	if loaded, err = ask(l.loaded); err != nil {
		return nil, nil, err
	}
	b.Targets = tensor.New(tensor.WithShape(1), tensor.WithBacking([]int32{class}))
	for _, net := range l.nets {
		if _, err := net.Step(b); err != nil {
			return nil, nil, err
		}
	}
	return said, loaded, nil
}

// Publish lets the Predictor answer by what has been learned.
func (l *RowLearner) Publish() error { return l.p.Update(l.net) }

// Save writes the model as it is to a file for Load.
func (l *RowLearner) Save(w io.Writer) error { return Write(w, l.net, l.p.recipe) }

// Checkpoint returns the state of what learns, for Resume: a file for each model.
func (l *RowLearner) Checkpoint() (files [][]byte, err error) {
	for _, net := range l.nets {
		var file bytes.Buffer
		if err := net.Checkpoint(&file, "", nil); err != nil {
			return nil, err
		}
		files = append(files, file.Bytes())
	}
	return files, nil
}

// Resume goes on from a Checkpoint. nn.ErrKernels is the error of one from a machine that rounds otherwise: the state is that of the checkpoint.
func (l *RowLearner) Resume(files [][]byte) error {
	if len(files) != len(l.nets) {
		return fmt.Errorf("sinks: learner: the checkpoint has %d models, want %d", len(files), len(l.nets))
	}
	var rounds error
	for i, net := range l.nets {
		_, _, err := net.Resume(bytes.NewReader(files[i]))
		if err != nil && !errors.Is(err, nn.ErrKernels) {
			return err
		}
		rounds = errors.Join(rounds, err)
	}
	return rounds
}

// Close frees the operators.
func (l *RowLearner) Close() error { return l.fields.Close() }
