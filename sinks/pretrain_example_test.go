package sinks_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// All fields of a torus are equal. A machine that has seen them knows the edges
// by heart.
func ExamplePretrain() {
	torus, err := generate.Torus(20, 20)
	if err != nil {
		log.Fatal(err)
	}
	rbm := &nn.RBM{Hidden: 10, Rate: 0.1, Seed: 1}
	last := nn.Result{}
	err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: torus}}}).
		Via(operators.Select{}).       // all nodes
		Via(operators.Chunk{Size: 1}). // a row each
		Via(operators.Assemble{K: 5}).
		Via(operators.Normalize{Edges: true}).     // (1, 5, 5, 1)
		Via(operators.Replay{Epochs: 5, Seed: 1}). // 5 × 400 rows of 25 units
		To(sinks.Pretrain{Net: rbm, OnStep: func(r nn.Result) error {
			last = r
			return nil
		}}).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d fields, reconstruction error %.3f\n", rbm.Seen(), last.Loss)
	// Output: 2000 fields, reconstruction error 0.000
}
