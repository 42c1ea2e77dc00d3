package nn_test

import (
	"bytes"
	"fmt"
	"log"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
)

// Graphs of two fields of two nodes; a node is of kind 0, 1 or 2. The class is 1
// when the roots of both fields are of one kind.
func ExampleCNN() {
	cats := tensor.New(tensor.WithShape(4, 2, 2, 1), tensor.WithBacking([]int32{
		0, 2, 0, -1, // graph 0: field 0 has kinds 0 and 2, field 1 kind 0 and a dummy
		0, 2, 1, 2,
		1, -1, 0, 2,
		1, 2, 1, 2,
	}))
	targets := tensor.New(tensor.WithShape(4), tensor.WithBacking([]int32{1, 0, 0, 1}))

	net := &nn.CNN{Seed: 1}
	net.Metadata()["classes"] = "differ,agree"
	if err := net.Init(nn.Shape{W: 2, K: 2, Cats: []int{3}, Classes: 2}); err != nil {
		log.Fatal(err)
	}
	for range 300 {
		if _, err := net.Step(nn.Batch{Cats: cats, Targets: targets}); err != nil {
			log.Fatal(err)
		}
	}
	p, err := net.Predict(nn.Batch{Cats: cats}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 4 {
		fmt.Printf("graph %d agrees: %t\n", i, p.Float32s()[2*i+1] > 0.5)
	}

	var file bytes.Buffer
	if err := net.Save(&file); err != nil {
		log.Fatal(err)
	}
	again, err := nn.LoadPredictor(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("loaded:", again.Metadata()["classes"], again.(*nn.CNN).Hash() == net.Hash())
	// Output:
	// graph 0 agrees: true
	// graph 1 agrees: false
	// graph 2 agrees: false
	// graph 3 agrees: true
	// loaded: differ,agree true
}
