package choose_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// must returns v. A program handles the error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// check ends the program where there is an error. A program handles the error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A model for the nodes of one graph is chosen, saved, loaded and tested.
func Example_nodes() {
	ctx, path := context.Background(), filepath.Join(must(os.MkdirTemp("", "nodes")), "nodes.model")
	defer os.RemoveAll(filepath.Dir(path))
	g, class, err := generate.Communities(96, 4, 6, 2, 1)
	check(err)
	set := &sources.NodeSet{Graph: g, Class: class, Classes: []string{"north", "east", "south", "west"}}
	check(set.Identify()) // there are no other features

	train, valid, test, err := choose.Deal(set, 1) // nodes whose class is known
	check(err)
	rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part) }
	chosen := must(choose.Choice{
		Systems: choose.Nodes(set, len(train)), Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1,
	}.Run(ctx))
	check(sinks.Save(path, chosen.Net, chosen.Recipe))
	p := must(sinks.Load(path)) // elsewhere, later
	m := must(choose.Test(ctx, p, set.Graph, set.IDs, rows(test), "", 0))
	check(p.Close())
	fmt.Println("tested on", m.Rows, "nodes, better than the largest class:", m.Accuracy() > 2*m.Majority())
	// Output:
	// tested on 16 nodes, better than the largest class: true
}

// The best of two systems for graphs is chosen, tested and kept.
func Example() {
	ctx := context.Background()
	all := must(choose.Collect(ctx, flow.From(sources.Families{Graphs: 120})))
	defer all.Release()
	train, valid, test, err := all.Deal(nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	rows := func(part []int32) choose.Rows { return choose.GraphRows(must(all.Rows(part))) }
	chosen := must(choose.Choice{
		Systems: must(choose.Pick(choose.Graphs(all.Layout, all.Nodes), []string{"linear", "words"})),
		Classes: all.Layout.Classes, Train: rows(train), Valid: rows(valid), Seed: 1,
	}.Run(ctx))
	m := choose.NewMeasures(all.Layout.Classes)
	if err := rows(test)(chosen.Recipe).To(sinks.Predict{Net: chosen.Net, Each: m.Add}).Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(chosen.System, "tested on", m.Rows, "graphs, better than the largest class:", m.Accuracy() > m.Majority())
	var file bytes.Buffer // or a file, by sinks.Save
	if err := sinks.Write(&file, chosen.Net, chosen.Recipe); err != nil {
		log.Fatal(err)
	}
	// Output:
	// words tested on 20 graphs, better than the largest class: true
}

// A model learns which payments are thefts from what is known of earlier payments, and answers about a payment before it is stored.
func Example_rows() {
	ctx := context.Background()
	set := must(sources.Rows{Tables: []sources.RowTable{{
		Table: sources.CSV{Reader: strings.NewReader(strings.Join(thefts(900), "\n"))}, Time: "time", Class: "class",
		Keys: []sources.Key{{Column: "source", Space: "account"}, {Column: "target", Space: "account"}},
	}}}.Read(ctx))
	must(set.SplitTime(0.6, 0.15)) // of the rows, in the order of their times
	train, valid, test := set.Subset(sources.Train), set.Subset(sources.Val), set.Subset(sources.Test)
	h := &choose.History{Set: set, Train: train}
	chosen := must(choose.Choice{
		Systems: must(h.Systems())[:1], Classes: set.Classes, Train: h.Rows(train), Valid: h.Rows(valid), Measure: validation.Precision, Seed: 1,
	}.Run(ctx))
	check(h.Keep(chosen.Net)) // its settings and the rows it has learned from, for sinks.Save
	p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
	defer p.Close()
	m := must(choose.Test(ctx, p, nil, set.IDs, h.Rows(test), "", 0))
	fmt.Println("AUC above 0.8:", must(m.By(validation.ROC)) > 0.8)

	open := must(must(choose.HistoryOf(p, set, train)).OpenRows(p, choose.RowColumns{Time: "time"}))
	defer open.Close()
	asked, _, err := open.Ask(nil, []choose.Row{{"time": 451, "source": "s8", "target": "s2", "amount": 9.5, "kind": "cash"}})
	check(err)
	why := must(open.Explain(ctx, asked[0], "yes"))
	fmt.Println("the source has", why.Earlier[0].Count, "earlier rows, the latest is row", why.Earlier[0].Rows[0].ID)
	// Output:
	// AUC above 0.8: true
	// the source has 47 earlier rows, the latest is row 885
}
