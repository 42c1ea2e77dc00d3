// Package nodes classifies the nodes of one graph, of some of which the class is known:
//
//	set, err := sources.Nodes{Path: "Cora.zip"}.Read(ctx)
//	fitted, err := nodes.Fit{Seed: 1}.Run(ctx, set, set.Subset(sources.Train), set.Subset(sources.Val))
//	fmt.Println(fitted.Probabilities.Of(set.Subset(sources.Test)).Accuracy(), "%")
//
// The graph and the attributes of all nodes are known from the start, as is usual for such data.
// sinks.Save stores Fitted.Net and Fitted.Recipe, and sinks.Predictor.Open answers for this graph
// or a later state of it:
//
//	fitted, err := nodes.Fit{Seed: 1, Portable: true}.Run(ctx, set, set.Subset(sources.Train), set.Subset(sources.Val))
//	err = sinks.Save("nodes.safetensors", fitted.Net, fitted.Recipe)
//
// Without Portable, the best model may be one that Save refuses: with known classes in its fields,
// or the mean of networks and words. Package choose chooses among more models, and all of them can be
// saved.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Choice decides whether a part of a Fit is used: Auto lets the validation nodes decide.
type Choice int

const (
	Auto Choice = iota
	On
	Off
)

// Few is the largest number of training nodes that counts as few: training is cheap then, and
// over-fitting is likely.
const Few = 5000

// Fit learns from the classes of some nodes of a graph, and chooses the model and its settings on
// validation nodes. Candidates are
//
//   - rows: the receptive fields of the nodes; with few nodes to learn from also their
//     features propagated over the edges (operators.Propagate), with many also fields with the
//     known classes of other nodes (operators.KnownClasses)
//   - the weight decay of networks, of which several are averaged
//   - logistic regression on count.Around (nn.Best), with few nodes to learn from, in place
//     of the networks or averaged with them
//   - smoothing: the answers for a node, or the class of a training node, propagate over the
//     edges (propagation.Walk), see Smooth
//
// An answer in place of that of the networks, and each smoothing, must be better on the validation
// nodes by a standard error. On the split of Cora (140 training nodes) the accuracy on test nodes
// is 83.9 %, on PubMed 79.6 %. NODES.md of examples/benchmark has the accuracy of each candidate. The
// zero value of all fields is the recommended setting.
type Fit struct {
	// K is the number of nodes of a receptive field; 0 = 20. Bound and By are as in
	// operators.Normalize.
	K, Bound int
	By       labeling.Labeling

	// New returns a network. nil = an nn.Pooled of Maps maps, with nn.Adam.
	New func(seed uint64, rate, decay float64) nn.Model
	// Maps is the number of maps of an nn.Pooled; 0 = four per class, at least 64.
	Maps int
	// Nets is how many networks are averaged; 0 = 5 with few nodes to learn from, else 1.
	Nets int
	// Epochs is how often each node is learned from, at most; 0 = 200. The epoch with the
	// best validation counts.
	Epochs int
	Batch  int     // nodes a step; 0 = 32
	Rate   float64 // learning rate; 0 = 0.03 with few nodes to learn from, else 0.003
	// Decays are the weight decays to choose from; nil = 0, 0.3 and 3 with few nodes to
	// learn from, else 0.
	Decays []float64

	// Propagate lets networks read propagated features. With Auto, the validation nodes decide if
	// there are few training nodes, edges have no direction, New is nil, Known is not On, and the
	// features of all nodes are at most 2²⁴ numbers. With On, networks read these channels alone. If the
	// features are the numbers of the nodes, set Off: propagation has no use there.
	Propagate Choice
	// Known lets networks read fields with known classes. With Auto, the validation nodes decide
	// if there are many training nodes. With On, networks read these channels alone.
	Known Choice
	// Words adds logistic regression, which needs sparse features. Auto is On with few training
	// nodes; with more it takes minutes.
	Words Choice
	// Portable makes one model that sinks.Save takes, and that also predicts for other graphs. It
	// leaves out known classes in fields, words, smoothing, and the mean of networks and words. Without
	// the known classes, accuracy can be lower: on WordNet3 84.9 % in place of 90.9 %.
	Portable bool
	// Mask hides words of the training rows of networks; see operators.MaskWords.
	Mask operators.MaskWords
	// Smooth are the weights of smoothing to try; nil = 0.5, 0.8, 0.9 and 0.95. A weight is
	// the share of a prediction that comes from the neighbours. A single weight is used
	// without a comparison; 0 = no smoothing.
	Smooth []float64

	// Measure, if set, replaces the accuracy in the choice of epochs, candidates and smoothing on
	// validation nodes. Then the best is used, without a standard error.
	Measure validation.Measure

	Seed uint64 // of weights and orders
	// Workers is how many goroutines work; 0 = GOMAXPROCS. Results do not depend on it.
	Workers int
	// Progress, if set, is called from any goroutine.
	Progress func(stage string, done, total int)
}

// Answer holds the predictions for all nodes, and which models made them.
type Answer struct {
	Probabilities *sinks.Probabilities // of all nodes
	// Nets and Words report which models are used: networks, logistic regression, or the mean of both.
	Nets, Words bool
	Smooth      float64 // share of the predictions that propagates; 0 = none
	// SmoothClasses reports whether the classes of training nodes propagate in place of the
	// predictions for them.
	SmoothClasses bool
}

// Fitted is the chosen model. Accuracies are in percent.
type Fitted struct {
	Answer
	Propagated bool                   // networks read propagated features
	Known      bool                   // networks read fields with known classes
	Decay      float64                // of networks
	PerNetwork []*sinks.Probabilities // predictions of each network for all nodes
	Epochs     []int                  // of each network, at the best validation
	Curve      []float64              // validation accuracy of the first network after each epoch

	// Fields is how many fields were made, in Took.
	Fields int
	Took   time.Duration

	// Net, an nn.Ensemble or nn.Logistic, and Recipe answer for nodes, before smoothing;
	// nil if Answer is the mean of networks and words. The metadata of Net have the
	// smoothing, so that sinks.Save keeps all of Answer and sinks.Predictor.Open repeats
	// it. A recipe with known classes in fields cannot be saved: set Portable.
	Net    nn.Saver
	Recipe operators.Recipe
}

// WithDefaults returns f with the defaults for that many training nodes and classes in place of
// zero fields.
func (f Fit) WithDefaults(train, classes int) Fit {
	few := train <= Few
	f.K, f.Epochs, f.Batch = cmp.Or(f.K, 20), cmp.Or(f.Epochs, 200), cmp.Or(f.Batch, 32)
	f.Maps, f.Workers = cmp.Or(f.Maps, max(64, 4*classes)), cmp.Or(f.Workers, runtime.GOMAXPROCS(0))
	nets, rate, decays := 1, 0.003, []float64{0}
	if few {
		nets, rate, decays = 5, 0.03, []float64{0, 0.3, 3}
	}
	f.Nets, f.Rate = cmp.Or(f.Nets, nets), cmp.Or(f.Rate, rate)
	if f.Decays == nil {
		f.Decays = decays
	}
	if f.Smooth == nil {
		f.Smooth = []float64{0.5, 0.8, 0.9, 0.95}
	}
	if f.Progress == nil {
		f.Progress = func(string, int, int) {}
	}
	return f
}

// maxNets bounds the networks, which stay in memory.
const maxNets = 1 << 16

// Run learns from the nodes in train and chooses on the nodes in val, whose classes are known.
// It does not read the classes of other nodes. Continuous features are scaled.
func (f Fit) Run(ctx context.Context, set *sources.NodeSet, train, val []int32) (*Fitted, error) {
	if err := check(set, train, val); err != nil {
		return nil, err
	}
	if min(f.Nets, f.Maps, f.Epochs, f.Batch) < 0 {
		return nil, fmt.Errorf("nodes: Nets is %d, Maps %d, Epochs %d, Batch %d, want none below 0", f.Nets, f.Maps, f.Epochs, f.Batch)
	}
	if f.Nets > maxNets {
		return nil, fmt.Errorf("nodes: Nets is %d, want at most %d", f.Nets, maxNets)
	}
	if f.Measure.Numbers() {
		return nil, fmt.Errorf("nodes: Measure is %s, which is for numbers", f.Measure)
	}
	words := f.Words == On || f.Words == Auto && set.Graph.SparseCard > 0 && len(train) <= Few
	if words && set.Graph.SparseCard == 0 {
		return nil, errors.New("nodes: Words is on, and the nodes have no sparse features, nor numbers in their place")
	}
	t := &fitting{Fit: f.WithDefaults(len(train), len(set.Classes)), pooled: f.New == nil, set: set, train: train, val: val}
	if t.pooled {
		t.New = func(seed uint64, rate, decay float64) nn.Model {
			return &nn.Pooled{Maps: t.Maps, Seed: seed, Optimizer: nn.Adam{Rate: rate, WeightDecay: decay}}
		}
	}
	networks, err := t.networks(ctx)
	if err != nil {
		return nil, err
	}
	if t.out.Answer, err = t.smoothed(ctx, Answer{Probabilities: networks, Nets: true}); err != nil {
		return nil, err
	}
	var rivals []Answer
	if words {
		said, err := t.words(ctx)
		if err != nil {
			return nil, err
		}
		rivals = []Answer{{Probabilities: said, Words: true}}
		if !t.Portable {
			rivals = append(rivals, Answer{Probabilities: networks.Mean(said), Nets: true, Words: true})
		}
	}
	for _, rival := range rivals {
		if rival, err = t.smoothed(ctx, rival); err != nil {
			return nil, err
		}
		better, err := t.better(rival.Probabilities, t.out.Probabilities)
		if err != nil {
			return nil, err
		}
		if better {
			t.out.Answer = rival
		}
	}
	return &t.out, t.model()
}

// model sets the model and the recipe of the answer.
func (t *fitting) model() error {
	m := t.networksModel
	switch {
	case t.out.Nets && t.out.Words:
		return nil
	case t.out.Words:
		m = t.wordsModel
	}
	t.out.Net, t.out.Recipe = m.net, m.recipe
	known := sinks.KnownNodes(t.set.Graph, t.set.IDs, m.recipe.Graphs().NodeSparse.Card, slices.Concat(t.train, t.val)...)
	if t.out.SmoothClasses {
		known = known.WithClasses(t.set.IDs, t.known())
	}
	if err := known.Keep(m.net); err != nil || t.out.Smooth == 0 {
		return err
	}
	return sinks.Smoothing{Share: t.out.Smooth, Classes: t.out.SmoothClasses}.Keep(m.net)
}

// check checks the classes of nodes.
func check(set *sources.NodeSet, train, val []int32) error {
	if len(set.Classes) < 2 {
		return fmt.Errorf("nodes: the nodes have %d classes, want two or more", len(set.Classes))
	}
	for _, part := range []struct {
		name  string
		nodes []int32
	}{{"training", train}, {"validation", val}} {
		if len(part.nodes) == 0 {
			return fmt.Errorf("nodes: there are no %s nodes", part.name)
		}
		for _, v := range part.nodes {
			if v < 0 || int(v) >= len(set.Class) || set.Class[v] < 0 {
				return fmt.Errorf("nodes: the %s node %d has no class", part.name, v)
			}
		}
	}
	return nil
}

// fitting is a Fit at work.
type fitting struct {
	Fit
	pooled     bool // New is the default
	set        *sources.NodeSet
	train, val []int32
	out        Fitted

	networksModel, wordsModel model
}

// model is what answers, with the recipe of its rows.
type model struct {
	net    nn.Saver
	recipe operators.Recipe
}

// few reports whether few nodes are learned from.
func (t *fitting) few() bool { return len(t.train) <= Few }

// all is every node.
func (t *fitting) all() []int32 {
	all := make([]int32, len(t.set.Class))
	for v := range all {
		all[v] = int32(v)
	}
	return all
}
