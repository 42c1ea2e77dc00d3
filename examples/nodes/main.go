// Command nodes tells the nodes of one large graph apart: each node is the root
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
//	             spread over the edges; with many, fields without or with the classes
//	             of training nodes. What they say of a node may go on to its
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
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

func main() { cli.Main("nodes", run) }

// Values of settings that may be left to the validation nodes.
const (
	auto = "auto"
	yes  = "on"
	no   = "off"
)

// choice is a flag that is on, off, or left open.
type choice string

func (c *choice) String() string { return string(*c) }

// IsBoolFlag lets the name of the flag alone stand for on.
func (c *choice) IsBoolFlag() bool { return true }

// Set reads what strconv.ParseBool reads, on, off and auto.
func (c *choice) Set(s string) error {
	switch b, err := strconv.ParseBool(s); {
	case s == auto, s == yes, s == no:
		*c = choice(s)
	case err != nil:
		return errors.New("want auto, true or false")
	case b:
		*c = yes
	default:
		*c = no
	}
	return nil
}

// config is the command line.
type config struct {
	data, graph, labels string
	k, bound            int
	normBy              string
	normal              labeling.Labeling
	protocol            string
	net                 string
	nets                int
	identity            string
	spread              string
	smooth              float64
	words               string
	neighbourLabels     choice
	epochs, batch       int
	rate, decay         float64
	decays              []float64 // to choose from
	maps                int
	window              int
	seed                uint64
	workers             int
	out, json           string
}

func parse(args []string) (*config, error) {
	c := &config{neighbourLabels: auto}
	f := cli.Flags("nodes", "tells the nodes of one large graph apart by their receptive fields, by a split or\nas a stream in which each node is predicted before it is learned from. Without\n-data and -graph it does so on a generated graph of communities.")
	f.StringVar(&c.data, "data", "", "zip or directory with edges.txt, labels.txt and maybe features.txt and split.txt, or its name in $SANFLOW_DATA/nodes")
	f.StringVar(&c.graph, "graph", "", "edge list, in place of -data; maybe packed by gzip")
	f.StringVar(&c.labels, "labels", "", "classes of the nodes of -graph, \"node class\" a line; maybe packed by gzip")
	f.IntVar(&c.k, "k", 20, "nodes per receptive field")
	cli.Bound(f, &c.bound)
	f.StringVar(&c.normBy, "normalize", "wl", "labeling that orders the nodes of a field: "+labeling.Usage())
	f.StringVar(&c.protocol, "protocol", "split", "split or prequential")
	f.StringVar(&c.net, "net", "pooled", "network: pooled, which shares weights among the nodes of a field, or cnn, the paper's")
	f.IntVar(&c.nets, "nets", 0, "networks whose predictions are averaged; 0 = 5 for a split with up to 5000 nodes to learn from, else 1")
	f.StringVar(&c.identity, "identity", "auto", "whether a node's number is an attribute: on, off, or auto, which is on where there are no others")
	f.StringVar(&c.spread, "spread", auto, "split: whether a network reads, in place of fields, features that were spread over the edges: on, off, or auto, which is chosen on the validation nodes where there are up to 5000 nodes to learn from and not too many features, else off")
	f.Float64Var(&c.smooth, "smooth", -1, "split: share, up to 0.99, of what is said of a node that it gives on to its neighbours; 0 = none, -1 = chosen on the validation nodes, of 0, 0.5, 0.8, 0.9 and 0.95")
	f.StringVar(&c.words, "words", auto, "split: whether logistic regression on words, the sparse features (or numbers) of the nodes around a node, may answer in place of the networks or beside them, where that is better on the validation nodes: on, off, or auto, which is on where there are up to 5000 nodes to learn from; with more it takes minutes")
	f.Var(&c.neighbourLabels, "neighbour-labels", "let known classes of the other nodes of a field be an attribute: -neighbour-labels=true, =false, or =auto, which is chosen on the validation nodes for a split with more than 5000 nodes to learn from, else false")
	f.IntVar(&c.epochs, "epochs", 0, "split: most epochs, of which that with the best validation counts; 0 = 200. prequential: steps per batch, those after the first with nodes seen before; 0 = 4")
	f.IntVar(&c.batch, "batch", 0, "nodes per step; 0 = 32 for split, 8 for prequential")
	f.Float64Var(&c.rate, "rate", 0, "learning rate; 0 = 0.03 for a split with up to 5000 nodes to learn from, 0.003 for a larger one, 0.01 for prequential")
	f.Float64Var(&c.decay, "decay", -1, "weight decay; -1 = chosen on the validation nodes, of 0, 0.3 and 3, where there are up to 5000 nodes to learn from, else 0")
	f.IntVar(&c.maps, "maps", 0, "outputs of the pooled network's first layer; 0 = four per class, at least 64")
	f.IntVar(&c.window, "window", 0, "prequential: nodes per window of the curve, rounded up to whole batches; 0 = a fiftieth of the stream")
	f.Uint64Var(&c.seed, "seed", 1, "seed of splits, weights and orders")
	f.IntVar(&c.workers, "workers", 0, "goroutines; 0 = all cores; results do not depend on it")
	f.StringVar(&c.out, "out", "", "file for a picture of the curve, .svg or .png")
	f.StringVar(&c.json, "json", "", "file for the results")
	if err := cli.Parse(f, args); err != nil {
		return nil, err
	}
	if c.protocol == "split" {
		cli.NoEffect(f, "-protocol split has no windows", "window")
	}
	if c.net == "cnn" {
		cli.NoEffect(f, "it is of -net pooled", "maps")
	}
	return c, c.check()
}

func (c *config) check() (err error) {
	switch ext := filepath.Ext(c.out); {
	case c.data != "" && (c.graph != "" || c.labels != ""):
		return errors.New("-data and -graph or -labels are both set, want one")
	case c.graph != "" && c.labels == "":
		return errors.New("-graph is set without -labels")
	case c.protocol != "split" && c.protocol != "prequential":
		return fmt.Errorf("-protocol is %q, want split or prequential", c.protocol)
	case c.net != "pooled" && c.net != "cnn":
		return fmt.Errorf("-net is %q, want pooled or cnn", c.net)
	case c.identity != "auto" && c.identity != "on" && c.identity != "off":
		return fmt.Errorf("-identity is %q, want auto, on or off", c.identity)
	case c.spread != auto && c.spread != yes && c.spread != no:
		return fmt.Errorf("-spread is %q, want auto, on or off", c.spread)
	case c.words != auto && c.words != yes && c.words != no:
		return fmt.Errorf("-words is %q, want auto, on or off", c.words)
	case !(c.smooth == -1 || c.smooth >= 0 && c.smooth <= 0.99): // rounds grow as 1/(1-share)
		return fmt.Errorf("-smooth is %v, want -1, or 0 to 0.99", c.smooth)
	case c.protocol == "prequential" && (c.spread == yes || c.smooth > 0 || c.words == yes):
		return errors.New("-spread, -smooth and -words are of -protocol split")
	case c.spread == yes && c.neighbourLabels == yes:
		return errors.New("-spread and -neighbour-labels are both set, want one: spread features are no fields")
	case !(c.rate >= 0 && c.rate <= 10):
		return fmt.Errorf("-rate is %v, want 0 to 10", c.rate)
	case !(c.decay == -1 || c.decay >= 0 && c.decay <= 1000):
		return fmt.Errorf("-decay is %v, want -1, or 0 to 1000", c.decay)
	case c.out != "" && ext != ".svg" && ext != ".png":
		return fmt.Errorf("-out is %q, want a name that ends in .svg or .png", c.out)
	}
	if c.normal, err = labeling.Parse(c.normBy); err != nil {
		return fmt.Errorf("-normalize: %w", err)
	}
	if c.normal == labeling.Auto {
		return errors.New("-normalize is auto, which is for collections of graphs")
	}
	err = errors.Join(
		cli.AtLeast("k", c.k, 1), cli.CheckBound(c.bound, c.k), cli.AtLeast("epochs", c.epochs, 0), cli.AtLeast("batch", c.batch, 0),
		cli.AtLeast("nets", c.nets, 0), cli.AtLeast("maps", c.maps, 0), cli.AtLeast("window", c.window, 0), cli.AtLeast("workers", c.workers, 0),
	)
	if err == nil && c.k > field.MaxK {
		err = fmt.Errorf("-k is %d, want at most %d", c.k, field.MaxK)
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	return err
}

// few reports whether there are so few nodes to learn from that learning is cheap,
// and over-fitting what there is to fear.
func (d *dataset) few() bool { return len(d.train) <= 5000 }

// settle gives the settings that are left open the values that fit the data.
func (c *config) settle(d *dataset) {
	online, small := c.protocol == "prequential", d.few()
	open := func(v *int, is bool, yes, no int) {
		if *v == 0 {
			*v = no
			if is {
				*v = yes
			}
		}
	}
	open(&c.batch, online, 8, 32)
	open(&c.nets, !online && small, 5, 1)
	open(&c.epochs, online, 4, 200)
	open(&c.maps, true, max(64, 4*len(d.Classes)), 0)
	if c.rate == 0 {
		switch {
		case online:
			c.rate = 0.01
		case small:
			c.rate = 0.03
		default:
			c.rate = 0.003
		}
	}
	c.decays = []float64{c.decay}
	if c.decay < 0 {
		c.decays = []float64{0}
		if !online && small {
			c.decays = []float64{0, 0.3, 3}
		}
	}
}

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	start := time.Now()
	// Places that cannot be written to are found before the work, not after it.
	jsonFile, err := cli.Create(c.json)
	if err != nil {
		return err
	}
	defer jsonFile.Cleanup()
	picture, err := cli.Create(c.out)
	if err != nil {
		return err
	}
	defer picture.Cleanup()
	d, err := load(ctx, c)
	if err != nil {
		return err
	}
	c.settle(d)
	r := newReport(c, d)
	if c.protocol == "split" {
		err = bySplit(ctx, c, d, r)
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
	if picture != nil {
		b, err := r.draw(strings.TrimPrefix(filepath.Ext(c.out), "."))
		if err != nil {
			return err
		}
		if err := picture.Finish(b); err != nil {
			return err
		}
	}
	if err := jsonFile.FinishJSON(r); err != nil {
		return err
	}
	return r.print(os.Stdout)
}
