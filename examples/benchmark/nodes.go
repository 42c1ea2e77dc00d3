package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// nodesConfig is the flags of -task nodes.
type nodesConfig struct {
	*command
	data                                            string
	edges, source, target, nodes, id, class, splits string // of tables
	systems                                         string
	score                                           validation.Measure
	portable                                        bool
}

const nodesUsage = `classifies the nodes of one large graph, by a split. The default is a generated graph of communities.

  benchmark -task nodes                                         communities, generated
  benchmark -task nodes -data Cora.zip                          the split of the file
  benchmark -task nodes -edges tolokers-edges.csv.gz -source source -target target \
    -nodes tolokers-nodes.csv.gz -id id -class class -parts part0,part1 -score auc

The systems of sanflow train learn from the training nodes, the validation nodes choose one and its
settings, and the test nodes are used once, at the end. Nodes without a split are dealt by the seed: two
thirds, a sixth and a sixth of the nodes with a class; without a validation part a sixth of the training
nodes becomes one. Of tables, -parts names columns with a split each, and the figures are means over them.

The graph and the attributes of all nodes are known from the start; classes are not.`

func nodesTask(ctx context.Context, args []string) error {
	c := &nodesConfig{command: newCommand(nodesUsage)}
	f := c.FlagSet
	f.StringVar(&c.data, "data", "", "zip or directory with edges.txt, labels.txt and maybe features.txt and split.txt, or its name in $SANFLOW_DATA/nodes")
	f.StringVar(&c.edges, "edges", "", "in place of -data, a table of edges: .csv, .tsv, .jsonl or .parquet, maybe packed; or its name in $SANFLOW_DATA/nodes")
	f.StringVar(&c.source, "source", "source", "column of -edges: the first node")
	f.StringVar(&c.target, "target", "target", "column of -edges: the second node")
	f.StringVar(&c.nodes, "nodes", "", "the table of nodes of -edges; columns that no flag names are attributes")
	f.StringVar(&c.id, "id", "id", "column of -nodes: the id of the node")
	f.StringVar(&c.class, "class", "", "column of -nodes: the class of the node")
	f.StringVar(&c.splits, "parts", "", "comma-separated columns of -nodes, each a split: train, valid, test; a node without a value is in no part; by default the nodes are dealt by the seed")
	f.StringVar(&c.systems, "systems", "", "comma-separated systems of sanflow train to choose from, in place of all")
	cli.Score(f, &c.score, "what systems and their epochs are chosen by on the validation nodes, and is reported; without it the accuracy")
	f.BoolVar(&c.portable, "portable", false, "choose among models that also answer about other graphs, as sanflow train -portable")
	if err := c.parse(args); err != nil {
		return err
	}
	for _, name := range cli.Given(f) {
		if c.edges == "" && slices.Contains([]string{"source", "target", "nodes", "id", "class", "parts"}, name) {
			return fmt.Errorf("-%s is of tables, and there is no -edges", name)
		}
	}
	switch {
	case c.edges != "" && c.data != "":
		return errors.New("-edges and -data are both set, want one")
	case c.edges != "" && (c.nodes == "" || c.class == ""):
		return errors.New("-edges wants -nodes and -class, the column with what is to be learned")
	}
	columns, err := items("parts", c.splits)
	if err != nil {
		return err
	}
	if err := cli.CheckScore(c.score, false); err != nil {
		return err
	}
	return c.Run(ctx, func(ctx context.Context) (cli.Result, error) { return c.learn(ctx, columns) })
}

// read reads the graph, with the split of a column where there are tables. The columns of other splits are no attributes.
func (c *nodesConfig) read(ctx context.Context, columns []string, part string) (set *sources.NodeSet, err error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	switch {
	case c.edges != "":
		var edges, nodes sources.Table
		if edges, err = sources.OpenTable(ctx, sources.Place(c.edges, "nodes"), sources.Options{}); err != nil {
			return nil, err
		}
		if nodes, err = sources.OpenTable(ctx, sources.Place(c.nodes, "nodes"), sources.Options{}); err != nil {
			return nil, err
		}
		others := slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == part })
		var tables *sources.TableSet
		tables, err = sources.Tables{
			Edges: sources.EdgeTable{Table: edges, Source: c.source, Target: c.target},
			Nodes: sources.NodeTable{Table: nodes, ID: c.id, Targets: sources.Targets(c.class), Part: part, Ignore: others},
		}.Read(ctx)
		if err == nil {
			set, err = tables.NodeSet()
		}
	case c.data != "":
		set, err = sources.Nodes{Path: sources.Place(c.data, "nodes")}.Read(ctx)
	default: // five communities, whose nodes have two neighbours in others for five in their own
		set = &sources.NodeSet{Classes: []string{"community 0", "community 1", "community 2", "community 3", "community 4"}}
		set.Graph, set.Class, err = generate.Communities(1000, 5, 5, 2, c.seed)
	}
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	name := cli.DataName(c.data + c.nodes)
	switch {
	case len(set.Classes) < 2:
		return nil, fmt.Errorf("%s: all nodes are of class %s; there is nothing to classify", name, set.Classes[0])
	case set.Split != nil && !slices.Contains(set.Split, sources.Test):
		return nil, fmt.Errorf("%s: no node is of the part test", name)
	}
	return set, nil
}

// learn chooses a model on each split, and tests it.
func (c *nodesConfig) learn(ctx context.Context, columns []string) (cli.Result, error) {
	start, r := time.Now(), &nodesReport{Dataset: cli.DataName(c.data + c.nodes), Seed: c.seed}
	if c.data+c.edges == "" {
		r.Dataset = "communities"
	}
	for i, column := range columns {
		set, err := c.read(ctx, columns, column)
		if err != nil {
			return nil, err
		}
		g := set.Graph
		identity := !c.portable && g.SparseCard+g.NodeAttrs+g.NodeCats == 0
		if identity {
			if err := set.Identify(); err != nil {
				return nil, err
			}
		}
		train, val, test, err := choose.Deal(set, c.seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Dataset, err)
		}
		if i == 0 {
			r.Nodes, r.Edges, r.Classes, r.Words, r.Numbers, r.Identity = set.Graph.N(), set.Graph.M(), len(set.Classes), set.Graph.SparseCard, set.Graph.NodeAttrs, identity
			r.Train, r.Val, r.Test = len(train), len(val), len(test)
			switch r.Split = "of the file"; {
			case set.Split == nil:
				r.Split = "by the seed"
			case c.splits != "":
				r.Split = "of " + c.splits
			}
		}
		one, majority, err := c.bySplit(ctx, set, train, val, test, column)
		if err != nil {
			return nil, err
		}
		r.Majority += majority / float64(len(columns))
		r.Splits = append(r.Splits, one)
		if len(columns) > 1 { // so that a run that is interrupted has not lost them
			fmt.Fprintf(os.Stderr, "split %s, %d of %d: %.4g by %s\n", column, i+1, len(columns), *one.value(), one.chosen())
		}
	}
	r.close(start)
	return r, nil
}

// bySplit learns from the training nodes, chooses by the validation nodes, and answers about the test nodes once. It returns
// the share of the largest class of the test nodes too.
func (c *nodesConfig) bySplit(ctx context.Context, set *sources.NodeSet, train, val, test []int32, column string) (one nodesSplit, majority float64, err error) {
	chosen, err := c.choose(ctx, c.systems, column, choose.Choice{
		Systems: choose.Nodes(set, len(train)), Classes: set.Classes, Train: choose.NodeRows(set, train), Valid: choose.NodeRows(set, val),
		Measure: c.score, Portable: c.portable,
	})
	if err != nil {
		return one, 0, err
	}
	p, err := sinks.NewPredictor(chosen.Net, chosen.Recipe)
	if err != nil {
		return one, 0, err
	}
	defer p.Close()
	m, err := choose.Test(ctx, p, set.Graph, set.IDs, choose.NodeRows(set, test), "", c.workers)
	if err != nil {
		return one, 0, err
	}
	one = nodesSplit{Name: column, Model: chosen.System, Accuracy: m.Accuracy(), Systems: chosen.Tried, Scored: cli.NewScored(c.score, m.By, nil)}
	for i := range one.Systems {
		t := &one.Systems[i]
		t.Score *= cli.ScoreUnit(c.score) // without -score 1
		if t.Name != chosen.System {
			continue
		}
		if one.Took = t.Took; c.score == "" {
			one.ValAccuracy = t.Score
		} else {
			one.ValidationValue = &t.Score
		}
	}
	return one, m.Majority(), nil
}

// nodesReport is the JSON object of -task nodes; accuracies are in percent. Score, Value, Accuracy, AUC and
// ValAccuracy are means over Splits. Model, Took and Systems are those of a single split.
type nodesReport struct {
	nodesSplit
	Dataset   string       `json:"dataset"`
	Nodes     int          `json:"nodes"`
	Edges     int          `json:"edges"`
	Classes   int          `json:"classes"`
	Words     int          `json:"sparse_features"`
	Numbers   int          `json:"continuous_features"`
	Identity  bool         `json:"identity"`        // the number of a node is a feature, counted in sparse_features
	Split     string       `json:"split,omitempty"` // of the parts
	Train     int          `json:"train"`
	Val       int          `json:"val"`
	Test      int          `json:"test"`          // nodes that are tested on
	AUC       *float64     `json:"auc,omitempty"` // with -score auc
	Std       float64      `json:"std"`           // deviation of Value over Splits, or of Accuracy without -score
	Splits    []nodesSplit `json:"splits,omitempty"`
	Majority  float64      `json:"majority"` // share of the largest class of the test nodes
	PeakRSSMB int64        `json:"peak_rss_mb"`
	Seconds   float64      `json:"seconds"`
	Seed      uint64       `json:"seed"`
	Cells     []figureCell `json:"cells"`
}

// nodesSplit is the figures of a split.
type nodesSplit struct {
	cli.Scored
	Name        string         `json:"name,omitempty"` // its column
	Accuracy    float64        `json:"accuracy"`
	Model       string         `json:"model,omitempty"` // the chosen system
	Took        string         `json:"took,omitempty"`  // the choices within it
	ValAccuracy float64        `json:"validation_accuracy,omitempty"`
	Systems     []choose.Tried `json:"systems,omitempty"`
}

// value is the measure of -score, or the accuracy.
func (s *nodesSplit) value() *float64 {
	if s.Value != nil {
		return s.Value
	}
	return &s.Accuracy
}

// chosen is the chosen system, with the choices within it.
func (s *nodesSplit) chosen() string { return strings.TrimSuffix(s.Model+": "+s.Took, ": ") }

// close sets the means, the time and the memory.
func (r *nodesReport) close(start time.Time) {
	// mean returns the mean and the deviation over the splits, nil where a split lacks the figure.
	mean := func(of func(*nodesSplit) *float64) (*float64, float64) {
		var all []float64
		for i := range r.Splits {
			x := of(&r.Splits[i])
			if x == nil {
				return nil, 0
			}
			all = append(all, *x)
		}
		if len(all) == 1 {
			return &all[0], 0
		}
		x, std := stat.MeanStdDev(all, nil)
		return &x, std
	}
	if len(r.Splits) == 1 {
		r.nodesSplit = r.Splits[0]
		r.Name = ""
	}
	accuracy, std := mean(func(s *nodesSplit) *float64 { return &s.Accuracy })
	valid, _ := mean(func(s *nodesSplit) *float64 { return &s.ValAccuracy })
	r.Accuracy, r.ValAccuracy, r.Std, r.Score = *accuracy, *valid, std, r.Splits[0].Score
	r.ValidationValue, _ = mean(func(s *nodesSplit) *float64 { return s.ValidationValue })
	if value, std := mean(func(s *nodesSplit) *float64 { return s.Value }); r.Score != "" {
		r.Value, r.Std = value, std
	}
	if r.Score == validation.ROC {
		r.AUC = r.Value
	}
	r.Seconds, r.PeakRSSMB = time.Since(start).Seconds(), cli.PeakRSS()>>20
	r.Cells = []figureCell{{r.Dataset, r.Model, "accuracy", &r.Accuracy}, {r.Dataset, "majority", "accuracy", &r.Majority}}
}

// Print writes the table.
func (r *nodesReport) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%d nodes, %d edges, %d classes; %d sparse and %d continuous features\n", r.Dataset, r.Nodes, r.Edges, r.Classes, r.Words, r.Numbers)
	fmt.Fprintf(w, "largest class\t%.2f %%\tof the %d nodes\n", r.Majority, r.Test)
	for _, s := range r.Splits {
		if len(r.Splits) > 1 {
			fmt.Fprintf(w, "%s\t%.4g\t%s\n", s.Name, *s.value(), s.chosen())
		}
	}
	for _, t := range r.Systems {
		fmt.Fprintf(w, "%s\t%.4g\t%.1f s  %s\n", t.Name, t.Score, t.Seconds, t.Took)
	}
	fmt.Fprintf(w, "validation\t%d nodes\t%d to learn from, split %s\n", r.Val, r.Train, r.Split)
	fmt.Fprintf(w, "accuracy\t%.2f %%\t%s\n", r.Accuracy, r.chosen())
	r.Scored.Print(w)
	if len(r.Splits) > 1 {
		fmt.Fprintf(w, "mean\t%.4g ± %.2g\tand the standard deviation, of %d splits\n", *r.value(), r.Std, len(r.Splits))
	}
	fmt.Fprintf(w, "time\t%.1f s\t%d MB at most; seed %d\n", r.Seconds, r.PeakRSSMB, r.Seed)
	return w.Flush()
}
