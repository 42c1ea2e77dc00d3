package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/nodes"
)

// choice is a flag that is on, off, or left to the validation nodes.
type choice struct {
	of   *nodes.Choice
	bare bool // the name of the flag alone stands for on
}

var choices = []string{nodes.Auto: "auto", nodes.On: "on", nodes.Off: "off"}

func (c choice) String() string {
	if c.of == nil {
		return ""
	}
	return choices[*c.of]
}

// IsBoolFlag lets package flag accept the flag without a value.
func (c choice) IsBoolFlag() bool { return c.bare }

// Set reads on, off, auto and the values of strconv.ParseBool.
func (c choice) Set(s string) error {
	i := slices.Index(choices, s)
	if b, err := strconv.ParseBool(s); err == nil {
		if i = int(nodes.Off); b {
			i = int(nodes.On)
		}
	}
	if i < 0 {
		return errors.New("want auto, on or off")
	}
	*c.of = nodes.Choice(i)
	return nil
}

// nodesConfig is the flags of -task nodes.
type nodesConfig struct {
	*command
	data, graph, labels string
	normBy              string
	protocol            string
	net                 string
	identity            nodes.Choice
	smooth, decay       float64
	window              int
	fit                 nodes.Fit
}

const nodesUsage = `classifies the nodes of one large graph by their receptive fields, by a split or
as a stream in which each node is predicted before it is learned from. The default is
a generated graph of communities.

  benchmark -task nodes                                         communities, generated
  benchmark -task nodes -data Cora.zip                          the split of the file
  benchmark -task nodes -data Cora.zip -protocol prequential -out curve.svg
  benchmark -task nodes -graph polblogs.edges.gz -labels polblogs.labels.gz

Protocol split: the network learns from the training nodes; when to stop is chosen on the validation
nodes, and the test nodes are looked at once, at the end. Data without a split are dealt by the seed,
60, 20 and 20 % of the nodes with a class; without a validation part a fifth of the training nodes
becomes one. Protocol prequential: all nodes arrive once, in an order that the seed decides; each is
predicted before the network learns from it.

The graph and the attributes of all nodes are known from the start; classes are not. With
-neighbour-labels the classes that are known at the time (of training nodes, or of nodes that came
before) are an attribute of the other members of a field, never of its root.`

func nodesTask(ctx context.Context, args []string) error {
	c := &nodesConfig{command: newCommand(nodesUsage)}
	f := c.FlagSet
	f.StringVar(&c.data, "data", "", "zip or directory with edges.txt, labels.txt and maybe features.txt and split.txt, or its name in $SANFLOW_DATA/nodes")
	f.StringVar(&c.graph, "graph", "", "edge list, in place of -data; maybe packed by gzip")
	f.StringVar(&c.labels, "labels", "", "classes of the nodes of -graph, \"node class\" a line; maybe packed by gzip")
	cli.K(f, &c.fit.K, "")
	cli.Bound(f, &c.fit.Bound)
	f.StringVar(&c.normBy, "normalize", "wl", "labeling that orders the nodes of a field: "+labeling.Usage())
	f.StringVar(&c.protocol, "protocol", "split", "split or prequential")
	f.StringVar(&c.net, "model-kind", "pooled", "network: pooled, which shares weights among the nodes of a field, or cnn, the paper's")
	cli.Int(f, &c.fit.Nets, "nets", 0, 0, 1<<16, "networks whose predictions are averaged; 0 = 5 for a split with up to 5000 nodes to learn from, else 1")
	f.Var(choice{of: &c.identity}, "identity", "whether the number of a node is an attribute: on, off, or auto, which is on without other attributes")
	f.Var(choice{of: &c.fit.Propagate}, "propagate", "split: whether a network reads, in place of fields, features that were propagated over the edges: on, off, or auto, which chooses on the validation nodes with up to 5000 training nodes and not too many features, else off")
	f.Float64Var(&c.smooth, "smooth", -1, "split: share, up to 0.99, of the prediction for a node that propagates to its neighbours; 0 = none, -1 = chosen on the validation nodes, of 0, 0.5, 0.8, 0.9 and 0.95")
	f.Var(choice{of: &c.fit.Words}, "words", "split: whether logistic regression on words, the sparse features (or numbers) of the nodes around a node, may replace or join the networks, if that is better on the validation nodes: on, off, or auto, which is on with up to 5000 nodes to learn from; with more it takes minutes")
	f.Var(choice{&c.fit.Known, true}, "neighbour-labels", "whether the known classes of the other nodes of a field are an attribute, `on|off|auto`; the flag alone is on; auto is chosen on the validation nodes for a split with more than 5000 nodes to learn from, else off")
	cli.Score(f, &c.fit.Measure, "split: what is chosen by on the validation nodes, epochs too, and reported; without it the accuracy")
	cli.Int(f, &c.fit.Epochs, "epochs", 0, 0, cli.Many, "split: maximum of epochs; the epoch with the best validation accuracy counts; 0 = 200. prequential: steps per batch, those after the first with nodes seen before; 0 = 4")
	cli.Int(f, &c.fit.Batch, "batch", 0, 0, cli.Many, "nodes per step; 0 = 32 for split, 8 for prequential")
	cli.Float(f, &c.fit.Rate, "rate", 0, 0, 10, "learning rate; 0 = 0.03 for a split with up to 5000 nodes to learn from, 0.003 for a larger one, 0.01 for prequential")
	f.Float64Var(&c.decay, "decay", -1, "weight decay; -1 = chosen on the validation nodes, of 0, 0.3 and 3, with up to 5000 training nodes, else 0")
	cli.Int(f, &c.fit.Maps, "maps", 0, 0, 1<<20, "outputs of the pooled network's first layer; 0 = four per class, at least 64")
	cli.Int(f, &c.window, "window", 0, 0, cli.Many, "prequential: nodes per window of the curve, rounded up to whole batches; 0 = a fiftieth of the stream")
	c.Output("out", "file for a picture of the curve, .svg or .png")
	if err := c.parse(args); err != nil {
		return err
	}
	if c.protocol == "split" {
		cli.NoEffect(f, "-protocol split has no windows", "window")
	}
	if c.net == "cnn" {
		cli.NoEffect(f, "it is of -model-kind pooled", "maps")
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.Run(ctx, c.learn)
}

func (c *nodesConfig) check() (err error) {
	switch {
	case c.data != "" && (c.graph != "" || c.labels != ""):
		return errors.New("-data and -graph or -labels are both set, want one")
	case c.graph != "" && c.labels == "":
		return errors.New("-graph is set without -labels")
	case c.protocol != "split" && c.protocol != "prequential":
		return fmt.Errorf("-protocol is %q, want split or prequential", c.protocol)
	case c.net != "pooled" && c.net != "cnn":
		return fmt.Errorf("-model-kind is %q, want pooled or cnn", c.net)
	case !(c.smooth == -1 || c.smooth >= 0 && c.smooth <= 0.99): // rounds grow as 1/(1-share)
		return fmt.Errorf("-smooth is %v, want -1, or 0 to 0.99", c.smooth)
	case c.protocol == "prequential" && (c.fit.Propagate == nodes.On || c.smooth > 0 || c.fit.Words == nodes.On):
		return errors.New("-propagate, -smooth and -words are of -protocol split")
	case c.protocol == "prequential" && c.fit.Measure != "":
		return errors.New("-score is of -protocol split: a stream has nothing to choose")
	case c.fit.Propagate == nodes.On && c.fit.Known == nodes.On:
		return errors.New("-propagate and -neighbour-labels are both set, want one: propagated features are no fields")
	case !(c.decay == -1 || c.decay >= 0 && c.decay <= 1000):
		return fmt.Errorf("-decay is %v, want -1, or 0 to 1000", c.decay)
	}
	if err := cli.CheckScore(c.fit.Measure, false); err != nil {
		return err
	}
	if c.fit.By, err = orderOf(c.normBy); err != nil {
		return err
	}
	return cli.CheckBound(c.fit.Bound, c.fit.K)
}

// orderOf is the labeling of -normalize for the fields of one graph.
func orderOf(name string) (labeling.Labeling, error) {
	by, err := labeling.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("-normalize: %w", err)
	}
	if by == labeling.Auto {
		return nil, errors.New("-normalize is auto, which is for collections of graphs")
	}
	return by, nil
}

// settle gives the settings that are left open the values that fit the data.
func (c *nodesConfig) settle(d *nodeParts) {
	bar := cli.Stages()
	c.fit.Seed, c.fit.Workers, c.fit.Progress = c.seed, c.workers, func(stage string, done, total int) { bar(stage, int64(done), int64(total)) }
	if c.decay >= 0 {
		c.fit.Decays = []float64{c.decay}
	}
	if c.smooth >= 0 {
		c.fit.Smooth = []float64{c.smooth}
	}
	if c.net == "cnn" {
		c.fit.New = c.newNet
	}
	if d.identity && c.fit.Propagate == nodes.Auto {
		c.fit.Propagate = nodes.Off
	}
	if c.protocol == "prequential" {
		c.fit.Batch, c.fit.Nets, c.fit.Epochs = cmp.Or(c.fit.Batch, 8), cmp.Or(c.fit.Nets, 1), cmp.Or(c.fit.Epochs, 4)
		if c.fit.Rate = cmp.Or(c.fit.Rate, 0.01); c.fit.Decays == nil {
			c.fit.Decays = []float64{0}
		}
	}
	c.fit = c.fit.WithDefaults(len(d.train), len(d.Classes))
}

// newNet returns the network that -model-kind names.
func (c *nodesConfig) newNet(seed uint64, rate, decay float64) nn.Model {
	opt := nn.Adam{Rate: rate, WeightDecay: decay}
	if c.net == "cnn" {
		return &nn.CNN{Seed: seed, Optimizer: opt}
	}
	return &nn.Pooled{Maps: c.fit.Maps, Seed: seed, Optimizer: opt}
}

func (c *nodesConfig) learn(ctx context.Context) (cli.Result, error) {
	start := time.Now()
	d, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	c.settle(d)
	r := newNodesReport(c, d)
	if c.protocol == "split" {
		err = r.bySplit(ctx, c, d)
	} else {
		err = r.prequential(ctx, c, d)
	}
	r.close(start)
	return r, err
}

// bySplit learns from the training nodes, chooses by the validation nodes, and asks about
// the test nodes once.
func (r *nodesReport) bySplit(ctx context.Context, c *nodesConfig, d *nodeParts) error {
	defer c.fit.Progress("", 0, 0)
	switch {
	case c.fit.Words == nodes.On && d.Graph.SparseCard == 0:
		return fmt.Errorf("%s: -words is on, and the nodes have no sparse features, nor numbers in their place", d.name)
	case c.fit.Propagate == nodes.On && d.Graph.SparseCard+d.Graph.NodeAttrs == 0:
		return fmt.Errorf("%s: -propagate is on, and the nodes have no features", d.name)
	}
	f, err := c.fit.Run(ctx, d.NodeSet, d.train, d.val)
	if err != nil {
		return err
	}
	for _, one := range f.PerNetwork {
		r.EachAccuracy = append(r.EachAccuracy, one.Of(d.test).Accuracy())
	}
	switch {
	case f.Nets && f.Words:
		r.Model = modelBoth
	case f.Words:
		r.Model = modelWords
	}
	r.Epochs, r.curve, r.Decay = f.Epochs, f.Curve, f.Decay
	r.NeighbourLabels, r.Propagated = f.Known, f.Propagated
	r.Smooth, r.SmoothKnown = f.Smooth, f.SmoothClasses
	r.ValAccuracy, r.Accuracy = f.Probabilities.Of(d.val).Accuracy(), f.Probabilities.Of(d.test).Accuracy()
	r.Scored = cli.NewScored(c.fit.Measure, f.Probabilities.Of(d.test).By, f.Probabilities.Of(d.val).By)
	r.roots, r.rootSeconds = f.Fields, f.Took.Seconds()
	return nil
}

// prequential lets all nodes with a class come in batches. The networks predict each batch before they learn
// from it, then learn from as many nodes drawn from all that have come.
func (r *nodesReport) prequential(ctx context.Context, c *nodesConfig, d *nodeParts) error {
	// A node is known once the batch that it came in has been learned from.
	n := len(d.test)
	came := slices.Repeat([]int{n}, len(d.Class))
	for i, v := range d.test {
		came[v] = i
	}
	p := c.fit.Fields(flow.From(d.NodeSet), d.test).Via(operators.Batch{Size: c.fit.Batch})
	if c.fit.Known == nodes.On {
		p = p.Via(operators.KnownClasses{Class: d.Class, Names: d.Classes, Known: func(first, v int32) bool { return came[v] < came[first] }})
	}
	start, all := time.Now(), new(sinks.Collect)
	defer all.Release()
	if _, err := cli.Run(ctx, p.Via(operators.Batch{Size: n}).To(all), "receptive fields", int64(n), cli.Last); err != nil {
		return err
	}
	rows := all.Records()[0]
	if r.Window = c.window; r.Window == 0 {
		r.Window = n / 50
	}
	// A window is some whole batches.
	r.Window = max(1, (r.Window+c.fit.Batch-1)/c.fit.Batch) * c.fit.Batch
	right, was, from := 0, 0, 0 // was and from: right and rows when the window began
	var said *sinks.Probabilities
	var train []flow.Writer
	at := 0 // rows of a batch that a network has been asked about
	for i := range c.fit.Nets {
		net := c.newNet(newRand(c.seed, streamNets+uint64(i)<<8).Uint64(), c.fit.Rate, c.fit.Decays[0])
		w, err := sinks.Train{Net: net, OnRow: func(p sinks.Prediction) error {
			if at++; at <= len(said.Target) {
				said.Set(at-1, p)
			}
			return nil
		}}.Open(rows.Schema())
		if err != nil {
			return err
		}
		train = append(train, w)
	}
	rng, bar := newRand(c.seed, streamRehearsed), cli.NewProgress("predict, then learn", int64(n))
	defer bar.Done()
	for first := 0; first < n; first += c.fit.Batch {
		last := min(n, first+c.fit.Batch)
		said = sinks.NewProbabilities(last-first, len(d.Classes))
		for step := range c.fit.Epochs {
			refs := make([]record.Ref, last-first)
			for i := range refs {
				if refs[i].Row = int32(first + i); step > 0 {
					refs[i].Row = int32(rng.IntN(last))
				}
			}
			batch, err := record.Take(memory.DefaultAllocator, []arrow.Record{rows}, refs)
			for _, w := range train {
				if at = step * len(refs); err == nil {
					err = w.Write(ctx, batch)
				}
			}
			if err != nil {
				return err
			}
			batch.Release()
		}
		right += said.Correct()
		if bar.Add(int64(last - first)); last-from >= r.Window || last == n {
			r.WindowAccuracy = append(r.WindowAccuracy, 100*float64(right-was)/float64(last-from))
			r.Accuracy = 100 * float64(right) / float64(last)
			r.curve = append(r.curve, r.Accuracy)
			was, from = right, last
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	r.roots, r.rootSeconds = n, time.Since(start).Seconds()
	return nil
}
