package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/sinks/choose"
)

func main() { cli.Main("benchmark", run) }

func run(ctx context.Context, args []string) error {
	switch name := taskOf(args); name {
	case "", "graphs":
		return graphsTask(ctx, args)
	case "nodes":
		return nodesTask(ctx, args)
	case "links":
		return linksTask(ctx, args)
	case "labelings":
		return labelingsTask(ctx, args)
	default:
		return cli.Usage(fmt.Errorf("-task is %q, want graphs, nodes, links or labelings", name))
	}
}

// taskOf returns the value of -task. Each task has flags of its own, so the task is known before the flags
// are parsed.
func taskOf(args []string) (name string) {
	for i, arg := range args {
		key, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		switch {
		case key != "task" || !strings.HasPrefix(arg, "-"):
		case has:
			name = value
		case i+1 < len(args):
			name = args[i+1]
		}
	}
	return name
}

// command is the flags that all tasks have.
type command struct {
	*cli.Command
	seed    uint64
	workers int
}

// figureCell is a figure of a system on a data set; null is not measured.
type figureCell struct {
	Dataset string   `json:"dataset"`
	System  string   `json:"system"`
	Measure string   `json:"measure"`
	Value   *float64 `json:"value"`
}

func newCommand(about string) *command {
	c := &command{Command: cli.NewCommand("benchmark", about)}
	c.String("task", "", "graphs, nodes, links or labelings, each with flags of its own: benchmark -task nodes -h")
	c.Uint64Var(&c.seed, "seed", 1, "seed of folds, splits and pairs, weights, orders, samples and generated data")
	cli.Workers(c.FlagSet, &c.workers)
	return c
}

// parse parses the flags, and checks the ending of -out.
func (c *command) parse(args []string) error {
	if err := c.Read(args); err != nil {
		return err
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	_, err := picture.Format(c.Path("out"))
	return err
}

// choose runs a choice among the systems that list names, or all. label stands before the system in the progress bar.
func (c *command) choose(ctx context.Context, list, label string, of choose.Choice) (_ *choose.Chosen, err error) {
	if list != "" {
		if of.Systems, err = choose.Pick(of.Systems, strings.Split(list, ",")); err != nil {
			return nil, cli.Usage(fmt.Errorf("-systems: %w", err))
		}
	}
	defer cli.Stages("", 0, 0)
	of.Seed, of.Workers = c.seed, c.workers
	of.Progress = func(system string, done, total int) {
		cli.Stages(strings.TrimPrefix(label+": "+system, ": "), int64(done), int64(total))
	}
	return of.Run(ctx)
}
