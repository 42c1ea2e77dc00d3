package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/links"
)

// pairWords is the model of links that reads no fields.
const pairWords = "words"

// linksConfig is the flags of -task links.
type linksConfig struct {
	*command
	data, graph    string
	k              int
	normal         labeling.Labeling
	share          float64
	folds, repeats int
	most           int
	net            string
	nets           int
	score          validation.Measure
	epochs, batch  int
	rate, decay    float64
}

const linksUsage = `hides edges of a graph, learns from the others, and predicts the hidden ones, compared
with common neighbours, Adamic–Adar, Katz and the product of degrees. The default is a
generated graph of communities.

  benchmark -task links                                 communities, generated
  benchmark -task links -graph power.edges.gz
  benchmark -task links -graph polbooks.edges.gz -json links.json
  benchmark -task links -data Cora.zip

The test set is a hidden tenth of the edges and as many random unjoined pairs. The edges that are
left are hidden a part at a time and become the examples to learn from, again with as many pairs
that are not joined; the first part is for validation. So the fields of each pair, in training and
test, come from a graph without its edge: the edge would reveal the answer.

What is around a pair is counted, as words: numbers such as the common neighbours or how likely
random walks lead from one end to the other, the distance, and the nodes nearby, by their distance
from either end and their degree. With -model-kind pooled or link each end of a pair is the root of
a field instead, whose members are labelled by their distance from either end and by their degree,
and networks read the fields.`

func linksTask(ctx context.Context, args []string) error {
	c, normBy := &linksConfig{command: newCommand(linksUsage)}, ""
	f := c.FlagSet
	f.StringVar(&c.graph, "graph", "", "edge list, maybe packed by gzip, or its name in $SANFLOW_DATA/graphs; directions are dropped")
	f.StringVar(&c.data, "data", "", "in place of -graph, a zip or directory with edges.txt, labels.txt and maybe features.txt; or its name in $SANFLOW_DATA/nodes; classes are not looked at")
	cli.K(f, &c.k, "networks: ")
	f.StringVar(&normBy, "normalize", "wl", "networks: labeling that orders the nodes of a field: "+labeling.Usage())
	cli.Float(f, &c.share, "share", 0.1, 0, 0.5, "share of the edges to hide for the test")
	cli.Int(f, &c.folds, "folds", 10, 2, 1_000_000, "parts in which the other edges are hidden in turn, to learn from")
	cli.Int(f, &c.most, "max-edges", 20000, 0, cli.Many, "most edges to learn from, drawn at random; 0 = all")
	cli.Int(f, &c.repeats, "repeats", 0, 0, 1_000_000, "repeats, each with other edges hidden; 0 = until 500 edges were hidden, at most 10")
	f.StringVar(&c.net, "model-kind", pairWords, "model: words, logistic regression on counts around a pair; or a network that reads fields: pooled, which shares weights among the nodes of a field, or link, which has weights for each position")
	cli.Int(f, &c.nets, "nets", 3, 1, 1<<16, "networks whose predictions are averaged; words are one model")
	cli.Int(f, &c.epochs, "epochs", 200, 1, cli.Many, "most epochs; of a network that with the best validation counts, of words that with the lowest loss of pairs that a head holds out")
	cli.Score(f, &c.score, "what epochs are chosen by on the validation pairs, and is reported beside AUC and average precision; without it networks go by the sum of these two, and words by the loss of pairs that a head holds out")
	cli.Int(f, &c.batch, "batch", 32, 1, cli.Many, "pairs per step; for a network each side counted")
	cli.Float(f, &c.rate, "rate", 0, 0, 10, "learning rate; 0 = 0.05 for words, 0.01 for a network")
	cli.Float(f, &c.decay, "decay", 0.1, 0, 1000, "networks: weight decay")
	if err := c.parse(args); err != nil {
		return err
	}
	switch {
	case c.data != "" && c.graph != "":
		return errors.New("-graph and -data are both set, want one")
	case c.share == 0:
		return fmt.Errorf("-share is %v, want more than 0 and at most 0.5", c.share)
	case c.net != pairWords && c.net != "pooled" && c.net != "link":
		return fmt.Errorf("-model-kind is %q, want words, pooled or link", c.net)
	}
	if err := cli.CheckScore(c.score, false); err != nil {
		return err
	}
	var err error
	if c.normal, err = orderOf(normBy); err != nil {
		return err
	}
	rate := 0.01
	if c.net == pairWords {
		cli.NoEffect(f, "-model-kind words reads no fields", "k", "normalize", "nets", "decay")
		c.k, c.nets, c.decay, rate = 0, 1, 0, 0.05
	}
	if c.rate == 0 {
		c.rate = rate
	}
	return c.Run(ctx, c.find)
}

// read returns the graph that the command line names, with its attributes where it has some, and
// what it is called; directions are dropped.
func (c *linksConfig) read(ctx context.Context) (string, *graph.Graph, error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	set, name := &sources.NodeSet{}, cli.DataName(c.data+c.graph)
	var err error
	switch {
	case c.data != "":
		set, err = sources.Nodes{Path: sources.Place(c.data, "nodes")}.Read(ctx)
	case c.graph == "":
		name = "communities"
		set.Graph, _, err = generate.Communities(200, 5, 8, 1, c.seed)
	default:
		var list *sources.TableSet
		if list, err = (sources.EdgeList{Path: sources.Place(c.graph, "graphs")}).Read(ctx); err == nil {
			set.Graph = list.Items[0].Graph
		}
	}
	if err != nil {
		return name, nil, cli.Cause(ctx, err)
	}
	set.Standardize()
	return name, set.Graph, nil
}

// find hides edges and predicts them, repeat by repeat.
func (c *linksConfig) find(ctx context.Context) (cli.Result, error) {
	start := time.Now()
	name, g, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	hidden := max(1, int(c.share*float64(g.M())+0.5))
	if c.repeats == 0 {
		c.repeats = min(10, (500+hidden-1)/hidden)
	}
	r := &linksReport{
		Dataset: name, Nodes: g.N(), Edges: g.M(), K: c.k,
		Hidden: hidden, Share: c.share, Repeats: c.repeats,
		Batch: c.batch, Rate: c.rate, Decay: c.decay, Net: c.net, Nets: c.nets,
		Seed: c.seed,
	}
	if c.net != pairWords {
		r.Normalize = c.normal.String()
	}
	for i := range c.repeats {
		if err := c.try(ctx, g, r, i); err != nil {
			return nil, err
		}
	}
	r.close()
	r.Scored = cli.NewScored(c.score, cli.MeanScore(r.scores), cli.MeanScore(r.valScores))
	r.Seconds, r.PeakRSSMB = time.Since(start).Seconds(), cli.PeakRSS()>>20
	return r, nil
}

// try hides edges once, and finds them.
func (c *linksConfig) try(ctx context.Context, g *graph.Graph, r *linksReport, i int) error {
	rng := rand.New(rand.NewPCG(c.seed, uint64(i)))
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
	test, val, epochs, err := c.learn(ctx, t, rows, rng, bar)
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

// rows collects the rows of some folds. Networks read each pair from both sides.
func (c *linksConfig) rows(ctx context.Context, r *linksReport, bar *cli.Progress, folds ...links.Fold) (*sinks.Collect, error) {
	recipe := operators.Recipe{operators.Assemble{K: c.k}, operators.Normalize{By: c.normal, IgnoreAttributes: true, KeepGraph: true}, operators.PairLabels{}}
	if c.net == pairWords {
		recipe = operators.Recipe{operators.Count{Of: []count.Counter{count.Pair{}}, DropGraph: true}}
	}
	start, out := time.Now(), new(sinks.Collect)
	src := links.Rows(c.net != pairWords, folds...)
	err := recipe.Onto(flow.From(src)).Via(operators.Batch{Size: 256}).With(flow.Options{Workers: c.workers}).To(out).Run(ctx)
	for i, f := range folds {
		r.roots += len(src.Graphs[i].Roots)
		bar.Add(int64(len(f.Pairs)))
	}
	r.rootSeconds += time.Since(start).Seconds()
	if err != nil {
		out.Release()
	}
	return out, err
}

// again is a pipeline of collected rows.
func again(rows *sinks.Collect) flow.Pipeline {
	return flow.From(sources.Records{Records: rows.Records()}).
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: 1})
}

// pairsOf is what models say of the pairs of a fold, link = 1.
func pairsOf(f links.Fold) *sinks.Probabilities { return sinks.NewProbabilities(len(f.Pairs), 2) }

// learn trains models on the pairs of all folds but the first, stops each by those of the first,
// unless it holds pairs out by itself, and returns what they think of the test pairs.
func (c *linksConfig) learn(ctx context.Context, t *links.Trial, rows [3]*sinks.Collect, rng *rand.Rand, bar *cli.Progress) (test, val *sinks.Probabilities, epochs []int, err error) {
	train, valid, hidden := again(rows[0]), again(rows[1]), again(rows[2])
	test, val = pairsOf(t.Test), pairsOf(t.Folds[0])
	examples := 0
	for _, rec := range rows[0].Records() {
		examples += int(rec.NumRows())
	}
	batches := (examples-1)/c.batch + 1
	for range c.nets {
		net := c.newNet(rng.Uint64())
		fit := sinks.Fit{
			Net: net, Epochs: c.epochs, Batch: c.batch, Seed: rng.Uint64(), Patience: 10,
			OnEpoch: func(sinks.Epoch) error { bar.Add(1); return nil },
		}
		switch {
		case c.score != "":
			fit.Valid, fit.Measure = &valid, c.score
		case !nn.HoldsOut(net):
			fit.Patience = max(3, min(20, 4000/batches))
			fit.Test = func(ctx context.Context) (float64, error) {
				said := pairsOf(t.Folds[0])
				err := valid.To(said.Ask(net)).Run(ctx)
				return -validation.AUC(said.Ranking(1)) - validation.AveragePrecision(said.Ranking(1)), err
			}
		}
		fitted, err := fit.Run(ctx, train)
		if err != nil {
			return nil, nil, nil, err
		}
		epochs = append(epochs, fitted.Best)
		if err := valid.To(val.Ask(net)).Run(ctx); err != nil {
			return nil, nil, nil, err
		}
		if err := hidden.To(test.Ask(net)).Run(ctx); err != nil {
			return nil, nil, nil, err
		}
	}
	return test, val, epochs, nil
}

// newNet returns the model that -model-kind names.
func (c *linksConfig) newNet(seed uint64) nn.Model {
	opt := nn.Adam{Rate: c.rate, WeightDecay: c.decay}
	switch c.net {
	case pairWords:
		m := nn.Best()
		m.Workers, m.Optimizer = c.workers, nn.AdaGrad{Rate: c.rate, Epsilon: 1e-3}
		return m
	case "link":
		return &nn.Link{Seed: seed, Optimizer: opt}
	}
	return &nn.Pooled{Seed: seed, Optimizer: opt}
}
