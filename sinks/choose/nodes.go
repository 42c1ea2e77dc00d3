package choose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/propagation"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

const (
	// few bounds the number of training nodes with which training is cheap and estimates vary much. Models then use
	// a larger radius.
	few = 5000
	// mostTrees bounds training rows × classes for trees, which grow a tree for each class in each round.
	mostTrees = 1 << 18
	// widest bounds the number of values of the attributes of nodes for networks.
	widest = 1 << 16
	// mostFields bounds the values of the fields of all nodes: fieldNodes nodes in each. fieldBound is
	// the operators.Assemble.Bound of fields.
	mostFields = 1 << 27
	fieldNodes = 20
	fieldBound = 256
	// mostPropagated bounds the number of values of propagated features, which are dense.
	mostPropagated = 1 << 24
	// glance is the number of epochs after which one of the candidates of a slow system is chosen.
	glance = 3
	// averaged is the number of averaged networks of the ensemble with few training nodes.
	averaged = 5
)

// near adds numbers about the neighbourhood of a node.
var near = operators.Describe{Bound: count.MostAround}

// shares has the values of sinks.Smoothing.Share among which the validation rows choose.
var shares = []float64{0.5, 0.8, 0.9, 0.95}

// Nodes returns the systems for the nodes of a graph with train training nodes, the quickest
// first: a linear model, a network, and a network that reads attributes of edges if there are
// any. The words model, or in its place an ensemble of networks, is recommended. The answers of the
// ensemble, and with up to 5000 nodes to learn from those of a second words model, are smoothed over the
// edges where that is better. If the nodes have no sparse attributes, a linear model of their ids comes
// second. There is no ensemble for numbers or several targets. System.LeftOut is set for networks if the attributes have more than 65 536 values, for the
// ensemble if the fields of all nodes have more than 2²⁷ values, and for trees if training nodes times classes are
// more than 2¹⁸.
//
// The last systems are stacked, for the nodes of one graph: trees that read what trees say of the classes of the nodes around a
// node (operators.Beliefs), and stacked-twice what stacked-trees says. No model whose answers are in the row of a training node has
// learned from this node; of stacked-twice, the rows of other nodes that these models have learned from know its class.
//
// The ensemble reads the receptive fields of nodes. With up to 5000 nodes to learn from it has five
// networks, and in place of fields it may read features propagated over the edges
// (operators.Propagate); with more it has one, and fields may have the known classes of other nodes
// (operators.KnownClasses).
func Nodes(set *sources.NodeSet, train int) []System {
	g, l := set.Graph, set.Layout()
	classes := single(set)
	rooted := set.Rooted(nil).Layout
	asked := operators.Recipe{operators.Expect{Layout: rooted}, operators.Roots{Nodes: []int32{-1}}}
	hops, words := 3, best
	numbers := g.NodeAttrs+g.EdgeAttrs > 0
	if numbers {
		words = quick
	}
	if train > few {
		hops, words = 2, func(_ uint64, workers int) nn.Saver {
			return &nn.Logistic{Kernel: nn.Min, Width: 1 << 18, Workers: workers, Optimizer: nn.AdaGrad{Rate: 0.2, Epsilon: 1e-3}}
		}
	}
	rate := 0.003
	if train <= few {
		rate = 0.03
	}
	pooled := func(decay float64) func(uint64, int) nn.Saver {
		return func(seed uint64, _ int) nn.Saver {
			return &nn.Pooled{Maps: max(64, 4*len(set.Classes)), Seed: seed, Optimizer: nn.Adam{Rate: rate, WeightDecay: decay}}
		}
	}
	cnnDecay := 0.
	if train <= few {
		cnnDecay = 0.3
	}
	patience := max(3, min(20, 4000/((train-1)/32+1)))
	all := []System{{
		// Logistic regression on counts around a node.
		Name: "linear", Recipe: then(asked, numbered(near, counts(count.Around{Hops: 1}), numbers)...), New: linear, Epochs: 20, Patience: 5,
	}}
	if g.SparseCard == 0 { // without sparse attributes, ids distinguish nodes
		named := *set
		of := *g
		named.Graph = &of
		if named.Identify() == nil { // with too many ids Identify fails, and the system is left out
			asked := operators.Recipe{operators.Expect{Layout: named.Rooted(nil).Layout}, asked[1]}
			all = append(all, System{
				// Logistic regression on the ids of the nodes up to 2 edges around a node.
				Name: "neighbours", named: &named, local: true,
				Recipe: then(asked, numbered(near, counts(count.Around{Hops: 2}), numbers)...), New: linear, Epochs: 50, Patience: 10,
			})
		}
	}
	width := g.SparseCard + g.NodeAttrs
	for _, c := range slices.Concat(l.NodeCat, l.EdgeCat) {
		width += c.Card
	}
	wide := ""
	if width > widest {
		wide = fmt.Sprintf("the attributes have %d values, of at most %d for networks", width, widest)
	}
	all = append(all, System{
		// A network on receptive fields, k = 20.
		Name: "cnn", LeftOut: wide,
		Recipe: fieldsOf(set, operators.Assemble{K: fieldNodes, Bound: fieldBound}, operators.Normalize{By: labeling.WL}), New: pooled(cnnDecay), Epochs: 200, Patience: patience,
	})
	if g.EdgeCats+g.EdgeAttrs > 0 {
		all = append(all, System{
			// The paper's network on fields with their edges, k = 10.
			Name: "cnn-edges", LeftOut: wide,
			Recipe: fieldsOf(set, operators.Assemble{K: 10, Bound: fieldBound}, operators.Normalize{By: labeling.WL, Edges: true}),
			New:    func(seed uint64, workers int) nn.Saver { return &nn.CNN{Seed: seed, Workers: workers} },
			Epochs: 50, Patience: 10,
		})
	}
	// The most accurate linear model of what is up to hops edges around a node. Words explain its answers, but not
	// those of the same system with smoothed answers.
	one := System{
		Name: "words", Recommended: true,
		Recipe: then(asked, numbered(near, counts(count.Around{Hops: hops}), numbers)...), New: words, Epochs: 50, Patience: 10,
	}
	all = append(all, one)
	// Boosted trees on the same words, and on numbers around a node.
	forest := System{Name: "trees", Recipe: one.Recipe, New: boosted}
	if numbers { // without numbers Describe adds only degrees and shares, which words have
		forest.Recipe = then(asked, near, counts(count.Around{Hops: hops}))
	}
	if n := train * max(1, len(set.Classes)); n > mostTrees {
		forest.LeftOut = fmt.Sprintf("training nodes times classes are %d, of at most %d", n, mostTrees)
	}
	all = append(all, forest)
	if train <= few && classes {
		one.Name, one.Recommended, one.smooth = "words-smoothed", false, true
		all = append(all, one)
	}
	if classes {
		ensemble := System{Name: "ensemble", LeftOut: wide, Recommended: true, smooth: true, nets: 1, Epochs: 200, Patience: patience}
		if n := g.N() * fieldNodes * (1 + g.NodeAttrs + g.NodeCats); n > mostFields {
			ensemble.LeftOut = fmt.Sprintf("the fields of the nodes have %d values, of at most %d", n, mostFields)
		}
		decays := []float64{0}
		if train <= few {
			ensemble.nets, decays = averaged, []float64{0, 0.3, 3}
		}
		add := func(name string, local bool, r operators.Recipe) {
			v := view{name: name, recipe: r, local: local}
			for _, decay := range decays {
				m := model{new: pooled(decay)}
				if len(decays) > 1 {
					m.name = fmt.Sprintf("decay %g", decay)
				}
				v.models = append(v.models, m)
			}
			ensemble.views = append(ensemble.views, v)
		}
		add("fields", false, fieldsOf(set, operators.Assemble{K: fieldNodes, Bound: fieldBound}, operators.Normalize{}, scale(set)...))
		features := g.SparseCard + g.NodeAttrs
		switch {
		case train > few:
			add("fields with known classes", true, operators.Recipe{operators.KnownClasses{Names: set.Classes}})
		case features > 0 && g.N() <= mostPropagated/features && !g.Directed:
			// The first layer of a network on a field of a whole neighbourhood is linear. Its
			// result is this: features of a node and of its neighbours, weighted by random walks,
			// at unit length. A row is a field of the root alone.
			propagate := operators.Propagate{Sparse: g.SparseCard > 0, Symmetric: true, Unit: true}
			add("propagated features", false, fieldsOf(set, operators.Assemble{K: 1}, operators.Normalize{}, append(scale(set), propagate)...))
		}
		all = append(all, ensemble)
	}
	if classes && len(set.Classes) > 1 {
		// Trees on counts around a node, and on the beliefs of other trees about the classes of the nodes there.
		believe := operators.Beliefs{Names: set.Classes}
		once := System{
			Name: "stacked-trees", base: &forest, local: true, LeftOut: forest.LeftOut, New: boosted,
			Recipe: operators.Recipe{asked[0], believe, asked[1], near, counts(count.Around{Hops: hops, Beliefs: believe.Channels()})},
		}
		twice := once
		twice.Name, twice.base = "stacked-twice", &once
		all = append(all, once, twice)
	}
	for i := range all {
		all[i].nodes = set
		for base := all[i].base; base != nil; base = base.base {
			base.nodes = set
		}
	}
	return all
}

// single reports whether the nodes have a single target, a class.
func single(set *sources.NodeSet) bool { return set.Channels.Targets == nil }

// fieldsOf returns a recipe that makes the receptive field of each node. It inserts the operators of before in
// front of operators.Roots, if the target is a single class. Attributes break ties, so that predictions do not
// depend on the numbering of nodes.
func fieldsOf(set *sources.NodeSet, assemble operators.Assemble, n operators.Normalize, before ...flow.Operator) operators.Recipe {
	n.Distances = 3 // distances from the root: 0, 1, and more
	roots := operators.Roots{Nodes: []int32{-1}}
	if !single(set) { // the column of node classes cannot hold numbers or several targets
		return operators.Recipe{operators.Expect{Layout: set.Rooted(nil).Layout}, roots, assemble, n}
	}
	return then(then(operators.Recipe{operators.Expect{Layout: set.Layout()}}, before...), roots, operators.Chunk{Size: 256}, assemble, n, operators.PerRoot{})
}

// scale standardises continuous features over all nodes. It does not read classes.
func scale(set *sources.NodeSet) operators.Recipe {
	x, c := set.Graph.NodeAttr, set.Graph.NodeAttrs
	if c == 0 {
		return nil
	}
	s := operators.Standardize{Mean: make([]float32, c), Std: make([]float32, c)}
	for a := range c {
		present := make([]float64, 0, set.Graph.N())
		for i := a; i < len(x); i += c {
			if x[i] == x[i] {
				present = append(present, float64(x[i]))
			}
		}
		n, sum, squares := float64(max(1, len(present))), 0., 0.
		for _, x := range present {
			sum += x
		}
		for _, x := range present {
			d := x - sum/n
			squares += d * d
		}
		s.Mean[a], s.Std[a] = float32(sum/n), float32(math.Sqrt(squares/n))
		if len(present) < set.Graph.N() {
			s.Missing = append(s.Missing, a)
		}
	}
	return operators.Recipe{s}
}

// smoothed tries to propagate the answers of a trial over the edges, and keeps the best on the validation
// nodes. It tries each of shares with the answers for training nodes and, unless Portable, with their
// classes. O(edges·classes) a round.
func (c Choice) smoothed(ctx context.Context, r *rows, t *trial, prior sinks.Prior) error {
	n, classes := r.set.Graph.N(), len(c.Classes)
	x, targets, at := make([]float32, 0, n*classes), make([]int, n), 0
	ask := sinks.Predict{Net: t.net, Each: func(p sinks.Prediction) error {
		x = append(x, p.Probs...)
		targets[at] = p.Target
		at++
		return nil
	}}
	if err := c.cut(NodeRows(r.set, r.set.All())(r.knowing(folds))).To(ask).Run(ctx); err != nil {
		return err
	}
	valid, err := c.rootsOf(ctx, c.Valid)
	if err != nil {
		return err
	}
	all, by := []*trial{t}, []*sinks.Smoothing{nil}
	for _, share := range shares {
		for _, known := range []bool{false, true} {
			if known && c.Portable {
				continue
			}
			said := slices.Clone(x)
			if known {
				for _, v := range r.nodes {
					row := said[int(v)*classes:][:classes]
					clear(row)
					row[r.set.Class[v]] = 1
				}
			}
			if err := (propagation.Walk{Share: share, Workers: c.Workers}).Rows(ctx, r.set.Graph, said, classes); err != nil {
				return err
			}
			var rows []sinks.Prediction
			for _, v := range valid {
				row := said[int(v)*classes:][:classes]
				rows = append(rows, sinks.Prediction{Class: slices.Index(row, slices.Max(row)), Probs: row, Target: targets[v]})
			}
			one := *t
			one.classes = known
			one.Took = strings.Trim(fmt.Sprintf("%s, smoothed by %g", t.Took, share), ", ")
			if known {
				one.Took += " with known classes"
			}
			if err := c.score(&one, rows, prior); err != nil {
				return err
			}
			all, by = append(all, &one), append(by, &sinks.Smoothing{Share: share, Classes: known})
		}
	}
	best := c.pick(all, 0)
	s := by[slices.Index(all, best)]
	if s == nil {
		return nil
	}
	*t = *best
	// The rounding of a walk depends on the numbers of nodes. Three digits hide it.
	heat, err := strconv.ParseFloat(strconv.FormatFloat(float64(t.heat), 'g', 3, 64), 64)
	t.heat = sinks.Temperature(heat)
	return errors.Join(err, s.Keep(t.net))
}

// keepKnown stores in a model the ids of its training and validation nodes, and the classes of training nodes or
// the beliefs that its answers need.
func (c Choice) keepKnown(ctx context.Context, s System, r *rows, t *trial) error {
	valid, err := c.rootsOf(ctx, c.Valid)
	if err != nil {
		return err
	}
	known := sinks.KnownNodes(s.nodes.Graph, s.nodes.IDs, t.recipe.Graphs().NodeSparse.Card, slices.Concat(r.nodes, valid)...)
	_, reads := operators.Find[operators.KnownClasses](t.recipe)
	if reads || t.classes {
		known = known.WithClasses(s.nodes.IDs, r.classes())
	}
	if r.believed != nil {
		known = known.WithBeliefs(s.nodes.IDs, s.nodes.Graph.N(), r.believed.probs[folds])
	}
	return known.Keep(t.net)
}

// folds is the number of parts of the training nodes for the beliefs of a stacked system.
const folds = 5

// beliefs has class probabilities of all nodes, (nodes, classes), in units of 1/255. probs[f] is by a model that has not learned from the
// training nodes of fold f, and the last by one that has learned from all. A training node of the model has probability 1 at its class.
type beliefs struct {
	fold  map[int32]int // fold of each training node
	probs [][]float32
}

// believe trains a system once without each fold, and once on all training nodes.
func (c Choice) believe(ctx context.Context, s System) (*beliefs, error) {
	r := &rows{view: view{recipe: s.Recipe}}
	var whole sinks.Collect // rows of all nodes
	defer whole.Release()
	defer release([]*rows{r})
	if err := c.collect(ctx, s, r); err != nil {
		return nil, err
	}
	prior, err := c.learned(new(trial), r.train.Records())
	if err != nil {
		return nil, err
	}
	classes, b := len(c.Classes), &beliefs{fold: map[int32]int{}}
	for i, v := range r.nodes {
		b.fold[v] = i % folds
	}
	if r.believed != nil {
		b.fold = r.believed.fold
	}
	for f := range folds + 1 {
		if f == 0 || r.believed != nil {
			whole.Release()
			if err := c.cut(NodeRows(r.set, r.set.All())(r.knowing(f))).To(&whole).Run(ctx); err != nil {
				return nil, err
			}
		}
		net, valid := s.New(c.Seed, c.Workers), inMemory(&r.valid)
		train, err := r.without(b, f)
		if err == nil {
			from := flow.From(flow.Records{Records: train}).With(flow.Options{Workers: 1})
			err = c.fit(ctx, s, net, r.scale.Onto(from), &valid, s.Epochs, c.Seed, func(done, total int) {
				c.Progress(s.Name, f*total+done, (folds+1)*total)
			})
		}
		record.Release(train)
		if err != nil {
			return nil, err
		}
		one, probs := trial{net: net}, make([]float32, 0, r.set.Graph.N()*classes)
		if err := c.ask(ctx, &one, inMemory(&r.valid), prior); err != nil {
			return nil, err
		}
		if err := inMemory(&whole).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			probs = append(probs, p.Probs...)
			return nil
		}}).Run(ctx); err != nil {
			return nil, err
		}
		one.heat.Apply(probs, classes)
		for _, v := range r.nodes {
			if b.fold[v] != f {
				row := probs[int(v)*classes:][:classes]
				clear(row)
				row[r.set.Class[v]] = 1
			}
		}
		for i, p := range probs {
			probs[i] = float32(math.Round(255*float64(p))) / 255
		}
		b.probs = append(b.probs, probs)
	}
	return b, nil
}

// of returns the nodes that are in a fold.
func (b *beliefs) of(fold int, nodes []int32) (some []int32) {
	for _, v := range nodes {
		if b.fold[v] == fold {
			some = append(some, v)
		}
	}
	return some
}

// without returns the training rows outside of a fold. The caller releases them, also after an error.
func (r *rows) without(b *beliefs, fold int) (parts []arrow.Record, err error) {
	row := 0
	for i, rec := range r.train.Records() {
		var refs []record.Ref
		for at := range int(rec.NumRows()) {
			if b.fold[r.nodes[row]] != fold {
				refs = append(refs, record.Ref{Record: int32(i), Row: int32(at)})
			}
			row++
		}
		if len(refs) == 0 {
			continue
		}
		part, err := record.Take(memory.DefaultAllocator, r.train.Records(), refs)
		if err != nil {
			return parts, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}
