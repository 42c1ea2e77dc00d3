// Command temporal reads the events of a changing graph. It tests a model of links on each event before
// the model learns from it, or keeps the receptive fields of all nodes.
//
//	go run ./examples/temporal                                  # generated edges, whose mechanism changes half-way
//	go run ./examples/temporal -edges jodie-wikipedia.txt.gz    # links, in the protocol of the Temporal Graph Benchmark
//	go run ./examples/temporal -edges CollegeMsg.txt.gz -task fields -k 10 -window 720h
//
// The baselines answer the same questions from the same information. An alarm (ADWIN) reports a change
// of the error of the model.
package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/sources/events"
)

func main() { cli.Main("temporal", run) }

// config is the command line.
type config struct {
	edges      string
	columns    events.Columns
	order      string
	generated  int
	k          int
	last       int   // of -window
	within     int64 // of -window, in the unit of the times of the stream
	every      int
	task       string
	protocol   string
	candidates int
	seed       uint64
	*cli.Command
}

func parse(args []string) (*config, error) {
	c := &config{Command: cli.NewCommand("temporal", "asks about each event of a graph that changes before it learns from it: links;\nor keeps the receptive fields of all nodes.")}
	f := c.FlagSet
	f.StringVar(&c.edges, "edges", "generated", "file of edges with times, a name in $SANFLOW_DATA/temporal, - for standard input, or generated")
	columns := f.String("columns", "", "columns of the file by name or number: source=, target=, time=, kind=, class=, attr=, scale= (1000: times in ms of a column in seconds, or of dates), separated by commas; default: by their names, else the first three")
	f.StringVar(&c.order, "order", "", "of events that are not in order of time: sort all of them first, or refuse them by their line; default: sort files, refuse a stream")
	cli.Int(f, &c.generated, "n", 6000, 10, cli.Many, "generated edges")
	cli.K(f, &c.k, "of -task fields: ")
	window := f.String("window", "", "known edges: a number of the last ones, or those of a time such as 36h before, if times are seconds or dates, with scale= in smaller units; default: all")
	cli.Int(f, &c.every, "every", 1, 1, 1<<12, "events of a batch: the model and the graph learn a batch at once, after all of its questions")
	f.StringVar(&c.task, "task", "links", "links or fields")
	f.StringVar(&c.protocol, "protocol", "", "of links: tgb, 70 % to learn from, 15 % to choose, 15 % to test; or prequential, all of a stream; default: tgb for files of at least 10 edges, else prequential")
	cli.Int(f, &c.candidates, "candidates", 0, 0, cli.Many, "candidates of a question about a link, a random sample of the targets; 0 = all up to 10 000, 1000 of more")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the model, of samples and of generated edges")
	c.Output("out", "file for the curve, .svg or .png")
	if err := c.Read(args); err != nil {
		return nil, err
	}
	return c, c.check(*columns, *window)
}

func (c *config) check(columns, window string) (err error) {
	if c.columns, err = events.ParseColumns(columns); err != nil {
		return cli.Usage(fmt.Errorf("-columns: %w", err))
	}
	stream := c.edges == "-" || c.edges == "generated"
	if c.protocol == "" && stream {
		c.protocol = "prequential"
	}
	if c.order == "" {
		if c.order = "sort"; stream {
			c.order = "refuse"
		}
	}
	for _, w := range []struct {
		flag, value string
		words       []string
	}{
		{"order", c.order, []string{"sort", "refuse"}}, {"task", c.task, []string{"links", "fields"}}, {"protocol", c.protocol, []string{"", "tgb", "prequential"}},
	} {
		if !slices.Contains(w.words, w.value) {
			return cli.Usage(fmt.Errorf("-%s is %q, want one of %s", w.flag, w.value, strings.TrimSpace(strings.Join(w.words, " "))))
		}
	}
	if c.candidates == 1 {
		return cli.Usage(fmt.Errorf("-candidates is 1, want 0 or at least 2"))
	}
	if window != "" {
		units := 0.0
		if c.last, err = strconv.Atoi(window); err != nil {
			var d time.Duration
			d, err = time.ParseDuration(window)
			c.last, units = 0, d.Seconds()*cmp.Or(c.columns.Scale, 1)
		}
		if err != nil || c.last < 1 && !(units >= 1 && units < 1<<62) || c.last > math.MaxInt32 {
			return cli.Usage(fmt.Errorf("-window is %q, want a number of edges, or a time such as 36h, of at least a unit of the times of the stream", window))
		}
		c.within = int64(units)
	}
	_, err = picture.Format(c.Path("out"))
	return err
}

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	return c.Run(ctx, func(ctx context.Context) (cli.Result, error) {
		r := newReport(c)
		if err := c.work(ctx, r); err != nil {
			return nil, err
		}
		r.finish()
		return r, nil
	})
}
