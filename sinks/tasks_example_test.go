package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"github.com/sanflow/sanflow/flow"
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

// learnGraphs is the program of the README.
func learnGraphs() error {
	ctx, net := context.Background(), nn.Best()
	model, err := sinks.Learn(ctx, flow.From(sources.Families{Graphs: 240}), net, operators.Count{Of: count.Standard()})
	if err != nil {
		return err
	}
	defer model.Close()
	torus, err := generate.Torus(6, 6)
	if err != nil {
		return err
	}
	answer, err := model.Predict(ctx, torus)
	fmt.Println("6 × 6 torus:", answer.Class)
	return errors.Join(err, sinks.Save("families.model", net, model.Recipe()))
}

// Graphs are classified: a model is trained, tested, saved, loaded and asked.
func ExampleLearn() {
	defer os.Remove("families.model")
	check(learnGraphs())
	loaded := must(sinks.Load("families.model"))
	test := loaded.Recipe().Onto(flow.From(sources.Families{Graphs: 60, Seed: 2}))
	right := 0
	check(test.To(sinks.Predict{Net: loaded.Net(), Each: func(p sinks.Prediction) error {
		if p.Class == p.Target {
			right++
		}
		return nil
	}}).Run(context.Background()))
	fmt.Println(right, "of 60 right")
	// Output:
	// 6 × 6 torus: torus
	// 59 of 60 right
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
	var answers sinks.Answers
	check(rows.Onto(flow.From(set.Rooted(parts[1]))).To(sinks.Predict{Net: net, Each: answers.Add}).Run(ctx))
	fmt.Printf("%d of %d right\n", answers.Correct(), len(parts[1]))
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
	ctx, g := context.Background(), must(generate.Grid(20, 20))
	trial := must(links.Split{}.Hide(ctx, g, rand.New(rand.NewPCG(1, 0))))
	rows := operators.Recipe{operators.Count{Of: []count.Counter{count.Pair{}}, DropGraph: true}}
	net := nn.Best()
	must(sinks.Fit{Net: net, Patience: 10, Epochs: 20}.Run(ctx, rows.Onto(flow.From(links.Rows(trial.Folds...)))))
	var test sinks.Answers
	check(rows.Onto(flow.From(links.Rows(trial.Test))).To(sinks.Predict{Net: net, Each: test.Add}).Run(ctx))
	fmt.Printf("AUC %.3f, average precision %.3f\n", must(validation.ROC.Of(&test.Answers)), must(validation.Precision.About(1).Of(&test.Answers)))
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
