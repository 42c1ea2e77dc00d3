package sinks_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/links"
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

// show prints a test.
func show(r nn.Result) error {
	fmt.Printf("%d of %d right\n", r.Correct, r.Rows)
	return nil
}

// Graphs are classified: a model is trained, tested, saved, loaded and asked.
func ExampleSave_graphs() {
	ctx, train, test := context.Background(), flow.From(sources.Families{Graphs: 240}), flow.From(sources.Families{Graphs: 60, Seed: 2})
	recipe := operators.Recipe{
		operators.Expect{Layout: must(record.LayoutOf(must(train.Schema(ctx))))},
		operators.Count{Of: count.Standard(), DropGraph: true},
	}
	net := nn.Best()
	fit := must(sinks.Fit{Net: net, Epochs: 10}.Run(ctx, recipe.Onto(train)))
	fmt.Println("best epoch:", fit.Best)
	check(recipe.Onto(test).To(sinks.Evaluate{Net: net, Done: show}).Run(ctx))
	var file bytes.Buffer // or a file: sinks.Save and sinks.Load
	check(sinks.Write(&file, net, recipe))
	loaded := must(sinks.Read(&file))
	torus := must(generate.Torus(6, 6))
	fmt.Println("6 × 6 torus:", must(loaded.Predict(ctx, torus)).Class)
	// Output:
	// best epoch: 10
	// 58 of 60 right
	// 6 × 6 torus: torus
}

// The nodes of one graph are classified: count.Around counts what is around each node,
// here the numbers of the nodes.
func ExampleSave_nodes() {
	ctx, g := context.Background(), must(generate.RingOfCliques(40, 6))
	set := &sources.NodeSet{Graph: g, Classes: []string{"first half", "second half"}}
	parts := [2][]int32{} // to learn from, to test on
	for v := range int32(g.N()) {
		set.Class, parts[v%2] = append(set.Class, v/120), append(parts[v%2], v)
	}
	check(set.Identify())
	rows := operators.Recipe{operators.Count{Of: []count.Counter{count.Around{}}, DropGraph: true}}
	net := nn.Best()
	must(sinks.Fit{Net: net, Patience: 10}.Run(ctx, rows.Onto(flow.From(set.Rooted(parts[0])))))
	check(rows.Onto(flow.From(set.Rooted(parts[1]))).To(sinks.Evaluate{Net: net, Done: show}).Run(ctx))
	var file bytes.Buffer // or a file: sinks.Save and sinks.Load
	asked := operators.Recipe{operators.Expect{Layout: set.Rooted(nil).Layout}, operators.Roots{Nodes: []int32{-1}}}
	check(sinks.Write(&file, net, append(asked, rows...)))
	loaded := must(sinks.Read(&file))
	fmt.Println("node 237:", must(loaded.PredictRoots(ctx, g, 237))[0].Class)
	// Output:
	// 120 of 120 right
	// node 237: second half
}

// Links are predicted: count.Pair counts what is around each pair of nodes.
func ExampleSave_links() {
	ctx, g := context.Background(), must(generate.Grid(20, 20, true))
	trial := must(links.Split{}.Hide(ctx, g, rand.New(rand.NewPCG(1, 0))))
	rows := operators.Recipe{operators.Count{Of: []count.Counter{count.Pair{}}, DropGraph: true}}
	net := nn.Best()
	must(sinks.Fit{Net: net, Patience: 10, Epochs: 20}.Run(ctx, rows.Onto(flow.From(links.Rows(false, trial.Folds...)))))
	test := sinks.NewProbabilities(len(trial.Test.Pairs), 2)
	check(rows.Onto(flow.From(links.Rows(false, trial.Test))).To(test.Ask(net)).Run(ctx))
	fmt.Printf("AUC %.3f, average precision %.3f\n", validation.AUC(test.Ranking(1)), validation.AveragePrecision(test.Ranking(1)))
	var file bytes.Buffer // or a file: sinks.Save and sinks.Load
	asked := operators.Recipe{operators.Expect{Layout: links.Layout(g)}, operators.Roots{Nodes: []int32{-1, -1}}}
	check(sinks.Write(&file, net, append(asked, rows...)))
	loaded := must(sinks.Read(&file))
	pair := trial.Test.Pairs[0] // an edge that was hidden
	fmt.Println("a hidden edge:", must(loaded.PredictRoots(ctx, trial.Test.Graph, pair[0], pair[1]))[0].Class)
	// Output:
	// AUC 1.000, average precision 1.000
	// a hidden edge: link
}
