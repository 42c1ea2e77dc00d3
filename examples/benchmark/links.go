package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/links"
)

// linksConfig is the flags of -task links.
type linksConfig struct {
	*command
	graph          string
	splits, split  string
	share          float64
	folds, repeats int
	most           int
	systems        string
	score          validation.Measure
}

const linksUsage = `hides edges of a graph, learns from the others, and predicts the hidden ones, compared
with common neighbours, Adamic–Adar, Katz and the product of degrees. The default is a
generated graph of communities.

  benchmark -task links                                 communities, generated
  benchmark -task links -graph power.edges.gz
  benchmark -task links -graph polbooks.edges.gz -json links.json
  benchmark -task links -data Cora.zip
  benchmark -task links -splits Power-90.csv.gz -split 1,2,3

The test set is a hidden tenth of the edges and as many random pairs that are not joined. The other
edges are hidden a part at a time and become the examples to learn from, again beside as many pairs
that are not joined. The first part is for validation. The graph of each pair, in training and test,
is without its edge, which would reveal the answer.

-splits is a table of published splits. The graph has the links to learn from alone. These are hidden a part at a time as
above, beside the pairs of the file that are not joined. The first part is for validation, unless the file has one.

The systems of sanflow train learn from the examples; the validation part chooses one.`

func linksTask(ctx context.Context, args []string) error {
	c := &linksConfig{command: newCommand(linksUsage)}
	f := c.FlagSet
	f.StringVar(&c.graph, "graph", "", "edge list, maybe packed by gzip, or a zip or directory with edges.txt and labels.txt; or its name in $SANFLOW_DATA; directions, classes and attributes are dropped")
	f.StringVar(&c.graph, "data", "", "the same as -graph")
	f.StringVar(&c.splits, "splits", "", "in place of -graph, a table of published splits: split, part (train, valid, test), link (1, 0), source, target; .csv, maybe packed; or its name in $SANFLOW_DATA/links")
	f.StringVar(&c.split, "split", "", "comma-separated splits of -splits, in place of all")
	cli.Float(f, &c.share, "share", 0.1, 0, 0.5, "share of the edges to hide for the test")
	cli.Int(f, &c.folds, "folds", 10, 2, 1_000_000, "parts in which the other edges are hidden in turn, to learn from")
	cli.Int(f, &c.most, "max-edges", 20000, 0, cli.Many, "most edges to learn from, drawn at random; 0 = all")
	cli.Int(f, &c.repeats, "repeats", 0, 0, 1_000_000, "repeats, each with other edges hidden; 0 = until 500 edges were hidden, at most 10")
	f.StringVar(&c.systems, "systems", "", "comma-separated systems of sanflow train to choose from, in place of all")
	cli.Score(f, &c.score, "what systems and their epochs are chosen by on the validation pairs, and is reported beside AUC and average precision; without it the AUC")
	if err := c.parse(args); err != nil {
		return err
	}
	switch {
	case c.splits != "" && c.graph != "":
		return errors.New("-graph or -data, and -splits are both set, want one")
	case c.split != "" && c.splits == "":
		return errors.New("-split names splits of -splits")
	case c.share == 0:
		return fmt.Errorf("-share is %v, want more than 0 and at most 0.5", c.share)
	}
	for _, name := range cli.Given(f) {
		if c.splits != "" && slices.Contains([]string{"share", "repeats"}, name) {
			return fmt.Errorf("-%s hides edges at random, and -splits says which are hidden", name)
		}
	}
	c.score = cmp.Or(c.score, validation.ROC)
	if err := cli.CheckScore(c.score, false); err != nil {
		return err
	}
	return c.Run(ctx, c.find)
}

// read returns the graph and its name. Attributes are dropped: no system for links reads them.
func (c *linksConfig) read(ctx context.Context) (name string, g *graph.Graph, err error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	if c.graph == "" {
		g, _, err = generate.Communities(200, 5, 8, 1, c.seed)
		return "communities", g, err
	}
	set, err := sources.ReadNodes(ctx, c.graph, sources.Options{})
	if err != nil {
		return "", nil, cli.Cause(ctx, err)
	}
	return cli.DataName(c.graph), set.Graph.Bare(), nil
}

// find predicts the hidden edges of each repeat, or of each published split.
func (c *linksConfig) find(ctx context.Context) (cli.Result, error) {
	start, r := time.Now(), &linksReport{Seed: c.seed}
	hide := c.random
	if c.splits != "" {
		hide = c.published
	}
	next, err := hide(ctx, r)
	if err != nil {
		return nil, err
	}
	for i := range r.Repeats {
		t, name, err := next(i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Dataset, err)
		}
		if i == 0 {
			for _, link := range t.Test.Link {
				if link {
					r.Hidden++
				}
			}
			r.Nodes, r.Edges = t.Test.Graph.N(), t.Test.Graph.M()+r.Hidden
			if r.Share = c.share; c.splits != "" {
				r.Share = float64(r.Hidden) / float64(r.Edges)
			}
		}
		if err := c.learn(ctx, t, r, name); err != nil {
			return nil, err
		}
	}
	r.close()
	r.Scored = cli.NewScored(c.score, cli.MeanScore(r.scores), cli.MeanScore(r.valScores))
	r.Seconds, r.PeakRSSMB = time.Since(start).Seconds(), cli.PeakRSS()>>20
	return r, nil
}

// hidings returns a trial of a report by its number, and the name of the trial.
type hidings func(i int) (*links.Trial, string, error)

// random hides edges of the graph at random. It sets the name and the repeats of the report.
func (c *linksConfig) random(ctx context.Context, r *linksReport) (hidings, error) {
	name, g, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	if r.Dataset, r.Repeats = name, c.repeats; r.Repeats == 0 {
		hidden := max(1, int(c.share*float64(g.M())+0.5))
		r.Repeats = min(10, (500+hidden-1)/hidden)
	}
	return func(i int) (*links.Trial, string, error) {
		t, err := links.Split{Share: c.share, Folds: c.folds, MaxEdges: c.most}.Hide(ctx, g, rand.New(rand.NewPCG(c.seed, uint64(i))))
		return t, strconv.Itoa(i + 1), err
	}, nil
}

// published hides the edges of published splits. It sets the name and the repeats of the report.
func (c *linksConfig) published(ctx context.Context, r *linksReport) (hidings, error) {
	path := sources.Place(c.splits, "links")
	all, err := links.ReadPublished(ctx, sources.CSV{Path: path})
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	if c.split != "" {
		var some []links.Published
		names, err := items("split", c.split)
		if err != nil {
			return nil, cli.Usage(err)
		}
		for _, name := range names {
			at := slices.IndexFunc(all, func(p links.Published) bool { return p.Name == name })
			if at < 0 {
				return nil, cli.Usage(fmt.Errorf("-split: %s has no split %q", path, name))
			}
			some = append(some, all[at])
		}
		all = some
	}
	r.Dataset, r.Repeats = cli.DataName(c.splits), len(all)
	return func(i int) (*links.Trial, string, error) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(all[i].Name)) // the seed of a split does not depend on the other splits
		t, err := all[i].Trial(ctx, links.Split{Folds: c.folds, MaxEdges: c.most}, rand.New(rand.NewPCG(c.seed, h.Sum64())))
		return t, all[i].Name, err
	}, nil
}

// learn chooses a model on the folds of a trial and predicts the hidden edges.
func (c *linksConfig) learn(ctx context.Context, t *links.Trial, r *linksReport, name string) (err error) {
	valid := choose.LinkRows(t.Folds[0])
	chosen, err := c.choose(ctx, c.systems, fmt.Sprintf("split %s, %d of %d", name, len(r.Models)+1, r.Repeats), choose.Choice{
		Systems: choose.Links(t.Test.Graph), Classes: links.Classes(), Train: choose.LinkRows(t.Folds[1:]...), Valid: valid, Measure: c.score,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.Dataset, err)
	}
	var answers [2]sinks.Answers // class 1 is the link
	for j, rows := range []choose.Rows{choose.LinkRows(t.Test), valid} {
		if err := rows(chosen.Recipe).With(flow.Options{Workers: c.workers}).To(sinks.Predict{Net: chosen.Net, Each: answers[j].Add}).Run(ctx); err != nil {
			return err
		}
	}
	if err := r.scored(c.score, &answers[0], &answers[1]); err != nil {
		return fmt.Errorf("%s: %w", r.Dataset, err)
	}
	r.Models = append(r.Models, chosen.System)
	return r.add(ctx, t, name, &answers[0], &answers[1])
}
