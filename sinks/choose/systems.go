package choose

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Deal deals rows into two thirds to learn from, a sixth to choose by and a sixth to test
// on, each class spread as evenly as it can be. A row of class -1 is in no part. All are
// ascending. Fewer than six rows are an error.
func Deal(class []int32, seed uint64) (train, valid, test []int32, err error) {
	var rows []int32
	for row, c := range class {
		if c >= 0 {
			rows = append(rows, int32(row))
		}
	}
	const parts = 6
	folds, err := validation.Folds(rows, class, parts, rand.New(rand.NewPCG(seed, parts)))
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

// Pick returns the systems of those names, in the order of the list all.
func Pick(all []System, names []string) ([]System, error) {
	want := map[string]bool{}
	for _, name := range names {
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
func best(_ uint64, workers int) Net {
	m := nn.Best()
	m.Workers = workers
	return m
}

// linear is a table of counts.
func linear(_ uint64, workers int) Net { return &nn.Logistic{Workers: workers} }

// Graphs are the systems for graphs of a layout, which have so many nodes on average, the
// quickest first: a linear model of colours, the paper's network without and with edges
// around the words model that is recommended.
func Graphs(l record.Layout, nodes float64) []System {
	dropout := 0.0 // the default
	var channel operators.Recipe
	if len(l.NodeCat) == 0 && len(l.NodeAttr) == 0 && l.NodeSparse.Card == 0 {
		channel, dropout = operators.Recipe{operators.Channel{By: labeling.NormalizedDegree}}, -1 // as the paper does
	}
	fields := func(edges bool) operators.Recipe {
		return append(channel[:len(channel):len(channel)],
			operators.Select{W: max(1, min(1<<12, int(nodes+0.5))), By: labeling.Betweenness},
			operators.Assemble{K: 10},
			operators.Normalize{By: labeling.WL, Edges: edges})
	}
	cnn := func(seed uint64, workers int) Net {
		return &nn.CNN{Seed: seed, Dropout: dropout, Workers: workers}
	}
	return []System{
		{Name: "linear", About: "logistic regression on counts of colours",
			Recipe: operators.Recipe{operators.Count{Of: []count.Counter{count.WL{Height: 2}}, DropGraph: true}}, New: linear, Epochs: 20, Patience: 5},
		{Name: "cnn", About: "the paper's network, k = 10", Recipe: fields(false), New: cnn, Epochs: 50, Patience: 10},
		{Name: "words", About: "ten linear models of words of all kinds (nn.Best)", Recommended: true,
			Recipe: operators.Recipe{operators.Count{Of: count.Standard(), DropGraph: true}}, New: best, Epochs: 50, Patience: 10},
		{Name: "cnn-edges", About: "the paper's network, with the edges of fields", Recipe: fields(true), New: cnn, Epochs: 50, Patience: 10},
	}
}
