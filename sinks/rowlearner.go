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

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// ErrSteps is the error of a model that cannot learn from one row at a time, such as trees.
var ErrSteps = errors.New("the model cannot learn from one row at a time: want an nn.Model, such as nn.Best")

// AnswerLessons is how many lessons a RowLearner learns from one model that answers to the next.
const AnswerLessons = 256

// RowLearner is a copy of the model of an OpenRows that learns from rows, one in a step. One goroutine at a time may call its methods.
type RowLearner struct {
	Net     nn.Model
	Digest  string // of the model that was loaded
	Lessons int64  // that Net has learned from

	p      *Predictor
	own    *worker // runs the operators; Net and loaded answer in place of its model
	loaded nn.Predictor
}

// Learner returns a copy of the model that learns at a rate, 0 = that of the training. The optimizer begins anew: a model file has no state of it. The caller
// closes the RowLearner.
func (o *OpenRows) Learner(rate float64) (l *RowLearner, err error) {
	m, ok := o.p.net.(nn.Model)
	if !ok {
		return nil, fmt.Errorf("a %T: %w", o.p.net, ErrSteps)
	}
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(file.Bytes())
	net, err := nn.LoadPredictor(&file)
	if err != nil {
		return nil, err
	}
	l = &RowLearner{Net: net.(nn.Model), Digest: hex.EncodeToString(sum[:]), p: o.p, loaded: net.Clone()}
	if slow, ok := net.(interface{ SetRate(float64) error }); ok && rate != 0 {
		if err := slow.SetRate(rate); err != nil {
			return nil, err
		}
	}
	if l.own, err = o.p.fork(o.fields, o.p.as); err != nil {
		return nil, err
	}
	if l.own.shape.Classes == 0 {
		return nil, errors.Join(errors.New("the model learns numbers, want classes"), l.Close())
	}
	return l, nil
}

// Learn predicts a row, then takes a step in which the model learns its class. It returns the probabilities of the classes as they were before the
// step, and those of the model that was loaded. An error leaves the model as it was. After each AnswerLessons it calls Publish.
func (l *RowLearner) Learn(ctx context.Context, row arrow.Record, class int32) (said, loaded []float32, err error) {
	made, err := l.own.fields.Process(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	defer record.Release(made)
	if len(made) != 1 || made[0].NumRows() != 1 {
		return nil, nil, errors.New("sinks: learner: the operators do not make one row of a row")
	}
	b, err := batchOf(made[0], l.own.shape, false)
	if err != nil {
		return nil, nil, err
	}
	var answers [2][]float32
	for i, net := range []nn.Predictor{l.Net, l.loaded} {
		answer, err := net.Predict(b, nil)
		if err != nil {
			return nil, nil, err
		}
		answers[i] = answer.Float32s()
		l.own.as.direct(answers[i], l.own.shape)
	}
	b.Targets = tensor.New(tensor.WithShape(1), tensor.WithBacking([]int32{class}))
	if _, err = l.Net.Step(b); err != nil {
		return nil, nil, err
	}
	if l.Lessons++; l.Lessons%AnswerLessons == 0 {
		err = l.Publish()
	}
	return answers[0], answers[1], err
}

// Publish lets the Predictor answer by what has been learned.
func (l *RowLearner) Publish() error { return l.p.Update(l.Net) }

// Save writes the model as it is to a file for Load.
func (l *RowLearner) Save(w io.Writer) error { return Write(w, l.Net, l.p.recipe) }

// Close frees the operators.
func (l *RowLearner) Close() error { return l.own.fields.Close() }
