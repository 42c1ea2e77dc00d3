package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
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

// taskOf finds -task among the arguments: each task has flags of its own.
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

// command is what the tasks have in common: flags, and files for the results.
type command struct {
	*flag.FlagSet
	seed    uint64
	workers int
	live    *cli.Page
	outputs []string // flags that name files
	format  string   // of -out
}

// result is what comes of a task: the JSON object of -json, a text, and other files.
type result interface {
	print(out io.Writer) error
	file(flag string, format string) ([]byte, error)
}

// cell is a figure of a system on a data set, null if there is none.
type figureCell struct {
	Dataset string   `json:"dataset"`
	System  string   `json:"system"`
	Measure string   `json:"measure"`
	Value   *float64 `json:"value"`
}

func newCommand(about string) *command {
	c := &command{FlagSet: cli.Flags("benchmark", about)}
	c.String("task", "", "graphs, nodes, links or labelings, each with flags of its own: benchmark -task nodes -h")
	c.Uint64Var(&c.seed, "seed", 1, "seed of folds, splits and pairs, weights, orders, samples and generated data")
	cli.Workers(c.FlagSet, &c.workers)
	c.live = cli.Live(c.FlagSet)
	c.output("json", "file for the results")
	return c
}

// output adds a flag of a file that is written.
func (c *command) output(name, usage string) {
	c.String(name, "", usage)
	c.outputs = append(c.outputs, name)
}

// path is the value of such a flag, "" where the command does not have it.
func (c *command) path(name string) string {
	if one := c.Lookup(name); one != nil {
		return one.Value.String()
	}
	return ""
}

// parse parses the flags.
func (c *command) parse(args []string) (err error) {
	if err := cli.Parse(c.FlagSet, args); err != nil {
		return err
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	if err := cli.Distinct(c.FlagSet, c.outputs, nil); err != nil {
		return err
	}
	c.format, err = picture.Format(c.path("out"))
	return err
}

// run does the work and writes what came of it, of which done may be an error of its own. Places
// that cannot be written to are found before the work, not after it.
func (c *command) run(ctx context.Context, work func(context.Context) (result, error)) (err error) {
	ctx, end, err := c.live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	var paths []string
	for _, name := range c.outputs {
		paths = append(paths, c.path(name))
	}
	files, err := cli.CreateAll(paths...)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	r, err := work(ctx)
	if err != nil {
		return err
	}
	for i, name := range c.outputs[1:] {
		if err := files.Finish(paths[1+i], func() ([]byte, error) { return r.file(name, c.format) }); err != nil {
			return err
		}
	}
	if err := files.JSON(paths[0], r); err != nil {
		return err
	}
	return r.print(os.Stdout)
}
