package nn_test

import (
	"fmt"
	"log"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
)

// Two patterns of six pixels. One hidden unit is enough to tell them apart, and
// to draw them.
func ExampleRBM() {
	rows := tensor.New(tensor.WithShape(2, 6), tensor.WithBacking([]float32{
		1, 1, 1, 0, 0, 0,
		0, 0, 0, 1, 1, 1,
	}))
	rbm := &nn.RBM{Hidden: 1, Rate: 0.1, Seed: 1}
	if err := rbm.Init(6); err != nil {
		log.Fatal(err)
	}
	for range 2000 {
		if _, err := rbm.Step(rows); err != nil {
			log.Fatal(err)
		}
	}
	code, err := rbm.Encode(rows, nil)
	if err != nil {
		log.Fatal(err)
	}
	again, err := rbm.Decode(code, nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 2 {
		fmt.Printf("row %d: code %.0f, rebuilt %.0f\n", i, code.Float32s()[i], again.Float32s()[6*i:6*i+6])
	}
	// Output:
	// row 0: code 1, rebuilt [1 1 1 0 0 0]
	// row 1: code 0, rebuilt [0 0 0 1 1 1]
}
