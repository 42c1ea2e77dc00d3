package choose

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/nodes"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/links"
)

// Deal splits rows into two thirds for training, a sixth for validation and a sixth for tests,
// each class as evenly as possible. A row of class -1 is in no part. All parts are ascending.
// Fewer than six rows are an error. If split is set, it gives the parts; a missing validation
// or test part is then a sixth of the training rows.
//
// Deal is for the nodes of a graph, which differ by their places in it even if all their
// attributes are equal. Collection.Deal is for graphs.
func Deal(class []int32, split []sources.Subset, seed uint64) (train, valid, test []int32, err error) {
	return deal(class, nil, split, seed)
}

// deal is Deal; if group is set, rows of one group get into one part where split does not say
// otherwise and there are six groups.
func deal(class, group []int32, split []sources.Subset, seed uint64) (train, valid, test []int32, err error) {
	if split != nil {
		return given(class, group, split, seed)
	}
	var rows []int32
	different := map[int32]bool{}
	for row, c := range class {
		if c >= 0 {
			rows = append(rows, int32(row))
			if group != nil {
				different[group[row]] = true
			}
		}
	}
	const parts = 6
	rng := rand.New(rand.NewPCG(seed, parts))
	if n := len(different); n >= parts && n < len(rows) {
		dealt := dealGroups(rows, class, group, rng)
		return dealt[0], dealt[1], dealt[2], nil
	}
	folds, err := validation.Folds(rows, class, parts, rng)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("choose: %d rows whose class is known are too few to learn from, to choose by and to test on: %w", len(rows), err)
	}
	is := map[int32]bool{}
	for _, row := range folds[1].Test {
		is[row] = true
	}
	for _, row := range folds[0].Train {
		if !is[row] {
			train = append(train, row)
		}
	}
	return train, folds[1].Test, folds[0].Test, nil
}

// given returns the parts of a split, and deals what it lacks.
func given(class, group []int32, split []sources.Subset, seed uint64) (train, valid, test []int32, err error) {
	rest, ok := slices.Clone(class), map[sources.Subset]bool{}
	for row, p := range split {
		if class[row] < 0 {
			continue
		}
		ok[p] = true
		switch p {
		case sources.Val:
			valid = append(valid, int32(row))
		case sources.Test:
			test = append(test, int32(row))
		}
		if p != sources.Train {
			rest[row] = -1
		}
	}
	if !ok[sources.Train] {
		return nil, nil, nil, errors.New("choose: there are no rows to learn from")
	}
	train, dealt, more, err := deal(rest, group, nil, seed)
	switch {
	case ok[sources.Val] && ok[sources.Test]:
		err, train = nil, train[:0]
		for row, c := range rest {
			if c >= 0 {
				train = append(train, int32(row))
			}
		}
	case ok[sources.Val]:
		train, test = merged(train, dealt), more
	case ok[sources.Test]:
		train, valid = merged(train, more), dealt
	default:
		valid, test = dealt, more
	}
	return train, valid, test, err
}

// merged is all rows of two lists, ascending.
func merged(a, b []int32) []int32 {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return all
}

// Pick returns the systems of the given different names, in the order of all.
func Pick(all []System, names []string) ([]System, error) {
	want := map[string]bool{}
	for _, name := range names {
		if want[name] {
			return nil, fmt.Errorf("the system %q is named twice", name)
		}
		want[name] = true
	}
	var some []System
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
		if want[s.Name] {
			some = append(some, s)
			delete(want, s.Name)
		}
	}
	for _, name := range names {
		if want[name] {
			return nil, fmt.Errorf("there is no system %q, want some of %s", name, strings.Join(known, ", "))
		}
	}
	return some, nil
}

// best is the recommended model.
func best(_ uint64, workers int) nn.Model {
	m := nn.Best()
	m.Workers = workers
	return m
}

// linear is a table of counts.
func linear(_ uint64, workers int) nn.Model { return &nn.Logistic{Workers: workers} }

// Graphs returns the systems for graphs of a layout with size nodes on average, the quickest
// first: a linear model of colours, the paper's network without and with edges, and the
// recommended words model between them.
func Graphs(l record.Layout, size float64) []System {
	dropout := 0.0 // the default
	head := operators.Recipe{operators.Expect{Layout: l}}
	var channel operators.Recipe
	if len(l.NodeCat) == 0 && len(l.NodeAttr) == 0 && l.NodeSparse.Card == 0 {
		channel, dropout = operators.Recipe{operators.Channel{By: labeling.NormalizedDegree}}, -1 // as the paper does
	}
	fields := func(edges bool) operators.Recipe {
		return then(append(head[:1:1], channel...),
			operators.Select{W: max(1, min(1<<12, int(size+0.5))), By: labeling.Betweenness},
			operators.Assemble{K: 10},
			operators.Normalize{By: labeling.WL, Edges: edges})
	}
	cnn := func(seed uint64, workers int) nn.Model {
		return &nn.CNN{Seed: seed, Dropout: dropout, Workers: workers}
	}
	return []System{
		// Logistic regression on counts of colours.
		{Name: "linear",
			Recipe: then(head, counts(count.WL{Height: 2})), New: linear, Epochs: 20, Patience: 5},
		// The paper's network, k = 10.
		{Name: "cnn", Recipe: fields(false), New: cnn, Epochs: 50, Patience: 10},
		// Ten linear models of words of all kinds (nn.Best).
		{Name: "words", Recommended: true,
			Recipe: then(head, counts(count.Standard()...)), New: best, Epochs: 50, Patience: 10},
		// The paper's network, with the edges of fields.
		{Name: "cnn-edges", Recipe: fields(true), New: cnn, Epochs: 50, Patience: 10},
	}
}

// then returns a recipe with more operators.
func then(r operators.Recipe, more ...flow.Operator) operators.Recipe {
	return append(r[:len(r):len(r)], more...)
}

func counts(of ...count.Counter) operators.Count { return operators.Count{Of: of, DropGraph: true} }

// few is how many nodes to learn from count as few: there is much to fear from chance
// then, and a model looks further.
const few = nodes.Few

// widest is how many values the attributes of nodes may have for networks.
const widest = 1 << 16

// Nodes returns the systems for the nodes of a graph with train training nodes, the quickest
// first: a linear model, a network, and a network that reads attributes of edges if there are
// any. The words model, or in its place the ensemble of nodes.Fit, is recommended. If the nodes
// have no sparse attributes, a linear model of their numbers comes second. Networks are left
// out if the attributes have more than 65 536 values. The ensemble is left out for numbers, or
// if the fields of all nodes have more than 2²⁷ values.
func Nodes(set *sources.NodeSet, train int) []System {
	g, l := set.Graph, set.Layout()
	rooted := set.Rooted(nil).Layout
	asked := operators.Recipe{operators.Expect{Layout: rooted}, operators.Roots{Nodes: []int32{-1}}}
	hops, words, bins := 3, best, count.BinsOf(g)
	if train > few {
		hops, words = 2, func(_ uint64, workers int) nn.Model {
			return &nn.Logistic{Kernel: nn.Min, Width: 1 << 18, Workers: workers, Optimizer: nn.AdaGrad{Rate: 0.2, Epsilon: 1e-3}}
		}
	}
	pooled := func(seed uint64, workers int) nn.Model {
		m := &nn.Pooled{Maps: max(64, 4*len(set.Classes)), Seed: seed, Workers: workers, Optimizer: nn.Adam{Rate: 0.003}}
		if train <= few {
			m.Optimizer = nn.Adam{Rate: 0.03, WeightDecay: 0.3}
		}
		return m
	}
	patience := max(3, min(20, 4000/((train-1)/32+1)))
	all := []System{{
		// Logistic regression on counts around a node.
		Name: "linear", Recipe: then(asked, counts(count.Around{Hops: 1, Bins: bins})), New: linear, Epochs: 20, Patience: 5,
	}}
	if g.SparseCard == 0 { // attributes do not tell nodes apart
		named := *set
		of := *g
		named.Graph = &of
		if named.Identify() == nil { // else its ids are too many
			asked := operators.Recipe{operators.Expect{Layout: named.Rooted(nil).Layout}, asked[1]}
			all = append(all, System{
				// Logistic regression on the ids of the nodes up to 2 edges around a node.
				Name: "neighbours", set: &named,
				Recipe: then(asked, counts(count.Around{Hops: 2, Bins: bins})), New: linear, Epochs: 50, Patience: 10,
			})
		}
	}
	width := g.SparseCard + g.NodeAttrs
	for _, c := range slices.Concat(l.NodeCat, l.EdgeCat) {
		width += c.Card
	}
	fields := func(k int, n operators.Normalize) operators.Recipe {
		n.Distances = 3
		assemble := operators.Assemble{K: k, Bound: 256}
		if set.Value != nil { // which the column of the classes of nodes does not hold
			return then(asked, assemble, n)
		}
		return operators.Recipe{operators.Expect{Layout: l}, operators.Roots{Nodes: []int32{-1}}, operators.Chunk{Size: 256}, assemble, n, operators.PerRoot{}}
	}
	if width <= widest {
		all = append(all, System{
			// A network on receptive fields, k = 20.
			Name:   "cnn",
			Recipe: fields(fieldNodes, operators.Normalize{By: labeling.WL}), New: pooled, Epochs: 200, Patience: patience,
		})
	}
	if g.EdgeCats+g.EdgeAttrs > 0 && width <= widest {
		all = append(all, System{
			// The paper's network on fields with their edges, k = 10.
			Name:   "cnn-edges",
			Recipe: fields(10, operators.Normalize{By: labeling.WL, Edges: true}),
			New:    func(seed uint64, workers int) nn.Model { return &nn.CNN{Seed: seed, Workers: workers} },
			Epochs: 50, Patience: 10,
		})
	}
	all = append(all, System{
		// The most accurate linear model of what is up to hops edges around a node.
		Name: "words", Recommended: true,
		Recipe: then(asked, counts(count.Around{Hops: hops, Bins: bins})), New: words, Epochs: 50, Patience: 10,
	})
	if set.Value == nil && width <= widest && g.N() <= mostFields/(fieldNodes*(1+g.NodeAttrs+g.NodeCats)) {
		all = append(all, System{
			// Several networks on fields, or on features that propagated over the edges, or words; smoothed where that is better (nodes.Fit).
			Name: "ensemble", Recommended: true,
			Learn: func(ctx context.Context, c Choice, train, valid []int32) (nn.Saver, operators.Recipe, *sinks.Probabilities, error) {
				f := nodes.Fit{Bound: 256, Portable: true, Mask: operators.MaskWords{Rate: masked, Seed: c.Seed}, Measure: c.Measure, Seed: c.Seed, Workers: c.Workers}
				if c.Progress != nil {
					f.Progress = func(stage string, done, total int) { c.Progress("ensemble, "+stage, done, total) }
				}
				fitted, err := f.Run(ctx, set, train, valid)
				if err != nil {
					return nil, nil, nil, err
				}
				return fitted.Net, fitted.Recipe, fitted.Probabilities.Of(valid), nil
			},
		})
	}
	return all
}

// mostFields bounds the values of the fields of all nodes, which nodes.Fit keeps in memory:
// fieldNodes nodes in each.
const (
	mostFields = 1 << 27
	fieldNodes = 20
)

// masked is the share of words that are hidden from networks that learn.
const masked = 0.05

// Links returns the systems for pairs of nodes, the quickest first.
func Links(g *graph.Graph) []System {
	asked := operators.Recipe{operators.Expect{Layout: links.Layout(g)}, operators.Roots{Nodes: []int32{-1, -1}}}
	return []System{
		// Logistic regression on counts around a pair.
		{Name: "linear", Recipe: then(asked, counts(count.Pair{})), New: linear, Epochs: 20, Patience: 5},
		// Ten linear models of the same counts (nn.Best).
		{Name: "words", Recommended: true, Recipe: then(asked, counts(count.Pair{})), New: best, Epochs: 50, Patience: 10},
		{
			// A network on the labels of the 10 nodes nearest to both ends.
			Name:   "cnn",
			Recipe: then(asked, operators.PairLabels{K: 10}),
			New: func(seed uint64, _ int) nn.Model {
				return &nn.Link{Seed: seed, Optimizer: nn.Adam{Rate: 0.01, WeightDecay: 0.1}}
			},
			Epochs: 50, Patience: 10,
		},
	}
}
