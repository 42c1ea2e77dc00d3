package sinks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Rehearse trains models online on a short stream. For each record the models first predict,
// then learn in several steps: the first step from the record, the others from as many rows
// drawn at random from all rows so far. The predictions of a row are made before any model
// learned from it, so the accuracy over the stream is the prequential one.
//
//	flow.From(set).…Via(operators.Batch{Size: 8}).
//		To(sinks.Rehearse{Nets: []nn.Model{net}, Each: func(p *sinks.Probabilities) error { right += p.Correct(); … }})
//
// All rows so far stay in memory. The rows have classes.
type Rehearse struct {
	// Nets learn. It must not be empty.
	Nets []nn.Model
	// Steps is the number of steps for each record. The default is 4.
	Steps int
	// Seed decides which rows are drawn.
	Seed uint64
	// Each, if set, is called for each record, after the models learned from it, with their earlier
	// predictions for its rows. An error ends the run.
	Each func(*Probabilities) error
}

var _ flow.Sink = Rehearse{}

// Open initialises the models.
func (r Rehearse) Open(in *arrow.Schema) (flow.Writer, error) {
	if r.Steps == 0 {
		r.Steps = 4
	}
	if len(r.Nets) == 0 || r.Steps < 1 {
		return nil, fmt.Errorf("Nets has %d models and Steps is %d, want 1 or more of each", len(r.Nets), r.Steps)
	}
	w := &rehearser{Rehearse: r, rng: rand.New(rand.NewPCG(r.Seed, 3))}
	for _, net := range r.Nets {
		t, err := Train{Net: net, OnRow: w.row}.Open(in)
		if err != nil {
			return nil, err
		}
		w.train = append(w.train, t)
	}
	if w.classes = r.Nets[0].Shape().Classes; w.classes == 0 {
		return nil, errors.New("the targets are numbers, want classes")
	}
	return w, nil
}

type rehearser struct {
	Rehearse
	classes int
	train   []flow.Writer
	rng     *rand.Rand

	seen []arrow.Record
	rows []record.Ref   // of seen
	said *Probabilities // of the record in hand
	at   int            // row of the record and of the rows after it
}

// row notes what a model predicts of a row that is new.
func (w *rehearser) row(p Prediction) error {
	if w.at < len(w.said.Target) {
		if w.at == 0 {
			w.said.Models++
		}
		w.said.Set(w.at, p)
	}
	w.at++
	return nil
}

func (w *rehearser) Write(ctx context.Context, rec arrow.Record) error {
	rows := int(rec.NumRows())
	if rows == 0 {
		return nil
	}
	w.said = NewProbabilities(rows, w.classes)
	rec.Retain()
	w.seen = append(w.seen, rec)
	for row := range int32(rows) {
		w.rows = append(w.rows, record.Ref{Record: int32(len(w.seen) - 1), Row: row})
	}
	for step := range w.Steps {
		if err := w.step(ctx, rec, step); err != nil {
			return err
		}
	}
	if w.Each == nil {
		return nil
	}
	return w.Each(w.said)
}

// step lets the models learn once, from rec in the first step.
func (w *rehearser) step(ctx context.Context, rec arrow.Record, step int) error {
	batch, rows := rec, int(rec.NumRows())
	if step > 0 {
		var err error
		if batch, err = w.remember(rows); err != nil {
			return err
		}
		defer batch.Release()
	}
	for _, t := range w.train {
		w.at = step * rows
		if err := t.Write(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// remember draws n rows from those seen.
func (w *rehearser) remember(n int) (arrow.Record, error) {
	at := map[int32]int32{}
	var recs []arrow.Record
	refs := make([]record.Ref, n)
	for i := range refs {
		r := w.rows[w.rng.IntN(len(w.rows))]
		j, ok := at[r.Record]
		if !ok {
			j = int32(len(recs))
			at[r.Record] = j
			recs = append(recs, w.seen[r.Record])
		}
		refs[i] = record.Ref{Record: j, Row: r.Row}
	}
	return record.Take(memory.DefaultAllocator, recs, refs)
}

func (w *rehearser) Close(error) error {
	for _, rec := range w.seen {
		rec.Release()
	}
	w.seen = nil
	return nil
}
