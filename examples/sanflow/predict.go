package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
)

// asking is the flags of the commands that ask a model.
type asking struct {
	data
	model, out, json string
	p                *sinks.Predictor
	notes            map[string]string
}

func (c *asking) flags(f *flag.FlagSet) {
	f.StringVar(&c.model, "model", "sanflow.model", "file of a model that train or sinks.Save has written")
	c.data.flags(f, "that of the model where it is not given")
}

// load parses the flags, and loads the model.
func (c *asking) load(f *flag.FlagSet, args []string) (err error) {
	if err := cli.Parse(f, args); err != nil {
		return err
	}
	if c.p, err = sinks.Load(c.model); err != nil {
		return err
	}
	c.notes = nn.MetadataOf(c.p.Net())
	return c.check(f, c.notes["task"])
}

func evaluate(ctx context.Context, args []string) error {
	start, c := time.Now(), &asking{}
	f := flags("evaluate", "\nOf the data that the model learned from, only the part to test on counts.")
	c.flags(f)
	f.StringVar(&c.json, "json", "", "file for the report as JSON")
	if err := c.load(f, args); err != nil {
		return err
	}
	defer c.p.Close()
	jsonFile, err := cli.Create(c.json)
	if err != nil {
		return err
	}
	defer jsonFile.Cleanup()
	rows, what, release, err := c.rows(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	defer release()
	m := choose.NewMeasures(c.p.Classes())
	if err := ask(ctx, c.p.Net(), c.p.Recipe(), rows, c.workers, m.Add); err != nil {
		return err
	}
	if m.Rows == 0 {
		return fmt.Errorf("%s: of no row the target is known", c.name())
	}
	r := newReport(c.task, c.notes["system"], c.name(), nil, m, start)
	if r.ModelSHA256, err = digest(c.model); err != nil {
		return err
	}
	if err := jsonFile.FinishJSON(r); err != nil {
		return err
	}
	return r.print(os.Stdout, fmt.Sprintf("%s, by %s", what, c.model))
}

// rows returns the rows to evaluate, and what they are: the test part where the model
// was trained on the same data.
func (c *asking) rows(ctx context.Context) (rows flow.Source, what string, release func(), err error) {
	if seed, err := strconv.ParseUint(c.notes["seed"], 10, 64); err == nil && c.notes["data"] == c.name() {
		p, err := c.parts(ctx, seed)
		if err != nil {
			return nil, "", nil, err
		}
		return p.test, "the test part of what was learned from", p.release, nil
	}
	rows, err = c.graphs(ctx)
	return rows, "all rows", func() {}, err
}

func predict(ctx context.Context, args []string) error {
	c := &asking{}
	f := flags("predict", "\nColumns are id, class and p_CLASS for each class, or id and value, or source, target and p\nfor links. Data may be larger than memory where they are a stream of graphs.")
	c.flags(f)
	f.StringVar(&c.out, "out", "", "file for the answers, .csv, .jsonl or .parquet; CSV on standard output where it is not set")
	if err := c.load(f, args); err != nil {
		return err
	}
	defer c.p.Close()
	out, err := createScores(c.out, c.p.Classes())
	if err != nil {
		return err
	}
	defer out.discard()
	src, err := c.graphs(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	err = ask(ctx, c.p.Net(), c.p.Recipe(), src, c.workers, func(p sinks.Prediction) error {
		return out.write(strconv.FormatInt(p.Graph, 10), p)
	})
	if err != nil {
		return err
	}
	return out.finish()
}
