package sinks_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A network that learns online: one step per batch, each graph once.
func Example() {
	net := &nn.CNN{Dropout: -1}
	err := flow.From(sources.Families{Graphs: 3000}).
		Via(operators.Channel{By: labeling.NormalizedDegree}).  // bare graphs: the degree is their attribute
		Via(operators.Select{W: 40, By: labeling.Betweenness}). // w = 40 roots per graph, in rank order
		Via(operators.Assemble{K: 10}).                         // at least k = 10 nearest nodes around each
		Via(operators.Normalize{By: labeling.WL}).              // ranked, exactly k: (w, k, a_v)
		Via(operators.Batch{Size: 32}).                         // 32 graphs: (32, w, k, a_v)
		To(sinks.Train{Net: net}).                              // one step per batch
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(net.Seen(), net.Accuracy() > 0.3) // one of six classes is right by chance in 0.17
	// Output: 3000 true
}
