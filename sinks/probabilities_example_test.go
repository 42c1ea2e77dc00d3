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
)

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
