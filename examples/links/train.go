package main

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// learn trains models on the pairs of all folds but the first, stops each by
// those of the first, unless it holds pairs out by itself, and returns what they
// think of the test pairs.
func learn(ctx context.Context, c *config, t *trial, recs [3]arrow.Record, seeds interface{ Uint64() uint64 }, bar *cli.Progress) (test, val []scored, epochs []int, err error) {
	train, valid, hidden := recs[0], recs[1], recs[2]
	test, val = blank(t.test), blank(t.folds[0])
	for range c.nets {
		net, at, err := fit(ctx, c, train, valid, t.folds[0], seeds, bar)
		if err != nil {
			return nil, nil, nil, err
		}
		epochs = append(epochs, at)
		if err := ask(ctx, net, valid, val); err != nil {
			return nil, nil, nil, err
		}
		if err := ask(ctx, net, hidden, test); err != nil {
			return nil, nil, nil, err
		}
	}
	return test, val, epochs, nil
}

// blank is the pairs of a fold without a score.
func blank(f fold) []scored {
	s := make([]scored, len(f.pairs))
	for i := range s {
		s[i].link = f.link[i]
	}
	return s
}

// heldPatience is how many epochs without a lower loss of the pairs that a model holds
// out end its training.
const heldPatience = 10

// fit trains one model, and returns it as it was at its best epoch.
func fit(ctx context.Context, c *config, train, valid arrow.Record, pairs fold, seeds interface{ Uint64() uint64 }, bar *cli.Progress) (nn.Model, int, error) {
	net := c.newNet(seeds.Uint64())
	batches := (int(train.NumRows()) + c.batch - 1) / c.batch
	training := sinks.Fit{
		Net: net, Epochs: c.epochs, Batch: c.batch, Seed: seeds.Uint64(),
		Patience: heldPatience,
		OnEpoch:  func(sinks.Epoch) error { bar.Add(1); return nil },
	}
	if !nn.HoldsOut(net) {
		training.Patience = max(3, min(20, 4000/batches))
		training.Test = func(ctx context.Context) (float64, error) {
			score := blank(pairs)
			err := ask(ctx, net, valid, score)
			return -auc(score) - averagePrecision(score), err
		}
	}
	fit, err := training.Run(ctx, inMemory(train))
	return net, fit.Best, err
}

// inMemory is a pipeline of the rows of a record.
func inMemory(rec arrow.Record) flow.Pipeline {
	return flow.From(sources.Records{Records: []arrow.Record{rec}}).
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: 1})
}

// ask adds what a model says of each pair to its score, from both sides where it
// has them.
func ask(ctx context.Context, net nn.Model, rec arrow.Record, pairs []scored) error {
	row := 0
	return inMemory(rec).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
		pairs[row%len(pairs)].score += float64(p.Probs[1])
		row++
		return nil
	}}).Run(ctx)
}

// newNet returns the model that -net names.
func (c *config) newNet(seed uint64) nn.Model {
	if c.net == words {
		m := nn.Best()
		m.Workers, m.Optimizer = c.workers, nn.AdaGrad{Rate: c.rate, Epsilon: 1e-3}
		return m
	}
	opt := nn.Adam{Rate: c.rate, WeightDecay: c.decay}
	if c.net == "link" {
		return &nn.Link{Seed: seed, Optimizer: opt}
	}
	return &nn.Pooled{Seed: seed, Optimizer: opt}
}
