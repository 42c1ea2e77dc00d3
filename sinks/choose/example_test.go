package choose_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// must returns v. A program handles the error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// The best of two systems for graphs is chosen, tested and kept.
func Example() {
	ctx := context.Background()
	all := must(choose.Collect(ctx, flow.From(sources.Families{Graphs: 120})))
	defer all.Release()
	train, valid, test, err := choose.Deal(all.Class, nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	rows := func(part []int32) choose.Rows { return choose.GraphRows(must(all.Rows(part)), operators.MaskWords{}) }
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
