package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// labelingsTask estimates θ̂ of each labeling (Niepert et al. 2016, Theorem 2): the mean Hamming distance
// between the adjacency matrices of two random receptive fields.
func labelingsTask(ctx context.Context, args []string) error {
	c := newCommand(`compares labelings by how well they align fields, without classes.

  benchmark -task labelings                            on generated graphs
  benchmark -task labelings -data MUTAG -k 10
  benchmark -task labelings -graph polblogs.txt

-normalize auto of -task graphs is the labeling with the smallest θ̂. Differences of less than two of
their standard errors are not significant. One labeling, -crop, chooses the nodes of a large neighbourhood
for all candidates, so that all order the same graphs. With -crop own each chooses for itself; a labeling
that keeps sparse fields then has a smaller θ̂, as the column entries shows.`)
	var data, graph, names, crop string
	var directed bool
	var compared comparison
	var pairs int
	c.StringVar(&data, "data", "", "TU collection: a zip, a directory, or a name to look up or download; empty = a generated collection")
	c.StringVar(&graph, "graph", "", "edge list of one graph, instead of a collection")
	c.BoolVar(&directed, "directed", false, "the edges of -graph are arcs")
	cli.K(c.FlagSet, &compared.k, "")
	cli.Bound(c.FlagSet, &compared.bound)
	cli.Int(c.FlagSet, &pairs, "pairs", 1000, 2, maxPairs, "pairs of fields")
	c.StringVar(&names, "labelings", "", "labelings to compare, by comma: "+labeling.Usage()+"; empty = all")
	c.StringVar(&crop, "crop", "wl", "labeling that cuts large neighbourhoods for all candidates; own = each cuts for itself")
	if err := c.parse(args); err != nil {
		return err
	}
	switch {
	case data != "" && graph != "":
		return errors.New("-data and -graph are both set, want one")
	case directed && graph == "":
		return errors.New("-directed needs -graph")
	}
	candidates, err := distinct(names)
	if err != nil {
		return fmt.Errorf("-labelings: %w", err)
	}
	t := &thetas{K: compared.k, Bound: compared.bound, Pairs: pairs, Seed: c.seed, Crop: crop}
	if crop != "own" {
		if compared.crop, err = fixedLabeling(crop); err != nil {
			return fmt.Errorf("-crop: %w", err)
		}
		t.Crop = compared.crop.String()
	}
	if err := cli.CheckBound(compared.bound, compared.k); err != nil {
		return err
	}
	compared.workers = c.workers
	return c.Run(ctx, func(ctx context.Context) (cli.Result, error) {
		var src flow.Source = sources.EdgeList{Path: sources.Place(graph, "graphs"), Directed: directed}
		if t.Dataset = cli.DataName(graph); graph == "" {
			if src, t.Dataset, err = sourceOf(ctx, data, c.seed); err != nil {
				return nil, err
			}
		}
		compared.bar = cli.NewProgress("pairs of fields", int64(pairs))
		defer compared.bar.Done()
		best, estimates, err := compared.choose(ctx, flow.From(src), candidates, pairs, c.seed)
		if err != nil {
			return nil, err
		}
		t.Best = best.String()
		t.take(estimates)
		return t, nil
	})
}

// distinct parses a list of labelings; an empty list means all.
func distinct(names string) ([]labeling.Labeling, error) {
	if names == "" {
		return allLabelings(), nil
	}
	list, err := labeling.ParseList(names)
	seen := map[string]bool{}
	for _, l := range list {
		switch {
		case l == labeling.Auto:
			return nil, errAuto
		case seen[l.String()]:
			return nil, fmt.Errorf("%s is listed twice", l)
		}
		seen[l.String()] = true
	}
	return list, err
}

var errAuto = errors.New("auto is the result of this task")

func fixedLabeling(name string) (labeling.Labeling, error) {
	l, err := labeling.Parse(name)
	if l == labeling.Auto {
		return nil, errAuto
	}
	return l, err
}

// thetas is the JSON object of -json. Estimates ascend by θ̂; failed ones are last.
type thetas struct {
	Dataset   string       `json:"dataset"`
	K         int          `json:"k"`
	Bound     int          `json:"bound,omitempty"`
	Pairs     int          `json:"pairs"`
	Seed      uint64       `json:"seed"`
	Crop      string       `json:"crop"`
	Estimates []estimate   `json:"estimates"`
	Best      string       `json:"best"`
	Cells     []figureCell `json:"cells"`
}

// estimate is the estimate of a labeling. A labeling that failed has no numbers.
type estimate struct {
	Labeling string   `json:"labeling"`
	Theta    *float64 `json:"theta"`
	SE       *float64 `json:"se"`
	Diff     *float64 `json:"diff"`    // to the best labeling
	DiffSE   *float64 `json:"diff_se"` // of the paired differences
	Entries  *float64 `json:"entries"` // nonzero entries of a matrix
	Seconds  float64  `json:"seconds"` // spent on fields, summed over workers
	Fallback int64    `json:"fallbacks"`
	Error    string   `json:"error,omitempty"`
}

// theta is θ̂, infinite where the labeling failed.
func (e estimate) theta() float64 {
	if e.Theta == nil {
		return math.Inf(1)
	}
	return *e.Theta
}

func (t *thetas) take(estimates []estimate) {
	t.Estimates = estimates
	slices.SortStableFunc(t.Estimates, func(a, b estimate) int { return cmp.Compare(a.theta(), b.theta()) })
	for _, e := range t.Estimates {
		t.Cells = append(t.Cells, figureCell{t.Dataset, e.Labeling, "theta", e.Theta})
	}
}

// Print writes the table.
func (t *thetas) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s: k %d, %d pairs, seed %d%s\n\n", t.Dataset, t.K, t.Pairs, t.Seed, t.cropNote())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "labeling\tθ̂ ± s.e.\tabove the best ± s.e.\tentries\tseconds")
	for _, r := range t.Estimates {
		if r.Theta == nil {
			fmt.Fprintf(w, "%s\tfailed: %s\n", r.Labeling, r.Error)
			continue
		}
		above := ""
		if r.Labeling != t.Best {
			above = fmt.Sprintf("%.3f ± %.3f", *r.Diff, *r.DiffSE)
		}
		fmt.Fprintf(w, "%s\t%.3f ± %.3f\t%s\t%.2f\t%.3f\n", r.Labeling, *r.Theta, *r.SE, above, *r.Entries, r.Seconds)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nbest: %s\n", t.Best)
	return err
}

func (t *thetas) cropNote() string {
	bound := ""
	if t.Bound > 0 {
		bound = fmt.Sprintf(", neighbourhoods of at most %d nodes", t.Bound)
	}
	if t.Crop == "own" {
		return bound + ", each cutting its own fields"
	}
	return bound + ", fields cut by " + t.Crop
}
