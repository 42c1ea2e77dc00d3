package sinks_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// Nodes come once each, eight at a time. Two models predict the class of each, then learn
// from it and from nodes that came before.
func ExampleRehearse() {
	set := &sources.NodeSet{Graph: must(generate.RingOfCliques(40, 6)), Classes: []string{"first half", "second half"}}
	var order []int32
	for i := range int32(240) {
		set.Class, order = append(set.Class, i/120), append(order, i*77%240)
	}
	if err := set.Identify(); err != nil {
		log.Fatal(err)
	}
	correct, rows := 0, 0
	err := flow.From(set.Rooted(order)).
		Via(operators.Count{Of: []count.Counter{count.Around{}}, DropGraph: true}).
		Via(operators.Batch{Size: 8}).
		To(sinks.Rehearse{Nets: []nn.Model{nn.Best(), nn.Best()}, Seed: 1, Each: func(p *sinks.Probabilities) error {
			if rows += len(p.Target); rows > 120 { // of the second half of the stream
				correct += p.Correct()
			}
			return nil
		}}).
		Run(context.Background())
	fmt.Println(correct > 100, err)
	// Output:
	// true <nil>
}

// Two models that read different columns answer together.
func ExampleProbabilities() {
	ctx, graphs := context.Background(), flow.From(sources.Families{Graphs: 120})
	said := sinks.NewProbabilities(120, len(sources.FamilyNames))
	for _, of := range []count.Counter{count.Profiles{}, count.WL{Height: 2}} {
		rows, net := graphs.Via(operators.Count{Of: []count.Counter{of}, DropGraph: true}), nn.Best()
		must(sinks.Fit{Net: net, Epochs: 5}.Run(ctx, rows))
		if err := rows.To(said.Ask(net)).Run(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(said.Models, "models, more than 9 of 10 right:", said.Accuracy() > 90)
	// Output:
	// 2 models, more than 9 of 10 right: true
}
