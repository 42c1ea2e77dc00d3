package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// baseline is a system with nothing to choose, that says how many of the test rows
// it has right.
func baseline(name, about string, right func(*collection.Data, validation.Split) int) *system {
	return &system{name: name, about: about, variants: 1, fixed: true, identity: about, plan: func(_ context.Context, _ *config, d *collection.Data) (*plan, error) {
		return &plan{
			learn: func(_ context.Context, t validation.Trial) ([]validation.Score, error) {
				return []validation.Score{{Correct: right(d, t.Split)}}, nil
			},
			chosen: func(int, int) string { return "" },
		}, nil
	}}
}

// variant is one kernel among which a system chooses.
type variant struct {
	name string
	sinks.Kernel
}

// bothWays compares counts as cosines, and by their minima.
func bothWays(name string, of count.Counter) (all []variant) {
	for _, by := range []nn.Similarity{nn.Cosine, nn.Min} {
		all = append(all, variant{strings.TrimPrefix(name+", "+string(by), ", "), sinks.Kernel{Of: of, By: by}})
	}
	return all
}

// mostCompared is how many graphs a kernel compares at most: the matrix of all pairs takes 8
// bytes for each. With 20 000 graphs wl held 9.5 GB at its peak, 24 bytes for each pair.
const mostCompared = 28_000

// costs are the C that a machine chooses among.
var costs = []float64{1e-3, 1e-2, 1e-1, 1, 10, 100, 1000}

// kernel is a support vector machine on one of some kernels, all scaled to a
// diagonal of ones, so that a C means the same for each.
func kernel(name, about string, all []variant) *system {
	identity := fmt.Sprintf("svm 3, C %g:", costs) // 3: steps by the cost of one
	var kernels []sinks.Kernel
	for _, v := range all {
		kernels = append(kernels, v.Kernel)
		identity += fmt.Sprintf(" %v;", v.Kernel)
	}
	return &system{name: name, about: about, variants: len(all), identity: identity, plan: func(_ context.Context, c *config, d *collection.Data) (*plan, error) {
		if n := len(d.Class); n > mostCompared {
			return nil, fmt.Errorf("a kernel compares all pairs of graphs, %.1f GB for %d graphs, want at most %d graphs; %s, online, k5 and k10 compare none", 8e-9*float64(n)*float64(n), n, mostCompared, collection.Best)
		}
		k := &sinks.Kernels{Graphs: graphsOf(c, d), Of: kernels, Seed: c.seed, Workers: c.workers}
		grid := &graphkernel.SVMGrid{Class: d.Class, C: costs, Gram: k.Gram}
		return &plan{
			learn: grid.Learn, prepare: grid.Prepare, bounded: func(missing int) string { return bounded(grid, c, len(all)-missing) },
			chosen:  func(v, step int) string { return fmt.Sprintf("%s, C %g", all[v].name, grid.C[step]) },
			missing: func(v int) string { return all[v].name + " diverges" },
		}, nil
	}}
}

// bounded says how many searches for a C were ended by the bound on their steps.
func bounded(grid *graphkernel.SVMGrid, c *config, variants int) string {
	var list []string
	for i, n := range grid.Bounded() {
		if n > 0 {
			list = append(list, fmt.Sprintf("C %g: %d", grid.C[i], n))
		}
	}
	if list == nil {
		return ""
	}
	return fmt.Sprintf("of %d searches for each C these ended at the bound of steps, and score as the C before: %s", 2*c.folds*c.repeats*variants, strings.Join(list, ", "))
}

func graphsOf(c *config, d *collection.Data) flow.Pipeline {
	return flow.From(sources.Records{Records: d.Graphs.Records()}).With(flow.Options{Workers: c.workers})
}

// networkOf is one of the paper's networks, whose epochs and batch size are chosen.
type networkOf struct {
	k     int
	kind  string
	edges bool
}

func network(name, about string, of networkOf) *system {
	return &system{name: name, about: about, variants: len(collection.Batches), trains: of.kind, seeded: true, identity: fmt.Sprintf("%+v, batches %v", of, collection.Batches), plan: func(ctx context.Context, c *config, d *collection.Data) (*plan, error) {
		return trained(ctx, c, d, of.kind, collection.Making{
			K: of.k, Stride: 1, Select: labeling.Betweenness, Normalize: labeling.WL, Edges: of.edges, Workers: c.workers,
		}, collection.Batches)
	}}
}

// bag is logistic regression on words, whose epochs are chosen.
func bag(name, about, kind string, words []count.Counter) *system {
	held := kind == collection.Best
	return &system{name: name, about: about, variants: 1, heldOut: held, trains: kind, seeded: true, identity: fmt.Sprintf("words: %v", words), plan: func(ctx context.Context, c *config, d *collection.Data) (*plan, error) {
		p, err := trained(ctx, c, d, kind, collection.Making{Count: words, Workers: c.workers}, []int{32})
		if err == nil {
			p.heldOut, p.byLoss = held && c.byHeld() || c.strict(), !held && c.score == ""
		}
		return p, err
	}}
}

// forest is a random forest on the words of best, alone or with best, which stops as it does alone.
func forest(name, about string, with bool) *system {
	words := count.Standard()
	return &system{name: name, about: about, variants: 1, fixed: true, seeded: true, identity: fmt.Sprintf("forest 1, words: %v", words), plan: func(ctx context.Context, c *config, d *collection.Data) (*plan, error) {
		fields, err := d.MakeFields(ctx, collection.Making{Count: words, Workers: c.workers})
		if err != nil {
			return nil, err
		}
		return &plan{
			atOnce: fields.AtOnce(collection.Best, len(d.Layout.Classes)),
			learn: func(ctx context.Context, t validation.Trial) ([]validation.Score, error) {
				fold, err := sinks.NewFold(ctx, []arrow.Record{fields.Record}, t.Split)
				if err != nil {
					return nil, err
				}
				defer fold.Release()
				trees := &nn.Forest{Seed: seedOf(c, t)}
				if err := trees.Init(nn.Shape{Counts: sinks.CountNames(fold.Train.Schema()), Classes: len(d.Layout.Classes)}); err != nil {
					return nil, err
				}
				counts, err := sinks.CountsOf(fold.Train, trees.Shape().Counts...)
				if err != nil {
					return nil, err
				}
				class, err := record.Values[int32](fold.Train, record.Target)
				if err != nil {
					return nil, err
				}
				if err := trees.FitCounts(ctx, counts, class); err != nil {
					return nil, err
				}
				both := &nn.Ensemble{Nets: []nn.Predictor{trees}}
				if with {
					best := nn.Best()
					fit := sinks.Fit{Net: best, Epochs: collection.MaxEpochs(collection.Best, len(d.Class)), Patience: collection.HeldPatience, Seed: seedOf(c, t), Measure: c.score}
					if fold.Valid != nil {
						valid := rowsOf(fold.Valid)
						fit.Valid = &valid
					}
					if _, err := fit.Run(ctx, rowsOf(fold.Train)); err != nil {
						return nil, err
					}
					both.Nets = append(both.Nets, best)
				}
				s, err := fold.Score(ctx, both, c.score)
				return []validation.Score{s}, err
			},
			chosen:   func(int, int) string { return "" },
			measured: true,
			release:  fields.Release,
		}, nil
	}}
}

func rowsOf(rec arrow.Record) flow.Pipeline {
	return flow.From(flow.Records{Records: []arrow.Record{rec}}).With(flow.Options{Workers: 1})
}

// training is what the trials of a model that learns by epochs have in common.
func training(kind string, d *collection.Data) collection.Training {
	return collection.Training{Kind: kind, Pretrain: "none", Epochs: collection.MaxEpochs(kind, len(d.Class)), Workers: 1, OnEpoch: func() {}}
}

// trained is the plan of a model that learns by epochs, in batches of a size to be
// chosen.
func trained(ctx context.Context, c *config, d *collection.Data, kind string, m collection.Making, batches []int) (*plan, error) {
	fields, err := d.MakeFields(ctx, m)
	if err != nil {
		return nil, err
	}
	return &plan{
		atOnce: fields.AtOnce(kind, len(d.Layout.Classes)),
		learn: func(ctx context.Context, t validation.Trial) ([]validation.Score, error) {
			j := training(kind, d)
			j.Split, j.Batch, j.Seed, j.Measure = t.Split, batches[t.Variant], seedOf(c, t), c.score
			o, err := j.Learn(ctx, fields)
			if err != nil {
				return nil, err
			}
			return o.Curve, nil
		},
		chosen: func(v, step int) string {
			if len(batches) == 1 {
				return fmt.Sprintf("epoch %d", step+1)
			}
			return fmt.Sprintf("batch %d, epoch %d", batches[v], step+1)
		},
		release: fields.Release,
		heldOut: c.strict(),
	}, nil
}

// seedOf is the seed of the weights of a trial, the same for all systems.
func seedOf(c *config, t validation.Trial) uint64 {
	inner := uint64(0)
	if t.Inner {
		inner = 1
	}
	return validation.Seed(c.seed, 2, inner, uint64(t.Fold), uint64(t.Variant))
}

// online is logistic regression that learns from a stream of counts, whose height
// and epochs are chosen.
func online(name, about string, width int) *system {
	heights := []int{1, 2, 3, 4}
	const epochs = 20
	return &system{name: name, about: about, variants: len(heights), seeded: true, identity: fmt.Sprintf("training %d, width %d, heights %v, %d epochs", collection.Revision, width, heights, epochs), plan: func(_ context.Context, c *config, d *collection.Data) (*plan, error) {
		var rows *sinks.Collect
		return &plan{
			prepare: func(ctx context.Context, v int) error {
				if rows != nil {
					rows.Release()
				}
				rows = new(sinks.Collect)
				return graphsOf(c, d).Via(operators.Count{Of: []count.Counter{count.WL{Height: heights[v]}}}).To(rows).Run(ctx)
			},
			learn: func(ctx context.Context, t validation.Trial) ([]validation.Score, error) {
				fold, err := sinks.NewFold(ctx, rows.Records(), t.Split)
				if err != nil {
					return nil, err
				}
				defer fold.Release()
				fit, err := fold.Fit(ctx, sinks.Fit{Net: &nn.Logistic{Width: width}, Epochs: epochs, Seed: seedOf(c, t), Measure: c.score})
				return fit.Scores(epochs), err
			},
			heldOut: c.strict(),
			chosen:  func(v, step int) string { return fmt.Sprintf("height %d, epoch %d", heights[v], step+1) },
			release: func() {
				if rows != nil {
					rows.Release()
				}
			},
		}, nil
	}}
}
