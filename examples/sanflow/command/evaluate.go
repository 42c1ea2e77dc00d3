package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks/choose"
)

func evaluate(ctx context.Context, args []string) error {
	start, c := time.Now(), newAsking(cli.NewCommand("sanflow evaluate", about("evaluate")+"\nOf the data that the model learned from, and of data that name their parts (-part, split.txt),\nonly the part to test on counts. A row that the model has learned from or was chosen by is left\nout, and counted as left_out. A row of a class that the model does not have is an error of the\nmodel, and counted as foreign; a row without a class is left out, and counted as unknown."))
	cli.Score(c.FlagSet, &c.score, "what is reported beside the others, of the rows of a class that the model has; without it what train chose by, if it has -score too")
	positiveFlag(c.FlagSet, &c.positive, "that of train")
	cli.Int(c.FlagSet, &c.curve, "curve", 0, 0, 1000, "of -task rows with classes, parts of equal sizes that rows to test on are divided into in the order of time; each is measured beside trees that learn anew from the rows before it, and with -labels all beside the model itself as serve -learn lets it learn on the way; 0 = none")
	cli.Float(c.FlagSet, &c.learnRate, "learn-rate", 0, 0, 1, "of -curve, the rate of serve -learn; 0 = that of the training")
	return c.ask(ctx, args, c.checkEvaluate, func(ctx context.Context) (cli.Result, error) { return c.evaluated(ctx, start) })
}

// checkEvaluate checks the flags of evaluate.
func (c *asking) checkEvaluate() error {
	if c.curve > 0 && (c.task != "rows" || c.Time == "" || len(c.classes) == 0) {
		return cli.Usage(errors.New("-curve is for -task rows with -time and -class"))
	}
	one := (&parts{classes: c.p.Classes(), targets: c.p.Targets()}).each("")
	for _, t := range one {
		if err := checkPositive(c.positive, t.Classes); err != nil {
			return err
		}
	}
	if c.score == "" {
		c.score = validation.Measure(c.notes["score"])
	}
	if err := c.reread("evaluate"); err != nil {
		return err
	}
	if err := cli.CheckScore(c.score, len(one[0].Classes) == 0); err != nil {
		return err
	}
	if c.targets = true; c.Offset != 0 && c.edges == "" {
		return cli.Usage(errors.New("the model has learned numbers of a table with an offset: set -edges"))
	}
	return nil
}

// evaluated predicts the rows and returns the report.
func (c *asking) evaluated(ctx context.Context, start time.Time) (cli.Result, error) {
	rows, what, release, err := c.known(ctx)
	if err != nil {
		return nil, c.in(err)
	}
	defer release()
	m, err := choose.Test(ctx, c.p, c.graph, c.ids, rows, c.positive, c.workers)
	if err != nil {
		return nil, err
	}
	if c.task == "graphs" {
		c.wrong = c.other
		m.Unknown += c.unknown + c.other
	}
	m.Wrong(c.wrong)
	if c.seen > 0 {
		fmt.Fprintf(os.Stderr, "left out: %d of %d rows, from which the model has learned or by which it was chosen\n", c.seen, c.seen+m.Rows)
	}
	if m.Rows == 0 && c.seen > 0 {
		return nil, fmt.Errorf("%s: no row is left whose target is known", c.name())
	}
	if m.Rows == 0 {
		return nil, fmt.Errorf("%s: of no row the target is known", c.name())
	}
	r := newReport(c.task, c.notes["system"], c.name(), nil, m, c.score, start)
	r.copies, r.balanced, r.what, r.part = c.copies, c.notes["prior"] != "", fmt.Sprintf("%s, by %s", what, c.model), "test"
	r.LeftOut, r.Future = c.seen, c.Future
	r.Systems = []choose.Tried{{Name: r.Model, Seconds: r.Seconds}}
	if score := cmp.Or(r.Value, r.Accuracy, r.RMSE); score != nil {
		r.Systems[0].Score = *score
	}
	if c.curve > 0 {
		if r.Curve, err = c.measureCurve(ctx); err != nil {
			return nil, fmt.Errorf("-curve: %w", err)
		}
	}
	r.ModelSHA256, err = manifest.Sum(c.model)
	return r, err
}

// known returns the rows to evaluate, and their description. It returns the test part if the data have the
// digest of the training, or name their parts.
func (c *asking) known(ctx context.Context) (rows choose.Rows, what string, release func(), err error) {
	all := "all rows whose target is known and from which the model has not learned"
	if c.knowledge == nil {
		all = "all rows whose target is known; the file does not tell which rows the model has learned from"
	}
	c.leaves, c.met, c.digest = true, map[uint64]int{}, c.notes["digest"]
	if seed, err := strconv.ParseUint(c.notes["seed"], 10, 64); err == nil {
		p, err := c.parts(ctx, seed)
		switch {
		case ctx.Err() != nil:
			return nil, "", nil, context.Cause(ctx)
		case err != nil && c.task == "links":
			return nil, "", nil, err
		case err == nil && (c.task == "links" || p.split || p.same):
			c.graph, c.ids, c.wrong, c.copies = p.graph, p.ids, p.foreign, p.copies
			return p.test, "the test part", p.release, nil
		case err == nil && c.task == "graphs":
			return p.test, all, p.release, nil
		case err == nil:
			p.release()
		}
	}
	if c.seen, c.met = 0, map[uint64]int{}; c.task == "rows" && !c.HasID && c.digest != "" { // the rows of the training are another file
		c.knowledge, all = nil, "all rows whose target is known; without -id, numbers of rows of another file do not tell which rows the model has learned from"
	}
	rows, _, _, err = c.rows(ctx)
	c.wrong = len(c.foreign)
	return rows, all, func() {}, err
}
