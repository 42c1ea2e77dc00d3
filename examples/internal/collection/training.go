package collection

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// Training is one training: the network sees the rows of Train, epoch by epoch, and
// is tested on those of Test after each, and of Valid if there are any.
type Training struct {
	validation.Split
	Epochs, Batch int
	// Whole keeps a model that holds graphs out from stopping by what it says of them;
	// where it stops, the curve goes on with the last score.
	Whole    bool
	Seed     uint64
	Measure  validation.Measure // scores epochs, if the split has Valid, and tests; "" = the loss
	Kind     string             // of the model: cnn, pslr or gru, or best where Count was made
	Pretrain string             // what teaches its first layer: rbm, autoencoder or none
	Workers  int                // of the model

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
	nn.Saver
}

// HeldPatience is how many epochs without a lower loss of the graphs that a model
// holds out end its training.
const HeldPatience = 10

// Outcome is what came of a Training.
type Outcome struct {
	Curve    []validation.Score // one per epoch, with the loss summed over the rows
	Net      Net
	Scale    *operators.Standardize
	Examples int
	Seconds  float64 // in training, tests not counted
}

// Learn trains a new network. What comes of it is a function of the fields and the
// Training alone.
func (j Training) Learn(ctx context.Context, f *Fields) (*Outcome, error) {
	fold, err := sinks.NewFold(ctx, []arrow.Record{f.Record}, j.Split)
	if err != nil {
		return nil, err
	}
	defer fold.Release()
	o := &Outcome{Net: j.newNet(f), Scale: fold.Scale}
	if j.Pretrain != "none" {
		if err := (sinks.FirstLayer{Encoder: j.coder, Seed: j.Seed}).Teach(ctx, o.Net.(*nn.CNN), fold.Train); err != nil {
			return nil, fmt.Errorf("-pretrain: %w", err)
		}
	}
	fit, err := fold.Fit(ctx, sinks.Fit{
		Net: o.Net, Measure: j.Measure, Epochs: j.Epochs, Batch: j.Batch, Seed: j.Seed, Patience: j.patience(o.Net),
		OnEpoch:    func(sinks.Epoch) error { j.OnEpoch(); return nil },
		Checkpoint: j.Checkpoint,
	})
	o.Curve = fit.Scores(j.Epochs)
	for _, e := range fit.Epochs {
		o.Examples += e.Train.Rows
		o.Seconds += e.Took.Seconds()
	}
	for n := len(fit.Epochs); err == nil && n < j.Epochs; n++ {
		j.OnEpoch()
	}
	return o, err
}

// coder is what -pretrain names.
func (j Training) coder(units nn.Units, hidden int) nn.Encoder {
	if j.Pretrain == "autoencoder" {
		return &nn.Autoencoder{Units: units, Hidden: hidden, Seed: j.Seed}
	}
	return &nn.RBM{Units: units, Hidden: hidden, Rate: 0.05, Seed: j.Seed}
}

// patience is how many epochs without a better score end the training; 0 = all are made.
func (j Training) patience(net Net) int {
	if nn.HoldsOut(net) && !j.Whole {
		return HeldPatience
	}
	return 0
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
