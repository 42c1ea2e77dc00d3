package sinks_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// families returns a model that tells families of graphs, and the recipe of its counts.
func families(ctx context.Context) (*nn.Logistic, operators.Recipe) {
	train := flow.From(sources.Families{Graphs: 120})
	recipe := operators.Recipe{
		operators.Expect{Layout: must(record.LayoutOf(must(train.Schema(ctx))))}, // of the graphs to predict
		operators.Count{Of: count.Standard(), DropGraph: true},
	}
	net := nn.Best()
	must(sinks.Fit{Net: net, Epochs: 5}.Run(ctx, recipe.Onto(train)))
	return net, recipe
}

// Save writes a model and its recipe to a file. Load makes a Predictor of the file.
func ExampleLoad() {
	ctx := context.Background()
	net, recipe := families(ctx)
	dir := must(os.MkdirTemp("", "load"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "families.model")
	check(sinks.Save(file, net, recipe))

	p := must(sinks.Load(file)) // in another program
	defer p.Close()
	answer := must(p.Predict(ctx, must(generate.RingOfCliques(5, 6))))
	fmt.Println(answer.Class)
	// Output: ring of cliques
}

// A Predictor classifies single graphs. Any number of goroutines may call it.
func ExamplePredictor() {
	ctx := context.Background()
	p := must(sinks.NewPredictor(families(ctx)))
	defer p.Close()
	answer := must(p.Predict(ctx, must(generate.RingOfCliques(5, 6))))
	fmt.Println(answer.Class, answer.Probs[answer.Index] == slices.Max(answer.Probs))
	// Output: ring of cliques true
}

// Explain splits the logit of a prediction into a bias and the weights of words, or of
// nodes, edges and the whole graph. The weights of nn.Best are exact.
func ExamplePredictor_Explain() {
	ctx := context.Background()
	p := must(sinks.NewPredictor(families(ctx)))
	defer p.Close()
	e := must(p.Explain(ctx, must(generate.RingOfCliques(5, 6)), sinks.ExplainOptions{}))
	nodes, edges := 0.0, 0.0
	for _, n := range e.Nodes {
		nodes += n.Weight
	}
	for _, x := range e.Edges {
		edges += x.Weight
	}
	fmt.Println(e.Class, e.Method, len(e.Nodes), "nodes", len(e.Edges), "edges")
	fmt.Println(math.Abs(e.Bias+e.Graph+nodes+edges-e.Sum) < 1e-9)
	// Output:
	// ring of cliques exact 30 nodes 80 edges
	// true
}
