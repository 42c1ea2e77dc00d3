package sinks

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
)

// Fold holds the rows of one trial of a validation.CrossValidation in memory:
//
//	Learn: func(ctx context.Context, t validation.Trial) ([]validation.Score, error) {
//		fold, err := sinks.NewFold(ctx, rows.Records(), t.Split)
//		if err != nil {
//			return nil, err
//		}
//		defer fold.Release()
//		fit, err := fold.Fit(ctx, sinks.Fit{Net: &nn.CNN{}, Epochs: 30})
//		return fit.Scores(30), err
//	},
type Fold struct {
	// Train and Test are the rows to learn from and to test on, in the order of the
	// split.
	Train, Test arrow.Record
	// Valid has the rows to choose by, if the split has any; else it is nil.
	Valid arrow.Record
	// Scale is the operator that has scaled the continuous channels of the nodes of
	// all, by the moments of Train: the test rows have no say. It belongs to the
	// recipe of a model that is kept. nil: there are no such channels.
	Scale *operators.Standardize
}

// NewFold copies the rows of a split out of records. The numbers of the split count the rows of
// all records. The caller releases the Fold. O(bytes).
func NewFold(ctx context.Context, recs []arrow.Record, s validation.Split) (*Fold, error) {
	f := new(Fold)
	for _, part := range []struct {
		to   *arrow.Record
		rows []int32
	}{{&f.Train, s.Train}, {&f.Test, s.Test}, {&f.Valid, s.Valid}} {
		if part.to == &f.Valid && part.rows == nil {
			continue
		}
		rec, err := takeRows(recs, part.rows)
		if err == nil {
			*part.to = rec
			err = f.scale(ctx, part.to)
		}
		if err != nil {
			f.Release()
			return nil, err
		}
	}
	return f, nil
}

// scale puts a record in the place of one whose channels are not scaled, the first of
// which gives the moments.
func (f *Fold) scale(ctx context.Context, rec *arrow.Record) (err error) {
	if !(*rec).Schema().HasField(record.Nodes) {
		return nil
	}
	if f.Scale == nil {
		f.Scale = new(operators.Standardize)
		if f.Scale.Mean, f.Scale.Std, err = operators.NodeMoments(*rec); err != nil {
			return err
		}
	}
	var out Collect
	defer out.Release()
	if err := inMemory(*rec).Via(*f.Scale).To(&out).Run(ctx); err != nil {
		return err
	}
	(*rec).Release()
	*rec = out.Records()[0]
	(*rec).Retain()
	return nil
}

// Release releases the records.
func (f *Fold) Release() {
	for _, rec := range []arrow.Record{f.Train, f.Test, f.Valid} {
		if rec != nil {
			rec.Release()
		}
	}
}

// Fit trains a model on Train and tests it after each epoch on Test. If the fold has Valid, it
// tests on both, and Valid alone decides when to stop. Fit sets Valid and Last of fit, since a
// cross-validation chooses among all epochs. Without Valid, a model that holds rows out stops
// by them; see Fit.Patience. All of it runs on one goroutine, since trials run in parallel.
func (f *Fold) Fit(ctx context.Context, fit Fit) (Fitted, error) {
	valid := f.Test
	if f.Valid != nil {
		valid, fit.tests = f.Valid, []arrow.Record{f.Test}
	}
	p := inMemory(valid)
	fit.Valid, fit.Last, fit.HeldOut = &p, true, f.Valid == nil && nn.HoldsOut(fit.Net)
	return fit.Run(ctx, inMemory(f.Train))
}

// Score tests a model that was trained elsewhere on Test, and on Valid if the fold has Valid, as
// CrossValidation.Learn wants it. The loss is -log p of the class of a row, with p at least 2⁻²⁰,
// summed over the rows. The fold must have classes.
func (f *Fold) Score(ctx context.Context, net nn.Predictor, measure validation.Measure) (s validation.Score, err error) {
	if s.Correct, s.Loss, s.Value, err = score(ctx, net, measure, f.Test); err == nil && f.Valid != nil {
		s.ValidCorrect, s.HeldOut, s.Valid, err = score(ctx, net, measure, f.Valid)
		s.HeldOut /= float64(f.Valid.NumRows())
	}
	return s, err
}

func score(ctx context.Context, net nn.Predictor, measure validation.Measure, rec arrow.Record) (correct int, loss, value float64, err error) {
	var answers Answers
	err = inMemory(rec).To(Predict{Net: net, Each: func(p Prediction) error {
		if p.Target >= 0 && p.Target < len(p.Probs) {
			loss -= math.Log(max(0x1p-20, float64(p.Probs[p.Target])))
		}
		if p.Target == p.Class {
			correct++
		}
		return answers.Add(p)
	}}).Run(ctx)
	if err == nil && measure != "" {
		value, err = measure.Of(&answers.Answers)
	}
	return correct, loss, value, err
}

// Scores returns one score for each of that many epochs, with losses summed over the rows, as
// CrossValidation.Learn wants them. If the training ended early, its last score replaces the
// missing ones. HeldOut is the score on the rows of Fold.Valid, if there are any.
func (f Fitted) Scores(epochs int) (scores []validation.Score) {
	for i := range epochs {
		if len(f.Epochs) == 0 {
			break
		}
		e := f.Epochs[min(i, len(f.Epochs)-1)]
		test, score := e.Valid, validation.Score{HeldOut: e.Train.Loss, Value: e.Value}
		if e.Test.Rows > 0 {
			test, score = e.Test, validation.Score{HeldOut: e.Score, Value: e.TestValue, Valid: e.Value, ValidCorrect: e.Valid.Correct}
		}
		score.Correct, score.Loss = test.Correct, test.Loss*float64(test.Rows)
		scores = append(scores, score)
	}
	return scores
}

// inMemory is a pipeline that begins with a record, and works on one goroutine.
func inMemory(rec arrow.Record) flow.Pipeline {
	return flow.From(flow.Records{Records: []arrow.Record{rec}}).With(flow.Options{Workers: 1})
}

// takeRows copies rows into one record, in the order of rows.
func takeRows(recs []arrow.Record, rows []int32) (arrow.Record, error) {
	ends := make([]int64, len(recs)) // of the rows of each record, counted over all
	var n int64
	for i, rec := range recs {
		n += rec.NumRows()
		ends[i] = n
	}
	refs := make([]record.Ref, len(rows))
	for i, row := range rows {
		if row < 0 || int64(row) >= n {
			return nil, fmt.Errorf("sinks: fold: the split has row %d, want rows from 0 to %d", row, n-1)
		}
		rec := sort.Search(len(ends), func(i int) bool { return ends[i] > int64(row) })
		refs[i] = record.Ref{Record: int32(rec), Row: int32(int64(row) - (ends[rec] - recs[rec].NumRows()))}
	}
	return record.Take(memory.DefaultAllocator, recs, refs)
}
