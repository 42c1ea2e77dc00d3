// Command throughput draws the runtime figure of the PATCHY-SAN paper: receptive fields per second of
// generated and real graphs at several field sizes, beside the rates of the paper.
//
//	go run ./examples/throughput                                  # all graphs, 2 s per cell
//	go run ./examples/throughput -graphs torus,power -k 5,10 -workers 1
//	go run ./examples/throughput -seconds 10 -out speed.svg -json speed.json
//	go run ./examples/throughput -graphs rmat -n 65536,262144,1048576,4194304 -k 10 -bound 0,10,16 -seconds 20 -cpu -out edges.svg
//
// The last one draws rates against the number of edges, of a graph with hubs, exact and bounded. The
// rate of bounded neighbourhoods falls mainly as the graph grows out of the caches: BenchmarkSizes
// separates the two effects.
//
// The paper (Niepert et al. 2016, section "Runtime Analysis", one core at 2.8 GHz) reports at least
// 1000 fields/s at k = 5 and 10, but 600 and 320 for email-Enron, and at least 100 at k = 50.
package main

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/operators/field"
)

func main() { cli.Main("throughput", run) }

// config is the command line.
type config struct {
	graphs      []string
	k, n, bound []int
	seconds     float64
	workers     int
	cpu         bool
	seed        uint64
	*cli.Command
}

func parse(args []string) (c *config, err error) {
	c = &config{Command: cli.NewCommand("throughput", "measures fields per second, as the runtime figure of the paper does. With several sizes of generated graphs\nthe plot is of rates against edges. Real graphs are read from the folder graphs in SANFLOW_DATA.")}
	f := c.FlagSet
	graphs := f.String("graphs", strings.Join(paperGraphs, ","), "graphs, of these, cnr-2000, and rmat, which has hubs beside hubs")
	k := f.String("k", "5,10,25,50", fmt.Sprintf("nodes per receptive field, each at most %d", field.MaxK))
	bound := f.String("bound", "0", "largest number of nodes of a neighbourhood, k or more, which bounds the cost of a field beside a hub; 0 = no bound, exact; several with commas")
	n := f.String("n", "10000", "nodes of the generated graphs; several with commas: each graph has each size")
	cli.Float(f, &c.seconds, "seconds", 2, 1e-9, 1e6, "most seconds per graph and k")
	cli.Int(f, &c.workers, "workers", 1, 0, math.MaxInt, "goroutines; 0 = all cores; the paper used one")
	f.BoolVar(&c.cpu, "cpu", false, "measure the processor time of all workers, not the clock: other work on the machine affects it less")
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
	if c.k, err = numbers("k", *k, 1, field.MaxK); err == nil {
		c.n, err = numbers("n", *n, 9, 1<<28)
	}
	if err == nil {
		c.bound, err = numbers("bound", *bound, 0, 1<<20)
	}
	for _, bound := range c.bound {
		err = errors.Join(err, cli.CheckBound(bound, c.k[len(c.k)-1]))
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	if c.cpu && cli.CPU() == 0 {
		return nil, errors.New("-cpu: this system does not report processor time")
	}
	_, format := picture.Format(c.Path("out"))
	return c, errors.Join(err, format)
}

// numbers parses a list of numbers, and returns them ascending, each once.
func numbers(flag, list string, least, most int) (all []int, err error) {
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

// report is the JSON object of -json.
type report struct {
	Workers int      `json:"workers"`
	CPU     bool     `json:"cpu"`
	Seed    uint64   `json:"seed"`
	Results []result `json:"results"`

	c *config
}

// Print writes a row for each cell.
func (r *report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "graph\tnodes\tedges\tk\tbound\tfields/s\tthe paper\t")
	for _, of := range r.Results {
		for _, cell := range of.Cells {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t\n", of.Graph, of.Nodes, of.Edges, cell.K, cell.Bound, cell.FieldsPerS, cell.Paper)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	by := map[bool]string{true: "seconds of processor time", false: "seconds"}[r.CPU]
	_, err := fmt.Fprintf(out, "-workers %d, %s; the figures of the paper are for one core at 2.8 GHz, most of them lower bounds\n", r.Workers, by)
	return err
}

var (
	palette = []color.RGBA{picture.Blue, picture.Red, picture.Green, picture.Orange, picture.Purple, picture.Sky, picture.Gray}
	shapes  = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
)

// File is the plot of -out: rates over k, or over the number of edges where there are several sizes, with the
// rates of the paper as dashed lines.
func (r *report) File(_, path string) ([]byte, error) {
	overEdges, x := len(r.c.n) > 1, "k, nodes per field"
	if overEdges {
		x = "edges"
	}
	p := picture.New("Receptive fields per second", x, fmt.Sprintf("fields/s with -workers %d, ± 2 standard errors", r.Workers))
	p.Logarithmic()
	var names []string
	at, bars := map[string]plotter.XYs{}, map[string][]float64{}
	for _, of := range r.Results {
		for _, cell := range of.Cells {
			name, x := of.Graph, float64(cell.K)
			if overEdges {
				name, x = fmt.Sprintf("%s, k=%d", name, cell.K), float64(of.Edges)
			}
			if cell.Bound > 0 {
				name += fmt.Sprintf(", bound=%d", cell.Bound)
			}
			if at[name] == nil {
				names = append(names, name)
			}
			at[name] = append(at[name], plotter.XY{X: x, Y: cell.FieldsPerS})
			bars[name] = append(bars[name], min(2*cell.SE, cell.FieldsPerS/2)) // the logarithm of the lower end exists
		}
	}
	for i, name := range names {
		p.Line("", at[name], palette[i%len(palette)], 1.6)
		p.Keys = p.Keys[:len(p.Keys)-1] // the points have the key
		p.Points(name, at[name], bars[name], palette[i%len(palette)], shapes[i%len(shapes)])
	}
	if !overEdges {
		p.Line("the paper, at least", plotter.XYs{{X: 5, Y: 1000}, {X: 10, Y: 1000}, {X: 50, Y: 100}}, color.Black, 1.6, picture.Dashes...)
		p.Line("the paper, email-Enron", plotter.XYs{{X: 5, Y: 600}, {X: 10, Y: 320}}, picture.Red, 1.6, picture.Dashes...)
	}
	return p.File(18*vg.Centimeter, 11*vg.Centimeter, path)
}
