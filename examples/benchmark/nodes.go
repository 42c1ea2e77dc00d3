package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
)

// nodesConfig is the flags of -task nodes.
type nodesConfig struct {
	*command
	data     string
	tables   nodeTables
	systems  string
	score    validation.Measure
	portable bool
}

const nodesUsage = `classifies the nodes of one large graph, by a split. The default is a generated graph of communities.

  benchmark -task nodes                                         communities, generated
  benchmark -task nodes -data Cora.zip                          the split of the file
  benchmark -task nodes -edges tolokers-edges.csv.gz -source source -target target \
    -nodes tolokers-nodes.csv.gz -id id -class class -parts part0,part1 -score auc

The systems of sanflow train learn from the training nodes, the validation nodes choose
one and its settings, and the test nodes are looked at once, at the end. Data without a split are dealt by
the seed, two thirds, a sixth and a sixth of the nodes with a class; without a validation part a sixth of
the training nodes becomes one. Of tables, -parts names columns with a split each, and the figures are means over
them.

The graph and the attributes of all nodes are known from the start; classes are not.`

func nodesTask(ctx context.Context, args []string) error {
	c := &nodesConfig{command: newCommand(nodesUsage)}
	f := c.FlagSet
	f.StringVar(&c.data, "data", "", "zip or directory with edges.txt, labels.txt and maybe features.txt and split.txt, or its name in $SANFLOW_DATA/nodes")
	c.tables.flags(f)
	f.StringVar(&c.systems, "systems", "", "comma-separated systems of sanflow train to choose from, in place of all")
	cli.Score(f, &c.score, "what systems and their epochs are chosen by on the validation nodes, and is reported; without it the accuracy")
	f.BoolVar(&c.portable, "portable", false, "choose among models that also answer about other graphs, as sanflow train -portable")
	if err := c.parse(args); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.Run(ctx, c.learn)
}

func (c *nodesConfig) check() error {
	if err := c.tables.check(c.FlagSet, c.data != ""); err != nil {
		return err
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
