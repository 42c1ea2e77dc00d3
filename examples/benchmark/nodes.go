package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
)

// nodesConfig is the flags of -task nodes.
type nodesConfig struct {
	*command
	data, graph, labels string
	tables              nodeTables
	protocol            string
	systems             string
	score               validation.Measure
	portable            bool
	// Of the stream.
	k, epochs, batch, window int
	rate                     float64
}

const nodesUsage = `classifies the nodes of one large graph, by a split or as a stream in which each node is
predicted before it is learned from. The default is a generated graph of communities.

  benchmark -task nodes                                         communities, generated
  benchmark -task nodes -data Cora.zip                          the split of the file
  benchmark -task nodes -data Cora.zip -protocol prequential
  benchmark -task nodes -graph polblogs.edges.gz -labels polblogs.labels.gz
  benchmark -task nodes -edges tolokers-edges.csv.gz -source source -target target \
    -nodes tolokers-nodes.csv.gz -id id -class class -parts part0,part1 -score auc

Protocol split: the systems of sanflow train learn from the training nodes, the validation nodes choose
one and its settings, and the test nodes are looked at once, at the end. Data without a split are dealt by
the seed, two thirds, a sixth and a sixth of the nodes with a class; without a validation part a sixth of
the training nodes becomes one. Of tables, -parts names columns with a split each, and the figures are means over
them. Protocol prequential: all nodes arrive once, in an order that the seed
decides; each is predicted before a network on receptive fields learns from it.

The graph and the attributes of all nodes are known from the start; classes are not.`

func nodesTask(ctx context.Context, args []string) error {
	c := &nodesConfig{command: newCommand(nodesUsage)}
	f := c.FlagSet
	f.StringVar(&c.data, "data", "", "zip or directory with edges.txt, labels.txt and maybe features.txt and split.txt, or its name in $SANFLOW_DATA/nodes")
	f.StringVar(&c.graph, "graph", "", "edge list, in place of -data; maybe packed by gzip")
	f.StringVar(&c.labels, "labels", "", "classes of the nodes of -graph, \"node class\" a line; maybe packed by gzip")
	c.tables.flags(f)
	f.StringVar(&c.protocol, "protocol", "split", "split or prequential")
	f.StringVar(&c.systems, "systems", "", "split: comma-separated systems of sanflow train to choose from, in place of all")
	cli.Score(f, &c.score, "split: what systems and their epochs are chosen by on the validation nodes, and is reported; without it the accuracy")
	f.BoolVar(&c.portable, "portable", false, "split: choose among models that also answer about other graphs, as sanflow train -portable")
	cli.K(f, &c.k, "prequential: ")
	cli.Int(f, &c.epochs, "epochs", 4, 1, cli.Many, "prequential: steps per batch, those after the first with nodes seen before")
	cli.Int(f, &c.batch, "batch", 8, 1, cli.Many, "prequential: nodes per step")
	cli.Float(f, &c.rate, "rate", 0.01, 0, 10, "prequential: learning rate")
	cli.Int(f, &c.window, "window", 0, 0, cli.Many, "prequential: nodes per window of the curve, rounded up to whole batches; 0 = a fiftieth of the stream")
	if err := c.parse(args); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.Run(ctx, c.learn)
}

func (c *nodesConfig) check() error {
	if err := c.tables.check(c.FlagSet, c.data+c.graph+c.labels != "", c.protocol); err != nil {
		return err
	}
	switch {
	case c.data != "" && (c.graph != "" || c.labels != ""):
		return errors.New("-data and -graph or -labels are both set, want one")
	case c.graph != "" && c.labels == "":
		return errors.New("-graph is set without -labels")
	case c.protocol != "split" && c.protocol != "prequential":
		return fmt.Errorf("-protocol is %q, want split or prequential", c.protocol)
	}
	other, names := "split", []string{"systems", "score", "portable"}
	if c.protocol == "split" {
		other, names = "prequential", []string{"k", "epochs", "batch", "rate", "window"}
	}
	for _, name := range cli.Given(c.FlagSet) {
		if slices.Contains(names, name) {
			return fmt.Errorf("-%s is of -protocol %s", name, other)
		}
	}
	return cli.CheckScore(c.score, false)
}

func (c *nodesConfig) learn(ctx context.Context) (cli.Result, error) {
	start := time.Now()
	columns := c.tables.columns()
	d, err := c.load(ctx, columns[0])
	if err != nil {
		return nil, err
	}
	r := newNodesReport(c, d)
	if c.protocol == "prequential" {
		err = r.prequential(ctx, c, d)
		r.close(start)
		return r, err
	}
	for i, column := range columns {
		if i > 0 {
			if d, err = c.load(ctx, column); err != nil {
				return nil, err
			}
		}
		if err := r.bySplit(ctx, c, d, column); err != nil {
			return nil, err
		}
	}
	r.close(start)
	return r, nil
}

// bySplit learns from the training nodes, chooses by the validation nodes, and asks about
// the test nodes once.
func (r *nodesReport) bySplit(ctx context.Context, c *nodesConfig, d *nodeParts, column string) (err error) {
	systems := choose.Nodes(d.NodeSet, len(d.train))
	if c.systems != "" {
		if systems, err = choose.Pick(systems, strings.Split(c.systems, ",")); err != nil {
			return cli.Usage(fmt.Errorf("-systems: %w", err))
		}
	}
	bar := cli.Stages()
	defer bar("", 0, 0)
	chosen, err := choose.Choice{
		Systems: systems, Classes: d.Classes, Train: choose.NodeRows(d.NodeSet, d.train), Valid: choose.NodeRows(d.NodeSet, d.val),
		Measure: c.score, Portable: c.portable, Seed: c.seed, Workers: c.workers,
		Progress: func(system string, done, total int) {
			bar(strings.TrimPrefix(column+": "+system, ": "), int64(done), int64(total))
		},
	}.Run(ctx)
	if err != nil {
		return err
	}
	p, err := sinks.NewPredictor(chosen.Net, chosen.Recipe)
	if err != nil {
		return err
	}
	defer p.Close()
	m, err := choose.Test(ctx, p, d.Graph, d.IDs, choose.NodeRows(d.NodeSet, d.test), "", c.workers)
	if err != nil {
		return err
	}
	one := nodesSplit{Name: column, Model: chosen.System, Accuracy: m.Accuracy(), Systems: chosen.Tried, Scored: cli.NewScored(c.score, m.By, nil)}
	for i := range one.Systems {
		t := &one.Systems[i]
		t.Score *= cli.ScoreUnit(c.score) // of none 1
		if t.Name == chosen.System {
			if one.Took, one.ValidationValue = t.Took, &t.Score; c.score == "" {
				one.ValidationValue, one.ValAccuracy = nil, t.Score
			}
		}
	}
	r.Splits = append(r.Splits, one)
	return nil
}

// prequential lets all nodes with a class come in batches. A network predicts each batch before it learns
// from it, then learns from as many nodes drawn from all that have come.
func (r *nodesReport) prequential(ctx context.Context, c *nodesConfig, d *nodeParts) error {
	n := len(d.test)
	p := flow.From(d.NodeSet).Via(operators.Roots{Nodes: d.test}).Via(operators.Chunk{Size: 256}).
		Via(operators.Assemble{K: c.k}).Via(operators.Normalize{Distances: 3}).Via(operators.PerRoot{}).With(flow.Options{Workers: c.workers})
	start, all := time.Now(), new(sinks.Collect)
	defer all.Release()
	if _, err := cli.Run(ctx, p.Via(operators.Batch{Size: n}).To(all), "receptive fields", int64(n), cli.Last); err != nil {
		return err
	}
	rows := all.Records()[0]
	if r.Window = c.window; r.Window == 0 {
		r.Window = n / 50
	}
	// A window is some whole batches.
	r.Window = max(1, (r.Window+c.batch-1)/c.batch) * c.batch
	right, was, from := 0, 0, 0 // was and from: right and rows when the window began
	var said *sinks.Probabilities
	at := 0 // rows of a batch that the network has been asked about
	net := &nn.Pooled{Maps: max(64, 4*len(d.Classes)), Seed: newRand(c.seed, streamNets).Uint64(), Optimizer: nn.Adam{Rate: c.rate}}
	train, err := sinks.Train{Net: net, OnRow: func(p sinks.Prediction) error {
		if at++; at <= len(said.Target) {
			said.Set(at-1, p)
		}
		return nil
	}}.Open(rows.Schema())
	if err != nil {
		return err
	}
	rng, bar := newRand(c.seed, streamRehearsed), cli.NewProgress("predict, then learn", int64(n))
	defer bar.Done()
	for first := 0; first < n; first += c.batch {
		last := min(n, first+c.batch)
		said = sinks.NewProbabilities(last-first, len(d.Classes))
		for step := range c.epochs {
			refs := make([]record.Ref, last-first)
			for i := range refs {
				if refs[i].Row = int32(first + i); step > 0 {
					refs[i].Row = int32(rng.IntN(last))
				}
			}
			batch, err := record.Take(memory.DefaultAllocator, []arrow.Record{rows}, refs)
			if at = step * len(refs); err == nil {
				err = train.Write(ctx, batch)
			}
			if err != nil {
				return err
			}
			batch.Release()
		}
		right += said.Correct()
		if bar.Add(int64(last - first)); last-from >= r.Window || last == n {
			r.WindowAccuracy = append(r.WindowAccuracy, 100*float64(right-was)/float64(last-from))
			r.Accuracy = 100 * float64(right) / float64(last)
			was, from = right, last
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	r.RootsPerS = float64(n) / time.Since(start).Seconds()
	return nil
}
