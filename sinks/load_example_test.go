package sinks_test

import (
	"bytes"
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

// A file holds the weights and the recipe that turns graphs into fields, so a loaded
// model takes graphs.
func ExamplePredict_loaded() {
	src := sources.Families{Graphs: 300}
	recipe := operators.Recipe{
		operators.Channel{By: labeling.NormalizedDegree},
		operators.Select{W: 20},
		operators.Assemble{K: 6},
		operators.Normalize{},
	}
	net := new(nn.CNN)
	net.Metadata()["recipe"] = recipe.String()
	err := recipe.Onto(flow.From(src)).Via(operators.Batch{}).To(sinks.Train{Net: net}).Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := net.Save(&file); err != nil {
		log.Fatal(err)
	}

	loaded, err := nn.LoadPredictor(&file)
	if err != nil {
		log.Fatal(err)
	}
	recipe, err = operators.ParseRecipe(nn.MetadataOf(loaded)["recipe"])
	if err != nil {
		log.Fatal(err)
	}
	graphs := 0
	err = recipe.Onto(flow.From(src)).To(sinks.Predict{Net: loaded, Each: func(p sinks.Prediction) error {
		graphs++
		return nil
	}}).Run(context.Background())
	fmt.Println(graphs, "graphs,", err)

	recipe[2] = operators.Assemble{K: 5} // not what it was trained with
	err = recipe.Onto(flow.From(src)).To(sinks.Predict{Net: loaded, Each: func(sinks.Prediction) error { return nil }}).Run(context.Background())
	fmt.Println(err)
	// Output:
	// 300 graphs, <nil>
	// predict: the model is for 6 nodes a field (k), the data have 5
}
