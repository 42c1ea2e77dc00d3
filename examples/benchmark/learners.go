package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// baseline is a system without choices. right returns the number of test rows that it classifies
// correctly.
func baseline(name, about string, right func(*collection, validation.Split) int) *system {
	return &system{name: name, about: about, variants: 1, fixed: true, identity: about, plan: func(_ context.Context, _ *config, d *collection) (*plan, error) {
		return &plan{
			learn: func(_ context.Context, t trial) ([]score, error) {
				return []score{{Correct: right(d, t.Split)}}, nil
			},
		}, nil
	}}
}

// variant is a kernel among which a system chooses.
type variant struct {
	name     string
	identity string // describes the kernel in full: it is part of the identity of a cell
	gram     func(context.Context, *kernels) (*graphkernel.Gram, error)
}

// bothWays returns the kernels that compare counts by their cosine and by their minima.
func bothWays(name string, of count.Counter) (all []variant) {
	for _, by := range []nn.Similarity{nn.Cosine, nn.Min} {
		all = append(all, variant{strings.TrimPrefix(name+", "+string(by), ", "), fmt.Sprintf("%v: %s", of, by), func(ctx context.Context, k *kernels) (*graphkernel.Gram, error) {
			counts, err := k.count(ctx, of)
			if err != nil {
				return nil, err
			}
			return graphkernel.GramOf(ctx, counts, by, k.workers)
		}})
	}
	return all
}

// vectors returns the kernel that compares graphs by sums of vectors of size numbers, learned from the contexts of the counted words.
func vectors(name string, of count.Counter, size int) variant {
	return variant{name, fmt.Sprintf("unit vectors of %d numbers of %v", size, of), func(ctx context.Context, k *kernels) (*graphkernel.Gram, error) {
		counts, err := k.count(ctx, of)
		if err != nil {
			return nil, err
		}
		contexts, err := k.contexts(ctx, of)
		if err != nil {
			return nil, err
		}
		vectors := newSkipGram(contexts, size, k.seed, k.workers)
		if err := vectors.learn(ctx); err != nil {
			return nil, err
		}
		vectors.centre()
		return vectors.gram(ctx, counts)
	}}
}

// walks returns the kernel of common random walks. It does not exist where the sum over walks diverges at the decay.
func walks(decay float64) variant {
	return variant{fmt.Sprintf("decay %g", decay), fmt.Sprintf("walks: decay %g", decay), func(ctx context.Context, k *kernels) (*graphkernel.Gram, error) {
		var all []*walkGraph
		err := eachGraph(ctx, k.graphs, func(g *graph.Graph) error {
			w, err := newWalkGraph(g)
			all = append(all, w)
			return err
		})
		if err != nil {
			return nil, err
		}
		return walkGram(ctx, all, decay, k.workers)
	}}
}

// mostCompared is the largest number of graphs of a kernel. The matrix of all pairs takes 8 bytes a pair;
// wl on 20 000 graphs had a peak of 24 bytes a pair, 9.5 GB.
const mostCompared = 28_000

// costs are the values of C that a support vector machine chooses among.
var costs = []float64{1e-3, 1e-2, 1e-1, 1, 10, 100, 1000}

// kernel is a support vector machine on one of some kernels. Each matrix is scaled to a diagonal of ones,
// so that a C means the same for all of them.
func kernel(name, about string, all []variant) *system {
	identity := fmt.Sprintf("svm 3, C %g:", costs) // 3: the bound on steps follows the cost of a step
	for _, v := range all {
		identity += " " + v.identity + ";"
	}
	return &system{name: name, about: about, variants: len(all), identity: identity, plan: func(_ context.Context, c *config, d *collection) (*plan, error) {
		if n := len(d.Class); n > mostCompared {
			return nil, fmt.Errorf("a kernel compares all pairs of graphs, %.1f GB for %d graphs, want at most %d graphs; %s, online, k5 and k10 compare none", 8e-9*float64(n)*float64(n), n, mostCompared, best)
		}
		k := &kernels{graphs: d.Records(), seed: c.seed, workers: c.workers}
		var gram *graphkernel.Gram                  // one at a time is in memory
		bounded := make([]atomic.Int64, len(costs)) // trials whose search for a C ended at the bound of steps
		return &plan{
			prepare: func(ctx context.Context, v int) (err error) {
				gram = nil
				if gram, err = all[v].gram(ctx, k); err != nil {
					return fmt.Errorf("%s: %w", all[v].identity, err)
				}
				gram.Normalize()
				return gram.Check()
			},
			learn: func(ctx context.Context, t trial) (all []score, err error) {
				right, loss, fits, err := graphkernel.SVM{}.Path(ctx, gram, d.Class, costs, t.Split)
				for i := range right {
					if all = append(all, score{Correct: right[i], Loss: loss[i]}); i >= fits {
						bounded[i].Add(1)
					}
				}
				return all, err
			},
			bounded: func(missing int) string {
				var list []string
				for i, cost := range costs {
					if n := bounded[i].Load(); n > 0 {
						list = append(list, fmt.Sprintf("C %g: %d", cost, n))
					}
				}
				if list == nil {
					return ""
				}
				return fmt.Sprintf("of %d searches for each C these ended at the bound of steps, and score as the C before: %s", 2*c.folds*c.repeats*(len(all)-missing), strings.Join(list, ", "))
			},
			chosen:  func(v, step int) string { return fmt.Sprintf("%s, C %g", all[v].name, costs[step]) },
			missing: func(v int) string { return all[v].name + " diverges" },
		}, nil
	}}
}

// kernels is the graphs of which variants compute matrices, one at a time.
type kernels struct {
	graphs  []arrow.Record
	seed    uint64 // of learned vectors
	workers int

	counted string // what counts holds
	counts  *nn.Counts
}

// count returns the counts of all graphs. It keeps the last ones, for the next variant.
func (k *kernels) count(ctx context.Context, of count.Counter) (*nn.Counts, error) {
	if k.counts != nil && k.counted == of.String() {
		return k.counts, nil
	}
	var out sinks.Collect
	defer out.Release()
	if err := flow.From(flow.Records{Records: k.graphs}).With(flow.Options{Workers: k.workers}).Via(operators.Count{Of: []count.Counter{of}, DropGraph: true}).To(&out).Run(ctx); err != nil {
		return nil, err
	}
	k.counted, k.counts = of.String(), new(nn.Counts)
	for _, rec := range out.Records() {
		counts, err := sinks.CountsOf(rec)
		if err != nil {
			return nil, err
		}
		for row := range counts.Len() {
			k.counts.Append(counts.Row(row))
		}
	}
	return k.counts, nil
}

// contexts returns lists of ids of words that occur near each other in a graph.
func (k *kernels) contexts(ctx context.Context, of count.Counter) (lists [][]uint64, err error) {
	w, err := count.Prepare(of)
	if err != nil {
		return nil, err
	}
	err = eachGraph(ctx, k.graphs, func(g *graph.Graph) error {
		return w.(count.Contexter).Contexts(count.Input{Graph: g, Context: ctx}, func(ids []uint64) {
			lists = append(lists, slices.Sorted(slices.Values(ids)))
		})
	})
	return lists, err
}

func graphsOf(c *config, d *collection) flow.Pipeline {
	return flow.From(sources.Records{Records: d.Records()}).With(flow.Options{Workers: c.workers})
}

// networkOf is a network of the paper. Its epochs and its batch size are chosen.
type networkOf struct {
	k     int
	kind  string
	edges bool
}

func network(name, about string, of networkOf) *system {
	return &system{name: name, about: about, variants: len(batchSizes), trains: of.kind, seeded: true, identity: fmt.Sprintf("%+v, batches %v", of, batchSizes), plan: func(ctx context.Context, c *config, d *collection) (*plan, error) {
		return trained(ctx, c, d, of.kind, making{k: of.k, selecting: labeling.Betweenness, normal: labeling.WL, edges: of.edges}, batchSizes)
	}}
}

// bag is logistic regression on words. Its epochs are chosen.
func bag(name, about, kind string, words []count.Counter) *system {
	return &system{name: name, about: about, variants: 1, heldOut: kind == best, byLoss: kind != best, trains: kind, seeded: true, identity: fmt.Sprintf("words: %v", words), plan: func(ctx context.Context, c *config, d *collection) (*plan, error) {
		return trained(ctx, c, d, kind, making{count: words}, []int{32})
	}}
}

// grown is trees on the words of best, alone, or in the mean with best, which stops as it does alone.
func grown(name, about string, of trees.Model, with bool) *system {
	words := count.Standard()
	return &system{name: name, about: about, variants: 1, fixed: true, seeded: true, identity: fmt.Sprintf("trees 2, words: %v", words), plan: func(ctx context.Context, c *config, d *collection) (*plan, error) {
		f, err := makeFields(ctx, c, d, making{count: words})
		if err != nil {
			return nil, err
		}
		return &plan{
			atOnce: f.atOnce(best, len(d.Layout.Classes)),
			learn: func(ctx context.Context, t trial) ([]score, error) {
				rows, err := newFold(ctx, f.record, t.Split)
				if err != nil {
					return nil, err
				}
				defer rows.release()
				model := of
				model.Seed, model.Workers = c.seedOf(t), c.workers
				if _, err := sinks.FitTrees(ctx, &model, rowsOf(rows.train), nil); err != nil {
					return nil, err
				}
				both := &nn.Ensemble{Nets: []nn.Predictor{&model}}
				if with {
					linear := nn.Best()
					fit := sinks.Fit{Net: linear, Epochs: maxEpochs(best, len(d.Class)), Patience: heldPatience, Seed: c.seedOf(t), Measure: c.score}
					if rows.valid != nil {
						valid := rowsOf(rows.valid)
						fit.Valid = &valid
					}
					if _, err := fit.Run(ctx, rowsOf(rows.train)); err != nil {
						return nil, err
					}
					both.Nets = append(both.Nets, linear)
				}
				s, err := rows.ask(ctx, both, c.score)
				return []score{s}, err
			},
			release: f.release,
		}, nil
	}}
}

// chooser is the choice of sanflow train: validation graphs choose one of the systems of package choose.
// They are those of the split, or a sixth of the training graphs.
func chooser(name, about string) *system {
	return &system{name: name, about: about, variants: 1, fixed: true, seeded: true, identity: "choose 2", plan: func(_ context.Context, c *config, d *collection) (*plan, error) {
		all, err := joined(d.Records())
		if err != nil {
			return nil, err
		}
		return &plan{
			learn: func(ctx context.Context, t trial) ([]score, error) {
				if t.Valid == nil {
					folds, err := validation.Folds(t.Train, d.Class, 6, rand.New(rand.NewPCG(c.seed, uint64(t.fold))))
					if err != nil {
						return nil, err
					}
					t.Train, t.Valid = folds[0].Train, folds[0].Test
				}
				rows, err := newFold(ctx, all, t.Split)
				if err != nil {
					return nil, err
				}
				defer rows.release()
				of := func(rec arrow.Record) choose.Rows {
					return choose.GraphRows(flow.Records{Records: []arrow.Record{rec}})
				}
				chosen, err := choose.Choice{
					Systems: choose.Graphs(d.Layout, d.Nodes), Classes: d.Layout.Classes, Train: of(rows.train), Valid: of(rows.valid), Measure: c.score, Seed: c.seed, Workers: 1,
				}.Run(ctx)
				if err != nil {
					return nil, err
				}
				for _, part := range []*arrow.Record{&rows.valid, &rows.test} {
					if err := replace(ctx, part, of(*part)(chosen.Recipe).Via(operators.Batch{Size: int((*part).NumRows())}).With(flow.Options{Workers: 1})); err != nil {
						return nil, err
					}
				}
				s, err := rows.ask(ctx, chosen.Net, c.score)
				return []score{s}, err
			},
			release: all.Release,
		}, nil
	}}
}

// trainingOf is the settings of a model that learns by epochs.
func trainingOf(kind string, d *collection) training {
	return training{kind: kind, pretrain: "none", epochs: maxEpochs(kind, len(d.Class)), workers: 1}
}

// trained is the plan of a model that learns by epochs, in batches of a size to be chosen.
func trained(ctx context.Context, c *config, d *collection, kind string, m making, batches []int) (*plan, error) {
	f, err := makeFields(ctx, c, d, m)
	if err != nil {
		return nil, err
	}
	return &plan{
		atOnce: f.atOnce(kind, len(d.Layout.Classes)),
		learn: func(ctx context.Context, t trial) ([]score, error) {
			j := trainingOf(kind, d)
			j.Split, j.batch, j.seed, j.measure = t.Split, batches[t.variant], c.seedOf(t), c.score
			o, err := j.learn(ctx, f)
			if err != nil {
				return nil, err
			}
			return o.curve, nil
		},
		chosen: func(v, step int) string {
			if len(batches) == 1 {
				return fmt.Sprintf("epoch %d", step+1)
			}
			return fmt.Sprintf("batch %d, epoch %d", batches[v], step+1)
		},
		release: f.release,
	}, nil
}

// seedOf is the seed of the weights of a trial. It is equal for all systems.
func (c *config) seedOf(t trial) uint64 {
	inner := uint64(0)
	if t.inner {
		inner = 1
	}
	return validation.Seed(c.seed, 2, inner, uint64(t.fold), uint64(t.variant))
}

// online is logistic regression that learns from a stream of counts. The height of the colours and the
// epochs are chosen.
func online(name, about string, width int) *system {
	heights := []int{1, 2, 3, 4}
	const epochs = 20
	return &system{name: name, about: about, variants: len(heights), seeded: true, identity: fmt.Sprintf("training %d, width %d, heights %v, %d epochs", revision, width, heights, epochs), plan: func(_ context.Context, c *config, d *collection) (*plan, error) {
		var f *fields
		release := func() {
			if f != nil {
				f.release()
			}
		}
		return &plan{
			prepare: func(ctx context.Context, v int) (err error) {
				release()
				f, err = makeFields(ctx, c, d, making{count: []count.Counter{count.WL{Height: heights[v]}}})
				return err
			},
			learn: func(ctx context.Context, t trial) ([]score, error) {
				rows, err := newFold(ctx, f.record, t.Split)
				if err != nil {
					return nil, err
				}
				defer rows.release()
				o := new(outcome)
				err = rows.fit(ctx, o, sinks.Fit{Net: &nn.Logistic{Width: width}, Epochs: epochs, Seed: c.seedOf(t), Measure: c.score})
				return o.curve, err
			},
			chosen:  func(v, step int) string { return fmt.Sprintf("height %d, epoch %d", heights[v], step+1) },
			release: release,
		}, nil
	}}
}
