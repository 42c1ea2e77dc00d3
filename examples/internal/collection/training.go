package collection

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Training is one training: the network sees the rows of Train, epoch by epoch, and
// is tested on those of Test after each.
type Training struct {
	nn.Split
	Epochs, Batch int
	// Whole keeps a model that holds graphs out from stopping by what it says of them;
	// where it stops, the curve goes on with the last score.
	Whole    bool
	Seed     uint64
	Kind     string // of the model: cnn, pslr or gru, or best where Count was made
	Pretrain string // what teaches its first layer: rbm, autoencoder or none
	Workers  int    // of the model

	Checkpoint sinks.Checkpoint
	OnEpoch    func() // called after each epoch
}

// Batches are the sizes of a batch to choose among.
var Batches = []int{16, 32, 64}

// MaxEpochs is how far the curves reach when the protocol chooses: far enough
// for the accuracy on validation splits to level off. That takes 20 epochs of a
// few steps each on MUTAG and PTC_MR and 30 on IMDB-BINARY; the generated
// collection still gains a little at 50. NCI1 is at its best after 10 to 20
// epochs of a hundred steps each, and the model of words after up to 50, where it is
// not stopped before.
func MaxEpochs(kind string, graphs int) int {
	if kind == Best || kind == BestAlone || graphs <= 2000 {
		return 50
	}
	return 30
}

// Net is a model that learns by steps, and is kept with its recipe.
type Net interface {
	nn.Model
	nn.Noted
}

// heldPatience is how many epochs without a lower loss of the graphs that a model
// holds out end its training.
const heldPatience = 10

// Outcome is what came of a Training.
type Outcome struct {
	Curve    []nn.Score // one per epoch, with the loss summed over the rows
	Net      Net
	Scale    *operators.Standardize
	Examples int
	Seconds  float64 // in training, tests not counted
}

// Learn trains a new network. What comes of it is a function of the fields and the
// Training alone.
func (j Training) Learn(ctx context.Context, f *Fields) (*Outcome, error) {
	train, test, err := Rows([]arrow.Record{f.Record}, j.Split)
	if err != nil {
		return nil, err
	}
	// At the end, since scaling puts others in their place.
	defer func() { train.Release(); test.Release() }()

	o := &Outcome{Net: j.newNet(f)}
	scale, err := scaling(train)
	if err != nil {
		return nil, err
	}
	if scale != nil {
		// The moments are those of the training rows: the test rows have no say.
		for _, rec := range []*arrow.Record{&train, &test} {
			scaled, err := scaled(ctx, *rec, *scale)
			if err != nil {
				return nil, err
			}
			(*rec).Release()
			*rec = scaled
		}
		o.Scale = scale
	}

	if j.Pretrain != "none" {
		if err := j.teach(ctx, o.Net.(*nn.CNN), train); err != nil {
			return nil, err
		}
	}
	valid := InMemory(test)
	fit, err := sinks.Fit{
		Net: o.Net, Epochs: j.Epochs, Batch: j.Batch, Seed: j.Seed,
		Valid: &valid, Last: true, // the protocols choose among all epochs
		HeldOut: nn.HoldsOut(o.Net), Patience: j.patience(o.Net),
		OnEpoch:    func(sinks.Epoch) error { j.OnEpoch(); return nil },
		Checkpoint: j.Checkpoint,
	}.Run(ctx, InMemory(train))
	o.Curve = Curve(fit)
	for _, e := range fit.Epochs {
		o.Examples += e.Train.Rows
		o.Seconds += e.Took.Seconds()
	}
	for n := len(o.Curve); err == nil && n < j.Epochs; n++ {
		o.Curve = append(o.Curve, o.Curve[n-1])
		j.OnEpoch()
	}
	return o, err
}

// Curve returns how the tests of a training came out, with the loss summed over the
// rows.
func Curve(fit sinks.Fitted) (curve []nn.Score) {
	for _, e := range fit.Epochs {
		curve = append(curve, nn.Score{Correct: e.Valid.Correct, Loss: e.Valid.Loss * float64(e.Valid.Rows), HeldOut: e.Train.Loss})
	}
	return curve
}

// patience is how many epochs without a better score end the training; 0 = all are made.
func (j Training) patience(net Net) int {
	if nn.HoldsOut(net) && !j.Whole {
		return heldPatience
	}
	return 0
}

// InMemory is a pipeline that begins with a record, and works on one goroutine:
// it is the jobs that run side by side.
func InMemory(rec arrow.Record) flow.Pipeline {
	return flow.From(sources.Records{Records: []arrow.Record{rec}}).With(flow.Options{Workers: 1})
}

// newNet is the network of the paper, or what else -model-kind names. Like the
// paper it does without dropout on graphs that have no attributes, which are the
// social networks.
func (j Training) newNet(f *Fields) Net {
	dropout := 0.0 // the default
	if f.Degree {
		dropout = -1
	}
	switch j.Kind {
	case Best, BestAlone:
		return newBest(j.Kind, j.Workers)
	case "pslr":
		return &nn.PSLR{Workers: j.Workers}
	case "gru":
		return &nn.GRU{Seed: j.Seed, Dropout: dropout, Workers: j.Workers}
	}
	return &nn.CNN{Seed: j.Seed, Dropout: dropout, Workers: j.Workers}
}

// Rows returns the training and the test rows of a split, numbered over all
// records, as a record each, which the caller releases.
func Rows(recs []arrow.Record, s nn.Split) (train, test arrow.Record, err error) {
	if train, err = take(recs, s.Train); err != nil {
		return nil, nil, err
	}
	if test, err = take(recs, s.Test); err != nil {
		train.Release()
		return nil, nil, err
	}
	return train, test, nil
}

func take(recs []arrow.Record, rows []int32) (arrow.Record, error) {
	refs := make([]record.Ref, len(rows))
	rec, before := 0, int64(0) // rows ascend
	for i, row := range rows {
		for int64(row) >= before+recs[rec].NumRows() {
			before += recs[rec].NumRows()
			rec++
		}
		refs[i] = record.Ref{Record: int32(rec), Row: int32(int64(row) - before)}
	}
	return record.Take(memory.DefaultAllocator, recs, refs)
}

// scaling returns how the continuous channels are to be scaled, or nil where
// there are none.
func scaling(rec arrow.Record) (*operators.Standardize, error) {
	if !rec.Schema().HasField(record.Nodes) {
		return nil, nil
	}
	mean, std, err := operators.NodeMoments(rec)
	return &operators.Standardize{Mean: mean, Std: std}, err
}

func scaled(ctx context.Context, rec arrow.Record, s operators.Standardize) (arrow.Record, error) {
	var out sinks.Collect
	defer out.Release()
	if err := InMemory(rec).Via(s).To(&out).Run(ctx); err != nil {
		return nil, err
	}
	made := out.Records()[0]
	made.Retain()
	return made, nil
}
