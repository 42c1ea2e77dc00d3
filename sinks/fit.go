package sinks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
)

// Fit runs a training. It makes the rows of a stream once, learns from them in a new random
// order in each epoch, and tests the model after each epoch:
//
//	fit, err := sinks.Fit{Net: net, Valid: &valid, Patience: 10}.Run(ctx, train)
//	fmt.Println("best after epoch", fit.Best)
//
// train and valid are pipelines without a sink, up to fields. With Net alone it is a training
// of 100 epochs without a test.
type Fit struct {
	// Net learns. It must be set.
	Net nn.Model
	// Epochs is how often each row is learned from, at most. The default is 100.
	Epochs int
	// Batch is how many rows a step has. The default is 32.
	Batch int
	// Seed decides the orders.
	Seed uint64

	// Valid, if set, is the rows that the model is tested on after each epoch.
	// They are made once and held in memory.
	Valid *flow.Pipeline
	// HeldOut scores an epoch by Epoch.Train, the out-of-sample result of a model that holds rows
	// out (nn.HoldsOut); Valid is then a test only. Without Valid such a model is always scored so.
	HeldOut bool
	// Score scores a test on Valid, or the out-of-sample result of a model that holds rows out;
	// lower is better. The default is the mean loss.
	Score func(nn.Result) float64
	// Measure, if set, replaces Score: it scores an epoch by the predictions for the rows of Valid,
	// for instance by the area under the ROC curve if classes are unbalanced. The loss decides
	// between equals. With HeldOut it is measured, and no epoch is scored by it.
	Measure validation.Measure
	// Patience is the number of consecutive epochs without a better score that end the training.
	// The default is not to end it before Epochs.
	Patience int
	// If Last, the model keeps the weights of the last epoch. The default is to give it back the
	// weights that had the best score, the first of equals.
	Last bool

	// OnEpoch, if set, is called after each epoch and its test, and OnStep after
	// each step. An error ends the training.
	OnEpoch func(Epoch) error
	OnStep  func(nn.Result) error

	// Checkpoint lets the training be stopped and resumed, to the same
	// result. It also stores the epochs so far and the best weights.
	Checkpoint Checkpoint
}

// Epoch is the result of an epoch.
type Epoch struct {
	Number int       `json:"number"` // from 1
	Train  nn.Result `json:"train"`  // of its rows, each before it was learned from
	Valid  nn.Result `json:"valid"`  // of Valid, if that is set
	Score  float64   `json:"score"`
	Value  float64   `json:"value,omitempty"` // of Fit.Measure on Valid
	// Took is the time that learning took, tests not counted.
	Took time.Duration `json:"took"`
}

// Fitted is the result of a training.
type Fitted struct {
	Epochs []Epoch
	Best   int // the number of the epoch whose weights the model has
}

// Learn trains a model on graphs and returns it ready to predict. ops make its rows: operators.Count for
// nn.Best, operators.Select, Assemble and Normalize for an nn.CNN. Their recipe is that of the result,
// behind an operators.Expect of the layout of the graphs. The training has 50 epochs at most; a model
// that holds rows out ends after 10 of them without a lower loss. [Fit] has the other settings. The
// caller closes the Predictor.
func Learn(ctx context.Context, graphs flow.Pipeline, net nn.Model, ops ...flow.Operator) (*Predictor, error) {
	schema, err := graphs.Schema(ctx)
	if err != nil {
		return nil, err
	}
	layout, err := record.LayoutOf(schema)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	recipe := append(operators.Recipe{operators.Expect{Layout: layout}}, ops...)
	fit := Fit{Net: net, Epochs: 50}
	if nn.HoldsOut(net) {
		fit.Patience = 10
	}
	if _, err := fit.Run(ctx, recipe.Onto(graphs)); err != nil {
		return nil, err
	}
	return NewPredictor(net, recipe)
}

// errEnough ends a run after Patience epochs without a better score.
var errEnough = errors.New("sinks: fit: enough")

// Run trains on the rows of p, a pipeline without a sink, which may have options. A stream
// without rows is an error.
func (f Fit) Run(ctx context.Context, p flow.Pipeline) (Fitted, error) {
	t, err := f.start(ctx)
	if err != nil {
		return Fitted{}, fmt.Errorf("fit: %w", err)
	}
	defer t.valid.Release()
	err = p.Via(counting{&t.rows}).
		Via(operators.Replay{Epochs: t.Epochs, Seed: f.Seed, Rows: t.Batch}).
		To(t).Run(endsWell(ctx))
	if err != nil && !errors.Is(err, errEnough) {
		return t.fitted(), err
	}
	if len(t.done) == 0 {
		return Fitted{}, errors.New("fit: there are no rows to learn from")
	}
	if len(t.best) > 0 {
		return t.fitted(), t.Net.SetWeights(t.best)
	}
	return t.fitted(), nil
}

// endsWell returns a context whose observer gets no error instead of errEnough.
func endsWell(ctx context.Context) context.Context {
	return flow.Observe(ctx, func(work flow.Observed) func(error) {
		ended := flow.Announce(ctx, work)
		return func(err error) {
			if errors.Is(err, errEnough) {
				err = nil
			}
			ended(err)
		}
	})
}

// fitting is a running Fit.
type fitting struct {
	Fit
	rows  int64 // number of rows of an epoch
	valid Collect

	done  []Epoch
	best  []float32 // weights of the best epoch, if Fit keeps them
	now   Epoch     // current epoch; Train has sums over rows until the end of the epoch
	since time.Time
}

func (f Fit) start(ctx context.Context) (*fitting, error) {
	t := &fitting{Fit: f}
	if t.Epochs == 0 {
		t.Epochs = 100
	}
	if t.Batch == 0 {
		t.Batch = 32
	}
	switch {
	case f.Net == nil:
		return nil, errors.New("the field Net is not set")
	case t.Epochs < 1 || t.Batch < 1 || f.Patience < 0:
		return nil, fmt.Errorf("Epochs is %d, Batch %d, Patience %d, want positive numbers", t.Epochs, t.Batch, f.Patience)
	case f.Patience > 0 && !t.scored():
		return nil, errors.New("the field Patience is set, Valid is not, and the model holds no rows out")
	case f.Measure != "" && (f.Valid == nil || f.Score != nil):
		return nil, errors.New("the field Measure is set, which needs Valid, and not Score")
	case f.HeldOut && !nn.HoldsOut(f.Net):
		return nil, fmt.Errorf("the field HeldOut is set, and a %T holds no rows out", f.Net)
	}
	if f.Valid == nil {
		return t, nil
	}
	return t, f.Valid.To(&t.valid).Run(ctx)
}

// scored reports whether epochs have scores: by a test, or by rows that the model holds out.
func (t *fitting) scored() bool { return t.Valid != nil || nn.HoldsOut(t.Net) }

// lowest returns the number of the epoch with the lowest score, the first of equals. Without scores it
// is the last epoch.
func (t *fitting) lowest() int {
	if !t.scored() {
		return len(t.done)
	}
	best := 0
	for i, e := range t.done {
		if e.Score < t.done[best].Score {
			best = i
		}
	}
	return min(best+1, len(t.done))
}

func (t *fitting) fitted() Fitted {
	f := Fitted{Epochs: t.done, Best: len(t.done)}
	if !t.Last {
		f.Best = t.lowest()
	}
	return f
}

// String keeps the plan of the pipeline short.
func (t *fitting) String() string { return "Fit" }

// Open opens the Train that learns.
func (t *fitting) Open(in *arrow.Schema) (flow.Writer, error) {
	train := Train{Net: t.Net, Checkpoint: t.Checkpoint, OnStep: func(r nn.Result) error {
		addResult(&t.now.Train, r)
		if t.OnStep == nil {
			return nil
		}
		return t.OnStep(r)
	}}
	train.Checkpoint.State, train.Checkpoint.Restore, train.Checkpoint.best = t.save, t.restore, &t.best
	w, err := train.Open(in)
	if err != nil {
		return nil, err
	}
	t.since = time.Now()
	f := &fitWriter{trainer: w.(*trainer), fit: t}
	f.epochs(t.done)
	return f, nil
}

// fitState is the state of a fitting in a checkpoint.
type fitState struct {
	Done []Epoch `json:"done"`
	Now  Epoch   `json:"now"`
	User string  `json:"user,omitempty"` // result of Checkpoint.State
}

func (t *fitting) save() (string, error) {
	now := t.now
	now.Took += time.Since(t.since)
	s := fitState{Done: t.done, Now: now}
	var err error
	if t.Checkpoint.State != nil {
		if s.User, err = t.Checkpoint.State(); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(s)
	return string(text), err
}

func (t *fitting) restore(text string) error {
	var s fitState
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("it is not of a Fit: %w", err)
	}
	if len(s.Done) > 0 && (len(t.best) > 0) != (t.scored() && !t.Last) {
		return errors.New("it was made with another of the fields Last, Valid and HeldOut")
	}
	t.done, t.now = s.Done, s.Now
	if t.Checkpoint.Restore != nil {
		return t.Checkpoint.Restore(s.User)
	}
	return nil
}

// counting is an operator that counts the rows of the stream.
type counting struct{ rows *int64 }

func (c counting) String() string { return "count" }

func (c counting) Open(in *arrow.Schema) (flow.Stage, error) { return &countStage{c, in}, nil }

type countStage struct {
	counting
	schema *arrow.Schema
}

func (c *countStage) Schema() *arrow.Schema { return c.schema }

func (c *countStage) Process(rec arrow.Record, out *flow.Out) error {
	*c.rows += rec.NumRows()
	rec.Retain()
	return out.Emit(rec)
}

// fitWriter is a trainer that detects the end of an epoch.
type fitWriter struct {
	*trainer
	fit  *fitting
	seen int64 // number of rows that it has written
}

func (w *fitWriter) Write(ctx context.Context, rec arrow.Record) error {
	return w.WriteSome(ctx, rec, never("fit", rec))
}

func (w *fitWriter) WriteSome(ctx context.Context, rec arrow.Record, refuse func(row int, err error) error) error {
	if w.fit.enough() {
		return errEnough
	}
	if err := w.trainer.WriteSome(ctx, rec, refuse); err != nil {
		return err
	}
	w.seen += rec.NumRows()
	if w.seen%w.fit.rows != 0 || w.seen/w.fit.rows <= int64(len(w.fit.done)) { // not the end of an epoch, or the checkpoint has it
		return nil
	}
	err := w.fit.epoch(ctx)
	w.epochs(w.fit.done)
	return err
}

// enough reports whether the last Patience epochs had no better score.
func (t *fitting) enough() bool {
	return t.Patience > 0 && len(t.done)-t.lowest() >= t.Patience
}

// epoch tests the model at the end of an epoch.
func (t *fitting) epoch(ctx context.Context) (err error) {
	t.now.Took += time.Since(t.since)
	defer func() { t.since = time.Now() }()
	e := t.now // a checkpoint before the end of the test stores t.now
	e.Number, e.Train = len(t.done)+1, meanResult(e.Train)
	of := &e.Train
	if t.Valid != nil {
		e.Valid, e.Value, err = t.test(ctx, t.valid.Records())
		if !t.HeldOut {
			of = &e.Valid
		}
	}
	if err == nil && t.scored() {
		e.Score = t.score(*of, e.Value)
	}
	if err == nil && (math.IsNaN(e.Score) || math.IsInf(e.Score, 0)) {
		err = fmt.Errorf("the score of epoch %d is %v", e.Number, e.Score)
	}
	if err != nil {
		return err
	}
	t.done, t.now = append(t.done, e), Epoch{}
	if t.scored() && !t.Last && t.lowest() == e.Number {
		t.best = t.Net.AppendWeights(t.best[:0])
	}
	if t.OnEpoch != nil {
		return t.OnEpoch(e)
	}
	return nil
}

// score returns the score of an epoch, lower is better, from a result and the value of Measure.
func (t *fitting) score(r nn.Result, value float64) float64 {
	switch {
	case t.Measure != "" && !t.HeldOut:
		return t.Measure.Loss(value) + r.Loss/1e6 // with few rows many epochs have equal values, and the loss decides
	case t.Score != nil:
		return t.Score(r)
	}
	return r.Loss
}

// test evaluates the model on the validation rows. value is that of the measure.
func (t *fitting) test(ctx context.Context, recs []arrow.Record) (r nn.Result, value float64, err error) {
	if len(recs) == 0 {
		return r, 0, errors.New("there are no rows to test on")
	}
	shape, err := trainable(recs[0].Schema())
	if err == nil {
		err = t.Net.Init(shape)
	}
	if err != nil {
		return r, 0, err
	}
	for _, rec := range recs {
		var one nn.Result
		b, err := batchOf(rec, shape, true)
		if err == nil {
			one, err = t.Net.Evaluate(b)
		}
		if err != nil {
			return r, 0, rowError("evaluate", rec, err)
		}
		addResult(&r, one)
	}
	r = meanResult(r)
	if t.Measure != "" {
		var answers Answers
		w, err := Predict{Net: t.Net, Each: answers.Add}.Open(recs[0].Schema())
		if err != nil {
			return r, 0, err
		}
		for _, rec := range recs {
			if err := w.Write(ctx, rec); err != nil {
				return r, 0, err
			}
		}
		if value, err = t.Measure.Of(&answers.Answers); err != nil {
			return r, 0, fmt.Errorf("validation rows: %w", err)
		}
	}
	return r, value, nil
}
