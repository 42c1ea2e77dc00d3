package choose

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/links"
)

// Deal splits the nodes whose class or number is known into two thirds for training, a sixth for
// validation and a sixth for tests, each class as evenly as possible. Fewer than six of them are an error.
// If set.Split is set, it gives the parts; a missing validation or test part is then a sixth of the
// training nodes.
//
// The parts are in the order of digests of the ids (sinks.NodeID), and that of the numbers where nodes
// have no ids, so that neither they nor a training depend on how nodes are listed. Nodes differ
// by their places in the graph even if all their attributes are equal. Collection.Deal is for graphs.
func Deal(set *sources.NodeSet, seed uint64) (train, valid, test []int32, err error) {
	order := set.All()
	if set.IDs.Kind() != graph.NoIDs {
		digest := make([]uint64, len(order))
		for v := range digest {
			digest[v] = sinks.NodeID(set.IDs, int32(v))
		}
		slices.SortStableFunc(order, func(u, v int32) int { return cmp.Compare(digest[u], digest[v]) })
	}
	class, split := make([]int32, len(order)), []sources.Subset(nil)
	for i, v := range order {
		switch {
		case !set.Learnable(v):
			class[i] = -1
		case set.Channels.Targets == nil:
			class[i] = set.Class[v]
		}
		if set.Split != nil {
			split = append(split, set.Split[v])
		}
	}
	train, valid, test, err = deal(class, nil, split, seed)
	for _, part := range [][]int32{train, valid, test} {
		for i, at := range part {
			part[i] = order[at]
		}
	}
	return train, valid, test, err
}

// deal is Deal for rows with classes. A row of class -1 is in no part. All parts are ascending. If group is
// set and there are six groups, all rows of a group are in one part, except where split decides.
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
	train = slices.DeleteFunc(folds[0].Train, func(row int32) bool {
		_, isValid := slices.BinarySearch(folds[1].Test, row) // the rows of Test ascend
		return isValid
	})
	return train, folds[1].Test, folds[0].Test, nil
}

// given returns the parts of a split, and deals missing parts from the training rows.
func given(class, group []int32, split []sources.Subset, seed uint64) (train, valid, test []int32, err error) {
	rest := slices.Clone(class) // class of each row to deal, -1 of the other rows
	for row, p := range split {
		if class[row] < 0 {
			continue
		}
		switch p {
		case sources.Train:
			train = append(train, int32(row))
			continue
		case sources.Val:
			valid = append(valid, int32(row))
		case sources.Test:
			test = append(test, int32(row))
		}
		rest[row] = -1
	}
	switch {
	case train == nil:
		return nil, nil, nil, errors.New("choose: there are no rows to learn from")
	case valid != nil && test != nil:
		return train, valid, test, nil
	}
	train, dealt, more, err := deal(rest, group, nil, seed)
	switch {
	case valid != nil:
		return merged(train, dealt), valid, more, err
	case test != nil:
		return merged(train, more), dealt, test, err
	}
	return train, dealt, more, err
}

// merged returns the rows of two lists, ascending.
func merged(a, b []int32) []int32 {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return all
}

// Pick returns the systems of the given different names, in the order of all. A name of no system, or of one that is left
// out, is an error.
func Pick(all []System, names []string) (some []System, err error) {
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
	}
	want := map[string]bool{}
	for _, name := range names {
		switch at := slices.Index(known, name); {
		case want[name]:
			return nil, fmt.Errorf("the system %q is named twice", name)
		case at < 0:
			return nil, fmt.Errorf("there is no system %q, want some of %s", name, strings.Join(known, ", "))
		case all[at].LeftOut != "":
			return nil, fmt.Errorf("the system %q is left out: %s", name, all[at].LeftOut)
		}
		want[name] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(s System) bool { return !want[s.Name] }), nil
}

// best returns nn.Best, the most accurate linear model, with a number of workers.
func best(_ uint64, workers int) nn.Saver {
	m := nn.Best()
	m.Workers = workers
	return m
}

// quick is best with a higher rate, with which 50 epochs are enough to learn from numbers.
func quick(seed uint64, workers int) nn.Saver {
	m := best(seed, workers).(*nn.Logistic)
	m.Optimizer = nn.AdaGrad{Rate: 0.2, Epsilon: 1e-3}
	return m
}

// boosted returns boosted trees for counts of words. Each tree reads a random 30 % of the columns.
func boosted(seed uint64, workers int) nn.Saver {
	return &trees.Model{Rate: 0.05, Columns: 0.3, Seed: seed, Workers: workers}
}

// bagged returns a forest, which ranks molecules better than boosted trees.
func bagged(seed uint64, workers int) nn.Saver {
	return &trees.Model{Bag: true, Trees: 200, Columns: 0.03, Seed: seed, Workers: workers}
}

// mean returns the system that averages the answers of trees and of learner. name is the system of the same trees. linearOf is the
// system of the same learner and recipe, or "". The trees come first, since their shape has the columns too.
func mean(name, linearOf string, read operators.Recipe, trees, learner func(seed uint64, workers int) nn.Saver) System {
	return System{
		Name: "words+" + name, Recipe: read, reused: []string{name, linearOf}, Epochs: 50, Patience: 10,
		New: func(seed uint64, workers int) nn.Saver {
			return &nn.Ensemble{Nets: []nn.Predictor{trees(seed, workers), learner(seed, workers)}}
		},
	}
}

// linear returns logistic regression with the default settings.
func linear(_ uint64, workers int) nn.Saver { return &nn.Logistic{Workers: workers} }

// Graphs returns the systems for graphs of a layout with size nodes on average: the recommended words model, boosted trees and the mean of
// both, a linear model of colours, a forest, which is bagged trees, and its mean with words, and the paper's network without and with edges. The recommended
// system is the first, which no Choice.Budget leaves out, so that the model of a busy machine is of the same kind as that of an idle one.
// Trees and the means read the words of the words model, or of graphs whose nodes have several discrete attributes those of count.Compact.
//
// Where nodes or edges have numbers, linear models, trees and their means read numbers of the graph too (operators.Describe).
func Graphs(l record.Layout, size float64) []System {
	dropout := 0.0 // 0 is the default of nn.CNN
	head := operators.Recipe{operators.Expect{Layout: l}}
	var channel operators.Recipe
	if len(l.NodeCat) == 0 && len(l.NodeAttr) == 0 && l.NodeSparse.Card == 0 {
		channel, dropout = operators.Recipe{operators.Channel{By: labeling.NormalizedDegree}}, -1 // as in the paper
	}
	fields := func(edges bool) operators.Recipe {
		return then(append(head[:1:1], channel...),
			operators.Select{W: max(1, min(1<<12, int(size+0.5))), By: labeling.Betweenness},
			operators.Assemble{K: 10},
			operators.Normalize{By: labeling.WL, Edges: edges})
	}
	cnn := func(seed uint64, workers int) nn.Saver {
		return &nn.CNN{Seed: seed, Dropout: dropout, Workers: workers}
	}
	numbers, learner := len(l.NodeAttr)+len(l.EdgeAttr) > 0, best
	if numbers {
		learner = quick
	}
	counted := func(of ...count.Counter) operators.Recipe {
		return then(head, numbered(operators.Describe{}, counts(of...), numbers)...)
	}
	words := counted(count.Standard()...)
	read, linearOf := words, "words"
	if len(l.NodeCat) > 1 {
		read, linearOf = counted(count.Compact()...), ""
	}
	return []System{
		// Ten linear models of words of all kinds (nn.Best).
		{Name: "words", Recommended: true, Recipe: words, New: learner, Epochs: 50, Patience: 10},
		// Boosted trees, and bagged trees, with their means.
		{Name: "trees", Recipe: read, New: boosted},
		mean("trees", linearOf, read, boosted, learner),
		// Logistic regression on counts of colours.
		{Name: "linear", Recipe: counted(count.WL{Height: 2}), New: linear, Epochs: 50, Patience: 10},
		{Name: "forest", Recipe: read, New: bagged},
		mean("forest", linearOf, read, bagged, learner),
		// The paper's network, k = 10, without and with the edges of fields.
		{Name: "cnn", Recipe: fields(false), New: cnn, Epochs: 50, Patience: 10},
		{Name: "cnn-edges", Recipe: fields(true), New: cnn, Epochs: 50, Patience: 10},
	}
}

// then returns a recipe with more operators at its end, and leaves r as it is.
func then(r operators.Recipe, more ...flow.Operator) operators.Recipe {
	return append(r[:len(r):len(r)], more...)
}

func counts(of ...count.Counter) operators.Count { return operators.Count{Of: of, DropGraph: true} }

// numbered adds numbers of each row, in intervals, to the counts for a linear model, if there are numbers. Choice.collect fits the intervals.
func numbered(d operators.Describe, c operators.Count, numbers bool) []flow.Operator {
	if !numbers {
		return []flow.Operator{c}
	}
	return []flow.Operator{d, c, operators.Intervals{}}
}

// masked is the share of words that are masked in training rows, so that models learn weights for unseen
// words; see operators.MaskWords.
const masked = 0.05

// For graphs, words are masked in a share of the graphs only, so that the other graphs keep the patterns of new graphs.
const (
	maskedGraphs   = 0.1
	maskedInGraphs = 0.2
)

// Links returns the systems for pairs of nodes, the quickest first, to be chosen by the AUC (validation.ROC): pairs are ranked, and the share
// of links among the predicted pairs is another. The mean of words and trees is recommended: on validation pairs of
// SEAL's USAir, NS, Power and Yeast, five splits each, it has an AUC of 0.985, 0.987, 0.910 and 0.979, words 0.985, 0.986, 0.907 and 0.978,
// trees 0.984, 0.987, 0.911 and 0.979.
func Links(g *graph.Graph) []System {
	asked := operators.Recipe{operators.Expect{Layout: links.Layout(g)}, operators.Roots{Nodes: []int32{-1, -1}}}
	words := then(asked, counts(count.Pair{}))
	both := mean("trees", "words", words, boosted, best)
	both.Recommended, both.rows = true, true
	return []System{
		// Logistic regression on counts around a pair.
		{Name: "linear", Recipe: words, New: linear, Epochs: 20, Patience: 5},
		// Ten linear models of the same counts (nn.Best), boosted trees, and their mean.
		{Name: "words", Recipe: words, New: best, Epochs: 50, Patience: 10},
		{Name: "trees", Recipe: words, New: boosted},
		both,
	}
}
