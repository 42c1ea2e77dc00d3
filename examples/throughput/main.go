// Command throughput draws the runtime figure of the PATCHY-SAN paper: how many
// receptive fields per second come out of generated and real graphs, at several
// field sizes, next to the rates that the paper reports.
//
//	go run ./examples/throughput                                  # all graphs, 2 s per cell
//	go run ./examples/throughput -graphs torus,power -k 5,10 -workers 1
//	go run ./examples/throughput -seconds 10 -out speed.svg -json speed.json
//	go run ./examples/throughput -graphs rmat -n 65536,262144,1048576,4194304 -k 10 -bound 0,10,16 -seconds 20 -cpu -out edges.svg
//
// The last one draws rates against the number of edges: of a graph with hubs, whole neighbourhoods,
// and bounded ones, whose rate falls mainly as the graph grows out of the caches: BenchmarkSizes
// separates the two.
//
// Roots are nodes in random order, by -seed; a cell that does not get through
// all of them within its seconds is marked as a sample; its rate leaves out the
// time until the first fields are there, in which the graph is indexed, as that
// time is one for all nodes. Real graphs are read
// from $SANFLOW_DATA/graphs, or graphs of that name there are skipped with a
// note.
//
// The paper (Niepert et al. 2016, section "Runtime Analysis", one core at 2.8
// GHz) reports at least 1000 fields/s at k = 5 and 10, but 600 and 320 for
// email-Enron, and at least 100 at k = 50.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/operators/field"
)

func main() { cli.Main("throughput", run) }

// config is the command line.
type config struct {
	graphs  []string
	k       []int
	n       []int
	bound   []int
	seconds float64
	workers int
	cpu     bool
	seed    uint64
	*cli.Command
}

// report is the JSON object of -json.
type report struct {
	Workers int      `json:"workers"`
	CPU     bool     `json:"cpu"`
	Seed    uint64   `json:"seed"`
	Results []result `json:"results"`

	c *config
}

func parse(args []string) (*config, error) {
	c := &config{Command: cli.NewCommand("throughput", `measures fields per second, as the paper's runtime figure does.

  throughput                                  all graphs, 2 s per cell
  throughput -graphs torus,power -k 5,10 -workers 1
  throughput -seconds 10 -out speed.svg -json speed.json
  throughput -graphs rmat -n 65536,262144,1048576,4194304 -k 10 -bound 0,16 -seconds 20 -out edges.svg

With several sizes of generated graphs the plot is of rates against edges. Real graphs are read from the folder graphs in SANFLOW_DATA.`)}
	f := c.FlagSet
	graphs := f.String("graphs", strings.Join(paperGraphs, ","), "graphs, of these and rmat, which has hubs beside hubs")
	ks := f.String("k", "5,10,25,50", fmt.Sprintf("nodes per receptive field, each at most %d", field.MaxK))
	bounds := f.String("bound", "0", "most nodes of a neighbourhood, k or more: what a field costs beside a hub; 0 = no bound, exact; one, or several by comma")
	sizes := f.String("n", "10000", "nodes of the generated graphs; several by comma: each graph at each of them")
	cli.Float(f, &c.seconds, "seconds", 2, 1e-9, 1e6, "most seconds per graph and k")
	cli.Int(f, &c.workers, "workers", 1, 0, math.MaxInt, "goroutines; 0 = all cores; the paper used one")
	f.BoolVar(&c.cpu, "cpu", false, "seconds of processor time, of all workers, not of the clock: other work on the machine disturbs them less")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the generated graphs and of the order of roots")
	c.Output("out", "file for the plot, .svg or .png")
	if err := c.Read(args); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(*graphs, ",") {
		if name = strings.TrimSpace(name); !slices.Contains(allGraphs, name) {
			return nil, fmt.Errorf("-graphs: %q, want some of %s", name, strings.Join(allGraphs, ", "))
		}
		c.graphs = append(c.graphs, name)
	}
	var err error
	if c.k, err = numbers("k", *ks, 1, field.MaxK); err != nil {
		return nil, err
	}
	if c.n, err = numbers("n", *sizes, 9, 1<<28); err != nil {
		return nil, err
	}
	if c.bound, err = numbers("bound", *bounds, 0, 1<<20); err != nil {
		return nil, err
	}
	for _, bound := range c.bound {
		if err := cli.CheckBound(bound, c.k[len(c.k)-1]); err != nil {
			return nil, err
		}
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	if c.cpu && cli.CPU() == 0 {
		return nil, errors.New("-cpu: this system does not tell its processor time")
	}
	_, err = picture.Format(c.Path("out"))
	return c, err
}

// numbers parses a list, which it returns in order, each number once.
func numbers(flag, list string, least, most int) ([]int, error) {
	var all []int
	for text := range strings.SplitSeq(list, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || i < least || i > most {
			return nil, fmt.Errorf("-%s: %q, want numbers from %d to %d", flag, text, least, most)
		}
		all = append(all, i)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	return c.Run(ctx, func(ctx context.Context) (cli.Result, error) {
		results, err := c.measure(ctx)
		if err == nil && len(results) == 0 {
			err = errors.New("no graph to measure: set SANFLOW_DATA to the folder of the data sets")
		}
		return &report{c.workers, c.cpu, c.seed, results, c}, err
	})
}
