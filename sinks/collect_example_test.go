package sinks_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// The field around the middle of a 3×3 image has the middle first, then its
// four corners, then its four sides.
func ExampleCollect() {
	image, err := generate.Grid(3, 3)
	if err != nil {
		log.Fatal(err)
	}
	var fields sinks.Collect
	defer fields.Release()
	err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: image}}}).
		Via(operators.Select{W: 1, By: labeling.Degree}).
		Via(operators.Assemble{K: 9}).
		Via(operators.Normalize{}).
		To(&fields).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, rec := range fields.Records() {
		members, _, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(members)
	}
	// Output: [4 0 2 6 8 1 3 5 7]
}
