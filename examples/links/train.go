package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/links"
)

// recipe is how rows of pairs become what the model reads.
func (c *config) recipe() operators.Recipe {
	if c.net == words {
		return operators.Recipe{operators.Count{Of: []count.Counter{count.Pair{}}, DropGraph: true}}
	}
	return operators.Recipe{
		operators.Assemble{K: c.k},
		operators.Normalize{By: c.normal, IgnoreAttributes: true, KeepGraph: true},
		operators.PairLabels{},
	}
}

// rows collects the rows of some folds. Networks read each pair from both sides.
func (c *config) rows(ctx context.Context, r *report, bar *cli.Progress, folds ...links.Fold) (*sinks.Collect, error) {
	start, out := time.Now(), new(sinks.Collect)
	src := links.Rows(c.net != words, folds...)
	err := c.recipe().Onto(flow.From(src)).Via(operators.Batch{Size: 256}).With(flow.Options{Workers: c.workers}).To(out).Run(ctx)
	for i, f := range folds {
		r.roots += len(src.Graphs[i].Roots)
		bar.Add(int64(len(f.Pairs)))
	}
	r.rootSeconds += time.Since(start).Seconds()
	if err != nil {
		out.Release()
	}
	return out, err
}

// again is a pipeline of collected rows.
func again(rows *sinks.Collect) flow.Pipeline {
	return flow.From(sources.Records{Records: rows.Records()}).
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: 1})
}

// scores is what models say of the pairs of a fold, link = 1.
func scores(f links.Fold) *sinks.Probabilities { return sinks.NewProbabilities(len(f.Pairs), 2) }

// learn trains models on the pairs of all folds but the first, stops each by
// those of the first, unless it holds pairs out by itself, and returns what they
// think of the test pairs.
func learn(ctx context.Context, c *config, t *links.Trial, rows [3]*sinks.Collect, rng *rand.Rand, bar *cli.Progress) (test, val *sinks.Probabilities, epochs []int, err error) {
	train, valid, hidden := again(rows[0]), again(rows[1]), again(rows[2])
	test, val = scores(t.Test), scores(t.Folds[0])
	examples := 0
	for _, rec := range rows[0].Records() {
		examples += int(rec.NumRows())
	}
	batches := (examples-1)/c.batch + 1
	for range c.nets {
		net := c.newNet(rng.Uint64())
		fit := sinks.Fit{
			Net: net, Epochs: c.epochs, Batch: c.batch, Seed: rng.Uint64(), Patience: 10,
			OnEpoch: func(sinks.Epoch) error { bar.Add(1); return nil },
		}
		switch {
		case c.score != "":
			fit.Valid, fit.Measure = &valid, c.score
		case !nn.HoldsOut(net):
			fit.Patience = max(3, min(20, 4000/batches))
			fit.Test = func(ctx context.Context) (float64, error) {
				said := scores(t.Folds[0])
				err := valid.To(said.Ask(net)).Run(ctx)
				return -validation.AUC(said.Ranking(1)) - validation.AveragePrecision(said.Ranking(1)), err
			}
		}
		fitted, err := fit.Run(ctx, train)
		if err != nil {
			return nil, nil, nil, err
		}
		epochs = append(epochs, fitted.Best)
		if err := valid.To(val.Ask(net)).Run(ctx); err != nil {
			return nil, nil, nil, err
		}
		if err := hidden.To(test.Ask(net)).Run(ctx); err != nil {
			return nil, nil, nil, err
		}
	}
	return test, val, epochs, nil
}

// newNet returns the model that -model-kind names.
func (c *config) newNet(seed uint64) nn.Model {
	opt := nn.Adam{Rate: c.rate, WeightDecay: c.decay}
	switch c.net {
	case words:
		m := nn.Best()
		m.Workers, m.Optimizer = c.workers, nn.AdaGrad{Rate: c.rate, Epsilon: 1e-3}
		return m
	case "link":
		return &nn.Link{Seed: seed, Optimizer: opt}
	}
	return &nn.Pooled{Seed: seed, Optimizer: opt}
}
