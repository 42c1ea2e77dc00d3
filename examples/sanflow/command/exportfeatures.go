package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// wantsFeatures reports whether -features is set. The flags of export are then those of predict.
func wantsFeatures(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"-features", "--features", "-features=true", "--features=true"}, arg)
	})
}

const featuresUsage = `sanflow export -features writes what a model reads of each graph, node, row or pair as a table, a line each, in the order
of predict: the id, the numbers of the row, the counts of the words that weigh most, strongest first, or the tensors of a network,
which .parquet holds alone. A model that learns from the table alone reads what the model has read, but of a stacked system: it knows
the class of each node that it has learned from, and a line says so.

  sanflow export -features -model people.model -edges payments.csv -nodes people.csv -out features.parquet
`

// exportFeatures writes the table.
func exportFeatures(ctx context.Context, args []string) error {
	c := newAsking(cli.NewCommand("sanflow export -features", featuresUsage))
	f := c.FlagSet
	f.Bool("features", true, "write what a model reads")
	var words int
	cli.Int(f, &words, "words", sinks.MostWords, 1, cli.Many, "most words, those whose contributions to the answers differ most")
	all := f.Bool("all", false, "write all words, also the words that add nothing to the answers")
	f.StringVar(&c.out, "out", "", "file for the table, .parquet, .csv or .jsonl; CSV on standard output where it is not set")
	var to flow.Sink
	check := func() (err error) {
		if *all {
			if slices.Contains(cli.Given(f), "words") {
				return cli.Usage(errors.New("-words and -all are both set"))
			}
			words = -1
		}
		if err := c.reread("export -features"); err != nil {
			return err
		}
		to, err = scoresTo(c.out, c.out, nil)
		return err
	}
	return c.ask(ctx, args, check, func(ctx context.Context) (cli.Result, error) {
		rows, name, ids, err := c.rows(ctx)
		if err != nil {
			return nil, c.in(err)
		}
		p := c.p
		if c.graph != nil {
			if p, err = p.Knowing(c.graph.N(), c.ids); err != nil {
				return nil, c.in(err)
			}
			if p != c.p {
				defer p.Close()
			}
		}
		if n := c.believed(); n > 0 {
			fmt.Fprintf(os.Stderr, "known classes: the model was learned from or chosen by %d of the nodes; the row of a node that it has learned from holds the class of this node, so a model that learns from these rows learns little else: trees and words read no class of the root\n", n)
		}
		list, left, err := p.Words(ctx, rows, c.ids, words)
		if err != nil {
			return nil, c.in(err)
		}
		if left > 0 {
			fmt.Fprintf(os.Stderr, "left out: %d of %d words, which add least to the answers; -words or -all writes more\n", left, left+len(list))
		}
		return nil, rows(p.Recipe()).Via(operators.Batch{Size: 64}).With(flow.Options{Workers: c.workers}).
			Via(sinks.Features{Words: list, IDs: ids, ID: name, Pairs: c.task == "links"}).To(to).Run(ctx)
	})
}

// believed is the number of nodes of the graph that a stacked model has learned from or was chosen by.
func (c *asking) believed() (n int) {
	if _, stacked := operators.Find[operators.Beliefs](c.p.Recipe()); !stacked || c.graph == nil {
		return 0
	}
	known := c.p.Known()
	for v := range int32(c.graph.N()) {
		if known.Learned(sinks.NodeID(c.ids, v)) > 0 {
			n++
		}
	}
	return n
}
