package readme_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// The program of the README. It is compiled here, and run by TestProgram.
func Example() {
	recipe := operators.Recipe{
		operators.Channel{By: labeling.NormalizedDegree}, // attributes of bare graphs
		operators.Channel{By: labeling.Clustering},
		operators.Select{W: 40, By: labeling.Betweenness}, // w = 40 roots per graph, in rank order
		operators.Assemble{K: 10},                         // at least k = 10 nearest nodes around each
		operators.Normalize{By: labeling.WL},              // ranked, exactly k: (w, k, a_v)
	}
	net := &nn.CNN{Dropout: -1}
	err := recipe.Onto(flow.From(sources.Families{Graphs: 2400})).
		Via(operators.Replay{Epochs: 5, Rows: 32}). // 32 graphs: (32, w, k, a_v), five times
		To(sinks.Train{Net: net}).                  // one step per batch
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var answers sinks.Answers
	err = recipe.Onto(flow.From(sources.Families{Graphs: 600, Seed: 2})).To(sinks.Predict{Net: net, Each: answers.Add}).Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of 600 new graphs right\n", answers.Correct())
}

// The nodes of one large graph.
func Example_large() {
	file, err := os.CreateTemp("", "web*.arrow")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(file.Name())
	file.Close()
	ctx, web := context.Background(), file.Name()

	err = flow.From(sources.EdgeList{Path: "path.edges", Reader: strings.NewReader("0 1\n1 2\n")}).
		To(sinks.IPC{Path: web}).Run(ctx) // once
	p := flow.From(sources.Mapped{Path: web}).
		Via(operators.Select{}).          // all nodes
		Via(operators.Chunk{Size: 1024}). // rows of 1024 roots
		Via(operators.Normalize{K: 10}).  // with their neighbourhoods: (1024, 10, a_v)
		Via(operators.PerRoot{})          // a row per node

	var out sinks.Collect
	defer out.Release()
	fmt.Println(err, p.To(&out).Run(ctx), out.Rows())
	// Output: <nil> <nil> 3
}
