// Command nodes classifies the nodes of one large graph: each node is the root
// of a receptive field, and the fields pass through a pipeline to a network.
//
//	go run ./examples/nodes                                         # communities, generated
//	go run ./examples/nodes -data Cora.zip                          # the split of the file
//	go run ./examples/nodes -data Cora.zip -protocol prequential -out curve.svg
//	go run ./examples/nodes -graph polblogs.edges.gz -labels polblogs.labels.gz
//
// Two protocols:
//
//	split        the network learns from the training nodes; when to stop is
//	             chosen on the validation nodes, and the test nodes are looked at
//	             once, at the end. Data without a split are dealt by the seed, 60,
//	             20 and 20 % of the nodes with a class; without a validation part
//	             a fifth of the training nodes becomes one. With few nodes to learn
//	             from, networks read fields or, in place of them, features that were
//	             propagated over the edges; with many, fields without or with the classes
//	             of training nodes. Their predictions may propagate to the
//	             neighbours. With few nodes to learn from a model of words, the features
//	             that are found around a node, answers in their place or beside them,
//	             where that is better. All this is chosen on the validation nodes.
//	prequential  all nodes arrive once, in an order that the seed decides; each is
//	             predicted before the network learns from it.
//
// The graph and the attributes of all nodes are known from the start, as is
// usual for such data; classes are not. With -neighbour-labels the classes that
// are known at the time (of training nodes, or of nodes that came before) are
// an attribute of the other members of a field, never of its root.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks/nodes"
)

func main() { cli.Main("nodes", run) }

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

// config is the command line.
type config struct {
	data, graph, labels string
	normBy              string
	protocol            string
	net                 string
	identity            nodes.Choice
	smooth, decay       float64
	window              int
	seed                uint64
	fit                 nodes.Fit
	out, json           string
	live                *cli.Page
	format              string // of out
}

func parse(args []string) (*config, error) {
	c := &config{}
	f := cli.Flags("nodes", "classifies the nodes of one large graph by their receptive fields, by a split or\nas a stream in which each node is predicted before it is learned from. The default is\na generated graph of communities.")
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
	f.Uint64Var(&c.seed, "seed", 1, "seed of splits, weights and orders")
	cli.Workers(f, &c.fit.Workers)
	f.StringVar(&c.out, "out", "", "file for a picture of the curve, .svg or .png")
	c.live = cli.Live(f)
	f.StringVar(&c.json, "json", "", "file for the results")
	if err := cli.Parse(f, args); err != nil {
		return nil, err
	}
	if c.protocol == "split" {
		cli.NoEffect(f, "-protocol split has no windows", "window")
	}
	if c.net == "cnn" {
		cli.NoEffect(f, "it is of -model-kind pooled", "maps")
	}
	return c, c.check()
}

func (c *config) check() (err error) {
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
	if c.format, err = picture.Format(c.out); err != nil {
		return err
	}
	if c.fit.By, err = labeling.Parse(c.normBy); err != nil {
		return fmt.Errorf("-normalize: %w", err)
	}
	if c.fit.By == labeling.Auto {
		return errors.New("-normalize is auto, which is for collections of graphs")
	}
	return cli.CheckBound(c.fit.Bound, c.fit.K)
}

// settle gives the settings that are left open the values that fit the data.
func (c *config) settle(d *dataset) {
	c.fit.Seed, c.fit.Progress = c.seed, cli.Stages()
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
func (c *config) newNet(seed uint64, rate, decay float64) nn.Model {
	opt := nn.Adam{Rate: rate, WeightDecay: decay}
	if c.net == "cnn" {
		return &nn.CNN{Seed: seed, Optimizer: opt}
	}
	return &nn.Pooled{Maps: c.fit.Maps, Seed: seed, Optimizer: opt}
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
	// Places that cannot be written to are found before the work, not after it.
	files, err := cli.CreateAll(c.json, c.out)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	d, err := load(ctx, c)
	if err != nil {
		return err
	}
	c.settle(d)
	r := newReport(c, d)
	if c.protocol == "split" {
		err = r.bySplit(ctx, c, d)
	} else {
		err = prequential(ctx, c, d, r)
	}
	if err != nil {
		return err
	}
	if r.roots > 0 {
		r.RootsPerS = float64(r.roots) / r.rootSeconds
	}
	r.Seconds, r.PeakRSSMB = time.Since(start).Seconds(), cli.PeakRSS()>>20
	if err := files.Finish(c.out, func() ([]byte, error) { return r.draw(c.format) }); err != nil {
		return err
	}
	if err := files.JSON(c.json, r); err != nil {
		return err
	}
	return r.print(os.Stdout)
}
