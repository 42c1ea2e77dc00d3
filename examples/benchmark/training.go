package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/arrow/util"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// bestAlone is best with one head.
const bestAlone = "best-heads"

// revision is raised with every change that changes the results of a training, so that stored scores of an
// earlier version are not used.
const revision = 2

// training is a training by epochs on the rows of Train. After each epoch the model is tested on Test, and
// on Valid if there is one.
type training struct {
	validation.Split
	epochs, batch int
	whole         bool // a model that holds graphs out makes all epochs
	seed          uint64
	measure       validation.Measure // of tests, and of epochs where the split has Valid; "" = the loss
	kind          string             // of the model: cnn, pslr or gru; of counted words best or bestAlone
	pretrain      string             // the model that initializes the first layer: rbm, autoencoder or none
	workers       int                // of the model
}

// identity describes what decides a training, without its rows, its seed and the size of a batch.
func (j training) identity() string {
	j.seed = 0
	net := j.newNet(false)
	return fmt.Sprintf("training %d, %v, pretrained by %s, %d epochs, patience %d", revision, net, j.pretrain, j.epochs, j.patience(net))
}

// outcome is the result of a training.
type outcome struct {
	curve    []score // one per epoch, with the loss summed over the rows
	net      nn.Model
	scale    *operators.Standardize // of the continuous channels, or nil
	examples int                    // rows of all steps
	seconds  float64                // of the steps, without tests
}

// batchSizes are the batch sizes that the systems of the table choose among.
var batchSizes = []int{16, 32, 64}

// maxEpochs is the number of epochs among which a protocol chooses. The accuracy on validation splits
// levels off before: after 20 epochs of a few steps on MUTAG and PTC_MR, 30 on IMDB-BINARY, 10 to 20
// epochs of a hundred steps on NCI1. The generated collection still gains a little at 50. The model of
// words needs up to 50, unless it stops earlier.
func maxEpochs(kind string, graphs int) int {
	if kind == best || kind == bestAlone || graphs <= 2000 {
		return 50
	}
	return 30
}

// heldPatience is the number of epochs without a lower loss on held-out graphs that ends a training.
const heldPatience = 10

// learn trains a new network. The result is a function of the fields and the training alone, but for the
// time.
func (j training) learn(ctx context.Context, f *fields) (*outcome, error) {
	rows, err := newFold(ctx, f.record, j.Split)
	if err != nil {
		return nil, err
	}
	defer rows.release()
	o := &outcome{net: j.newNet(f.degree), scale: rows.scale}
	if j.pretrain != "none" {
		if err := j.teach(ctx, o.net.(*nn.CNN), rows.train); err != nil {
			return nil, fmt.Errorf("-pretrain: %w", err)
		}
	}
	err = rows.fit(ctx, o, sinks.Fit{Net: o.net, Measure: j.measure, Epochs: j.epochs, Batch: j.batch, Seed: j.seed, Patience: j.patience(o.net)})
	return o, err
}

// teach initializes the first layer of a network by a code of the fields of all rows. The network has made
// no step.
func (j training) teach(ctx context.Context, net *nn.CNN, rows arrow.Record) error {
	shape, err := sinks.Shape(rows.Schema())
	if err == nil {
		err = net.Init(shape)
	}
	if err != nil {
		return err
	}
	nodes, err := j.code(ctx, rows, sinks.Nodes, net.Maps1)
	if err == nil {
		err = net.UseCode(nodes)
	}
	if err != nil || len(shape.EdgeCats) == 0 && shape.EdgeAttrs == 0 {
		return err
	}
	pairs, err := j.code(ctx, rows, sinks.Pairs, net.Maps1)
	if err != nil {
		return err
	}
	return net.UseEdgeCode(pairs)
}

// code learns a code of so many values for a part of the fields. On validation splits of MUTAG ten epochs
// at a rate of 0.05 are as good as 3 at 0.01, and 30 are worse.
func (j training) code(ctx context.Context, rows arrow.Record, of sinks.FieldPart, hidden int) (nn.Encoder, error) {
	units := nn.Binary
	switch {
	case of == sinks.Nodes && rows.Schema().HasField(record.Nodes):
		units = nn.Gaussian
	case of == sinks.Pairs && rows.Schema().HasField(record.Edges): // a 1 for every edge is binary
		x, _, err := record.FixedValues[float32](rows, record.Edges)
		if err != nil {
			return nil, err
		}
		for _, x := range x {
			if x != 0 && x != 1 {
				units = nn.Gaussian
			}
		}
	}
	var coder nn.Encoder = &nn.RBM{Units: units, Hidden: hidden, Rate: 0.05, Seed: j.seed}
	if j.pretrain == "autoencoder" {
		coder = &nn.Autoencoder{Units: units, Hidden: hidden, Seed: j.seed}
	}
	return coder, rowsOf(rows).Via(operators.Replay{Epochs: 10, Seed: j.seed, Rows: 64}).To(sinks.Pretrain{Net: coder, Of: of, Batch: 100}).Run(ctx)
}

// patience is the number of epochs without a better score that ends a training; 0 = none. After an early
// end the last score repeats.
func (j training) patience(net nn.Model) int {
	if nn.HoldsOut(net) && !j.whole {
		return heldPatience
	}
	return 0
}

// newNet is the model of the kind. As in the paper there is no dropout on graphs without attributes, the
// social networks.
func (j training) newNet(degree bool) nn.Model {
	dropout := 0.0 // the default
	if degree {
		dropout = -1
	}
	switch j.kind {
	case best, bestAlone:
		return newBest(j.kind, j.workers)
	case "pslr":
		return &nn.PSLR{Workers: j.workers}
	case "gru":
		return &nn.GRU{Seed: j.seed, Dropout: dropout, Workers: j.workers}
	}
	return &nn.CNN{Seed: j.seed, Dropout: dropout, Workers: j.workers}
}

// newBest returns a model of the kind best or bestAlone.
func newBest(kind string, workers int) *nn.Logistic {
	m := nn.Best()
	m.Workers = workers
	if kind == bestAlone {
		m.Heads = 1
	}
	return m
}

// atOnce returns the number of trainings on f that take about 4 GiB together. A training holds the rows
// twice, and a weight of words takes 8 bytes.
func (f *fields) atOnce(kind string, classes int) int {
	bytes := 2 * util.TotalRecordSize(f.record)
	if kind == best || kind == bestAlone {
		m := newBest(kind, 1)
		bytes += 8 * int64(min(m.Width*m.Heads*classes, 1<<26))
	}
	return int(max(1, 4<<30/max(1, bytes)))
}

// fold holds copies of the rows of a split, in its order. valid is nil without Valid.
type fold struct {
	train, test, valid arrow.Record
	// scale is the scaling of the continuous node channels of all parts, by the moments of train alone. It
	// is nil without such channels.
	scale *operators.Standardize
}

// newFold copies the rows of a split. The caller releases the fold.
func newFold(ctx context.Context, rec arrow.Record, s validation.Split) (f *fold, err error) {
	f = new(fold)
	for _, part := range []struct {
		to   *arrow.Record
		rows []int32
	}{{&f.train, s.Train}, {&f.test, s.Test}, {&f.valid, s.Valid}} {
		if part.to == &f.valid && part.rows == nil {
			continue
		}
		refs := make([]record.Ref, len(part.rows))
		for i, row := range part.rows {
			refs[i].Row = row
		}
		if *part.to, err = record.Take(memory.DefaultAllocator, []arrow.Record{rec}, refs); err == nil {
			err = f.scaled(ctx, part.to)
		}
		if err != nil {
			f.release()
			return nil, err
		}
	}
	return f, nil
}

// scaled replaces a record by one with scaled channels. The first record sets the moments.
func (f *fold) scaled(ctx context.Context, rec *arrow.Record) (err error) {
	if !(*rec).Schema().HasField(record.Nodes) {
		return nil
	}
	if f.scale == nil {
		scale, err := operators.StandardizeOf(*rec)
		if err != nil {
			return err
		}
		f.scale = &scale
	}
	return replace(ctx, rec, rowsOf(*rec).Via(*f.scale))
}

// replace replaces a record by the one that a pipeline makes of it.
func replace(ctx context.Context, rec *arrow.Record, by flow.Pipeline) error {
	var out sinks.Collect
	defer out.Release()
	if err := by.To(&out).Run(ctx); err != nil {
		return err
	}
	(*rec).Release()
	*rec = out.Records()[0]
	(*rec).Retain()
	return nil
}

func (f *fold) release() {
	for _, rec := range []arrow.Record{f.train, f.test, f.valid} {
		if rec != nil {
			rec.Release()
		}
	}
}

// fit trains a model on train and tests it after each epoch. valid, if there is one, decides when to stop;
// else a model that holds rows out stops by them. After an early end the last score repeats. All of it
// runs on one goroutine, since trials run in parallel.
func (f *fold) fit(ctx context.Context, o *outcome, fit sinks.Fit) error {
	valid := rowsOf(f.test)
	var tests []score
	if f.valid != nil {
		valid = rowsOf(f.valid)
		fit.OnEpoch = func(e sinks.Epoch) error {
			s := score{HeldOut: e.Score, Valid: e.Value, ValidCorrect: e.Valid.Correct}
			if err := s.ask(ctx, fit.Net, fit.Measure, f.test); err != nil {
				return fmt.Errorf("test rows: %w", err)
			}
			tests = append(tests, s)
			return nil
		}
	}
	fit.Valid, fit.Last, fit.HeldOut = &valid, true, f.valid == nil && nn.HoldsOut(fit.Net)
	done, err := fit.Run(ctx, rowsOf(f.train))
	for i := 0; i < fit.Epochs && len(done.Epochs) > 0; i++ {
		n := min(i, len(done.Epochs)-1)
		e := done.Epochs[n]
		s := score{Correct: e.Valid.Correct, Loss: e.Valid.Loss * float64(e.Valid.Rows), HeldOut: e.Train.Loss, Value: e.Value}
		if f.valid != nil && n < len(tests) {
			s = tests[n]
		}
		if o.curve = append(o.curve, s); i == n {
			o.examples += e.Train.Rows
			o.seconds += e.Took.Seconds()
		}
	}
	return err
}

// ask tests a trained model on test, and on valid if there is one.
func (f *fold) ask(ctx context.Context, net nn.Predictor, measure validation.Measure) (s score, err error) {
	if f.valid != nil {
		if err := s.ask(ctx, net, measure, f.valid); err != nil {
			return s, err
		}
		s = score{ValidCorrect: s.Correct, HeldOut: s.Loss / float64(f.valid.NumRows()), Valid: s.Value}
	}
	return s, s.ask(ctx, net, measure, f.test)
}

// ask sets the scores on test rows. The loss is −log p of the class of a row, p at least 2⁻²⁰, summed over
// the rows.
func (s *score) ask(ctx context.Context, net nn.Predictor, measure validation.Measure, rec arrow.Record) error {
	var answers sinks.Answers
	err := rowsOf(rec).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
		if p.Target >= 0 && p.Target < len(p.Probs) {
			s.Loss -= math.Log(max(0x1p-20, float64(p.Probs[p.Target])))
		}
		if p.Target == p.Class {
			s.Correct++
		}
		return answers.Add(p)
	}}).Run(ctx)
	if err == nil && measure != "" {
		s.Value, err = measure.Of(&answers.Answers)
	}
	return err
}

// rowsOf is a pipeline of a record, on one goroutine.
func rowsOf(rec arrow.Record) flow.Pipeline {
	return flow.From(flow.Records{Records: []arrow.Record{rec}}).With(flow.Options{Workers: 1})
}

// majority answers with the largest class of the training rows, the lowest of equals. It returns the
// number of correct test rows.
func majority(d *collection, s validation.Split) (right int) {
	count, largest := map[int32]int{}, int32(0)
	for i, row := range s.Train {
		c := d.Class[row]
		count[c]++
		if n := count[c] - count[largest]; i == 0 || n > 0 || n == 0 && c < largest {
			largest = c
		}
	}
	for _, row := range s.Test {
		if len(s.Train) > 0 && d.Class[row] == largest {
			right++
		}
	}
	return right
}

// sizeOnly answers by a vote of the √n training graphs with the nearest numbers of nodes: the accuracy
// without structure. Graphs as near as the last of them vote too, and a tie goes to the lower class. It
// returns the number of correct test rows.
func sizeOnly(d *collection, s validation.Split) (right int) {
	near := max(1, int(math.Sqrt(float64(len(s.Train)))))
	distance := make([]int, len(s.Train))
	votes := make([]int, len(d.Layout.Classes))
	for _, row := range s.Test {
		for i, t := range s.Train {
			distance[i] = d.Sizes[t] - d.Sizes[row]
			distance[i] = max(distance[i], -distance[i])
		}
		sorted := slices.Sorted(slices.Values(distance))
		limit := sorted[near-1]
		clear(votes)
		for i, t := range s.Train {
			if distance[i] <= limit {
				votes[d.Class[t]]++
			}
		}
		if slices.Index(votes, slices.Max(votes)) == int(d.Class[row]) {
			right++
		}
	}
	return right
}
