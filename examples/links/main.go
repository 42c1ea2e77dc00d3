// Command links finds missing edges: it hides some edges of a graph, learns from the others, and
// predicts which pairs of nodes are joined.
//
//	go run ./examples/links                                 # communities, generated
//	go run ./examples/links -graph power.edges.gz
//	go run ./examples/links -graph polbooks.edges.gz -json links.json
//	go run ./examples/links -data Cora.zip
//
// The test set is a hidden tenth of the edges and as many random unjoined pairs. The edges that are
// left are hidden a part at a time and become the examples to learn from, again with as many pairs
// that are not joined; the first part is for validation. So the fields of each pair, in training
// and test, come from a graph without its edge: the edge would reveal the answer.
//
// What is around a pair is counted, as words: numbers such as the common neighbours
// or how likely random walks lead from one end to the other, the distance, and the
// nodes nearby, by their distance from either end and their degree. The model is
// the one that is best for graphs (see examples/classify -model-kind best), logistic
// regression by doublings of counts with ten heads. With -model-kind pooled or link each
// end of a pair is the root of a field instead, whose members are labelled by their
// distance from either end and by their degree, and networks read the fields.
//
// The predictions are compared with scores that need no learning, on the same pairs: common
// neighbours, the index of Adamic and Adar, that of Katz, and the product of the degrees.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/links"
)

func main() { cli.Main("links", run) }

// words is the model that reads no fields.
const words = "words"

// config is the command line.
type config struct {
	data, graph    string
	k              int
	normBy         string
	normal         labeling.Labeling
	share          float64
	folds, repeats int
	most           int
	net            string
	nets           int
	score          validation.Measure
	epochs, batch  int
	rate, decay    float64
	seed           uint64
	workers        int
	json           string
	live           *cli.Page
}

func parse(args []string) (*config, error) {
	c := &config{}
	f := cli.Flags("links", "hides edges of a graph, learns from the others, and predicts the hidden ones, compared\nwith common neighbours, Adamic–Adar, Katz and the product of degrees. The default is a\ngenerated graph of communities.")
	f.StringVar(&c.graph, "graph", "", "edge list, maybe packed by gzip, or its name in $SANFLOW_DATA/graphs; directions are dropped")
	f.StringVar(&c.data, "data", "", "in place of -graph, a zip or directory with edges.txt, labels.txt and maybe features.txt; or its name in $SANFLOW_DATA/nodes; classes are not looked at")
	cli.K(f, &c.k, "networks: ")
	f.StringVar(&c.normBy, "normalize", "wl", "networks: labeling that orders the nodes of a field: "+labeling.Usage())
	cli.Float(f, &c.share, "share", 0.1, 0, 0.5, "share of the edges to hide for the test")
	cli.Int(f, &c.folds, "folds", 10, 2, 1_000_000, "parts in which the other edges are hidden in turn, to learn from")
	cli.Int(f, &c.most, "max-edges", 20000, 0, cli.Many, "most edges to learn from, drawn at random; 0 = all")
	cli.Int(f, &c.repeats, "repeats", 0, 0, 1_000_000, "repeats, each with other edges hidden; 0 = until 500 edges were hidden, at most 10")
	f.StringVar(&c.net, "model-kind", words, "model: words, logistic regression on counts around a pair; or a network that reads fields: pooled, which shares weights among the nodes of a field, or link, which has weights for each position")
	cli.Int(f, &c.nets, "nets", 3, 1, 1<<16, "networks whose predictions are averaged; words are one model")
	cli.Int(f, &c.epochs, "epochs", 200, 1, cli.Many, "most epochs; of a network that with the best validation counts, of words that with the lowest loss of pairs that a head holds out")
	cli.Score(f, &c.score, "what epochs are chosen by on the validation pairs, and is reported beside AUC and average precision; without it networks go by the sum of these two, and words by the loss of pairs that a head holds out")
	cli.Int(f, &c.batch, "batch", 32, 1, cli.Many, "pairs per step; for a network each side counted")
	cli.Float(f, &c.rate, "rate", 0, 0, 10, "learning rate; 0 = 0.05 for words, 0.01 for a network")
	cli.Float(f, &c.decay, "decay", 0.1, 0, 1000, "networks: weight decay")
	f.Uint64Var(&c.seed, "seed", 1, "seed of hidden edges, drawn pairs, weights and orders")
	cli.Workers(f, &c.workers)
	c.live = cli.Live(f)
	f.StringVar(&c.json, "json", "", "file for the results")
	if err := cli.Parse(f, args); err != nil {
		return nil, err
	}
	if c.net == words {
		cli.NoEffect(f, "-model-kind words reads no fields", "k", "normalize", "nets", "decay")
	}
	return c, c.check()
}

func (c *config) check() (err error) {
	switch {
	case c.data != "" && c.graph != "":
		return errors.New("-graph and -data are both set, want one")
	case c.share == 0:
		return fmt.Errorf("-share is %v, want more than 0 and at most 0.5", c.share)
	case c.net != words && c.net != "pooled" && c.net != "link":
		return fmt.Errorf("-model-kind is %q, want words, pooled or link", c.net)
	}
	if err := cli.CheckScore(c.score, false); err != nil {
		return err
	}
	if c.normal, err = labeling.Parse(c.normBy); err != nil {
		return fmt.Errorf("-normalize: %w", err)
	}
	if c.normal == labeling.Auto {
		return errors.New("-normalize is auto, which is for collections of graphs")
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	if c.net == words {
		c.k, c.nets, c.decay = 0, 1, 0
	}
	if c.rate == 0 {
		c.rate = 0.01
		if c.net == words {
			c.rate = 0.05
		}
	}
	return nil
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
	start := time.Now()
	// A place that cannot be written to is found before the work, not after it.
	files, err := cli.CreateAll(c.json)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	g, err := read(ctx, c)
	if err != nil {
		return err
	}
	hidden := max(1, int(c.share*float64(g.M())+0.5))
	if c.repeats == 0 {
		c.repeats = min(10, (500+hidden-1)/hidden)
	}
	r := &report{
		Dataset: c.name(), Nodes: g.N(), Edges: g.M(), K: c.k,
		Hidden: hidden, Share: c.share, Repeats: c.repeats,
		Batch: c.batch, Rate: c.rate, Decay: c.decay, Net: c.net, Nets: c.nets,
		Seed: c.seed,
	}
	if c.net != words {
		r.Normalize = c.normal.String()
	}
	for i := range c.repeats {
		if err := try(ctx, c, g, r, uint64(i)); err != nil {
			return err
		}
	}
	r.close()
	r.Scored = cli.NewScored(c.score, cli.MeanScore(r.scores), cli.MeanScore(r.valScores))
	r.Seconds, r.PeakRSSMB = time.Since(start).Seconds(), cli.PeakRSS()>>20
	if err := files.JSON(c.json, r); err != nil {
		return err
	}
	return r.print(os.Stdout)
}

// try hides edges once, and finds them.
func try(ctx context.Context, c *config, g *graph.Graph, r *report, i uint64) error {
	rng := rand.New(rand.NewPCG(c.seed, i))
	t, err := links.Split{Share: c.share, Folds: c.folds, MaxEdges: c.most}.Hide(ctx, g, rng)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Dataset, err)
	}
	pairs := len(t.Test.Pairs)
	for _, f := range t.Folds {
		pairs += len(f.Pairs)
	}
	bar := cli.NewProgress(fmt.Sprintf("%d of %d: pairs", i+1, c.repeats), int64(pairs))
	defer bar.Done()
	var rows [3]*sinks.Collect
	for j, folds := range [3][]links.Fold{t.Folds[1:], t.Folds[:1], {t.Test}} {
		if rows[j], err = c.rows(ctx, r, bar, folds...); err != nil {
			return err
		}
		defer rows[j].Release()
	}
	bar.Done()
	bar = cli.NewProgress(fmt.Sprintf("%d of %d: epochs", i+1, c.repeats), -1)
	defer bar.Done()
	test, val, epochs, err := learn(ctx, c, t, rows, rng, bar)
	if err != nil {
		return err
	}
	if c.score != "" {
		if err := r.scored(c.score, test, val); err != nil {
			return fmt.Errorf("%s: %w", r.Dataset, err)
		}
	}
	return r.add(ctx, t, test, val, epochs)
}
