package command

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// wantsFeatures reports whether export is asked for what a model reads. Its flags are then those of predict.
func wantsFeatures(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"-features", "--features", "-features=true", "--features=true"}, arg)
	})
}

const featuresUsage = `sanflow export -features writes what a model reads of each graph, node, row or pair as a table, a line each, in the order
of predict: the id, the numbers of the row, the counts of the words that weigh most, strongest first, or the tensors of a network,
which .parquet holds alone. A model that learns from the table alone reads what the model has read.

  sanflow export -features -model people.model -edges payments.csv -nodes people.csv -out features.parquet
`

// exportFeatures writes the table.
func exportFeatures(ctx context.Context, args []string) error {
	c := newAsking(cli.NewCommand("sanflow export -features", featuresUsage))
	f := c.FlagSet
	f.Bool("features", true, "write what a model reads")
	var words int
	cli.Int(f, &words, "words", sinks.MostWords, 1, cli.Many, "most words, those whose contributions to the answers differ most")
	all := f.Bool("all", false, "write all words, those that add nothing too")
	f.StringVar(&c.out, "out", "", "file for the table, .parquet, .csv or .jsonl; CSV on standard output where it is not set")
	if err := c.load(args); err != nil {
		return err
	}
	defer func() { c.p.Close() }()
	defer c.refused.Total()
	if *all {
		words = -1
	}
	if err := c.needsData(); err != nil {
		return err
	}
	if err := c.reread("export -features"); err != nil {
		return err
	}
	to, err := scoresTo(c.out, c.out, nil)
	if err != nil {
		return err
	}
	return c.Run(ctx, func(ctx context.Context) (cli.Result, error) {
		rows, name, ids, err := c.rows(ctx)
		if err != nil {
			return nil, c.in(err)
		}
		p := c.p
		if c.graph != nil {
			if p, err = p.Knowing(c.graph.N(), c.ids); err != nil {
				return nil, c.in(err)
			}
		}
		list, left, err := p.Words(ctx, rows, c.ids, words)
		if err != nil {
			return nil, c.in(err)
		}
		if left > 0 {
			fmt.Fprintf(os.Stderr, "left out: %d of %d words, those that add least to the answers; -words or -all writes more\n", left, left+len(list))
		}
		return nil, rows(p.Recipe()).Via(operators.Batch{Size: 64}).With(flow.Options{Workers: c.workers}).
			Via(sinks.Features{Words: list, IDs: ids, ID: name, Pairs: c.task == "links"}).To(to).Run(ctx)
	})
}
