// Command labelings compares graph labelings on a collection of graphs, or on
// one graph, without classes: it estimates θ̂ of Niepert et al. 2016 (Theorem 2),
// the mean Hamming distance between the matrices of two random receptive fields.
//
//	go run ./examples/labelings                          # a generated collection
//	go run ./examples/labelings -data MUTAG -k 10        # a TU collection, by name
//	go run ./examples/labelings -graph polblogs.txt -out theta.svg
//
// The labeling with the smallest θ̂ is the one that examples/classify takes for
// -normalize auto. Differences of less than two of their standard errors say
// little. One labeling, -crop, chooses which nodes of a large neighbourhood stay,
// so that all others order the same graphs. With -crop own each chooses for
// itself; one that keeps sparse fields then looks better than it is, as the
// column entries shows.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/operators/theta"
)

func main() { cli.Main("labelings", run) }

// config is the command line.
type config struct {
	data, graph string
	directed    bool
	options     theta.Options
	candidates  []labeling.Labeling
	out, json   string
	live        *cli.Page
	format      string // of out
}

func parse(args []string) (*config, error) {
	c := &config{}
	var names, crop string
	f := cli.Flags("labelings", `compares labelings by how well they align fields, without classes.

  labelings                                   on generated graphs
  labelings -data MUTAG -k 10
  labelings -graph polblogs.txt -out theta.svg`)
	f.StringVar(&c.data, "data", "", "TU collection: a zip, a directory, or a name to look up or download; empty = a generated collection")
	f.StringVar(&c.graph, "graph", "", "edge list of one graph, instead of a collection")
	f.BoolVar(&c.directed, "directed", false, "the edges of -graph are arcs")
	cli.K(f, &c.options.K, "")
	cli.Bound(f, &c.options.Bound)
	cli.Int(f, &c.options.Pairs, "pairs", 1000, 2, theta.MaxPairs, "pairs of fields")
	f.Uint64Var(&c.options.Seed, "seed", 1, "seed of the pairs, and of a generated collection")
	f.StringVar(&names, "labelings", "", "labelings to compare, by comma: "+labeling.Usage()+"; empty = all")
	f.StringVar(&crop, "crop", "wl", "labeling that cuts large neighbourhoods for all candidates; own = each cuts for itself")
	cli.Workers(f, &c.options.Workers)
	c.live = cli.Live(f)
	f.StringVar(&c.json, "json", "", "file for the table as JSON")
	f.StringVar(&c.out, "out", "", "file for a picture: .svg or .png")
	if err := cli.Parse(f, args); err != nil {
		return nil, err
	}
	return c, c.check(names, crop)
}

func (c *config) check(names, crop string) (err error) {
	switch {
	case c.data != "" && c.graph != "":
		return errors.New("-data and -graph are both set, want one")
	case c.directed && c.graph == "":
		return errors.New("-directed needs -graph")
	}
	if err := cli.CheckBound(c.options.Bound, c.options.K); err != nil {
		return err
	}
	if names == "" {
		c.candidates = theta.Default()
	} else if c.candidates, err = parseList(names); err != nil {
		return fmt.Errorf("-labelings: %w", err)
	}
	if c.options.OwnCrop = crop == "own"; !c.options.OwnCrop {
		if c.options.Crop, err = parseOne(crop); err != nil {
			return fmt.Errorf("-crop: %w", err)
		}
	}
	c.format, err = picture.Format(c.out)
	return err
}

func parseList(names string) (list []labeling.Labeling, err error) {
	if list, err = labeling.ParseList(names); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, l := range list {
		if l == labeling.Auto {
			return nil, errAuto
		}
		if seen[l.String()] {
			return nil, fmt.Errorf("%s is listed twice", l)
		}
		seen[l.String()] = true
	}
	return list, nil
}

var errAuto = errors.New("auto is the result of this command")

func parseOne(name string) (labeling.Labeling, error) {
	l, err := labeling.Parse(name)
	if l == labeling.Auto {
		return nil, errAuto
	}
	return l, err
}

func run(ctx context.Context, args []string) (err error) {
	c, err := parse(args)
	if err != nil {
		return err
	}
	ctx, end, err := c.live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	// Places that cannot be written to are found before the work, not after it.
	files, err := cli.CreateAll(c.json, c.out)
	if err != nil {
		return err
	}
	defer files.Cleanup()

	name, graphs, err := c.open(ctx)
	if err != nil {
		return err
	}
	bar := cli.NewProgress("pairs of fields", int64(c.options.Pairs))
	c.options.Progress = func(done, _ int) { bar.Set(int64(done)) }
	best, estimates, err := operators.Choose(ctx, graphs, c.candidates, c.options)
	bar.Done()
	if err != nil {
		return err
	}
	t := newTable(name, c, best, estimates)
	if err := files.Finish(c.out, func() ([]byte, error) { return drawTable(t, c.format) }); err != nil {
		return err
	}
	if err := files.JSON(c.json, t); err != nil {
		return err
	}
	return t.print(os.Stdout)
}
