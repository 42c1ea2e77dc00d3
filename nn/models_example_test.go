package nn_test

import (
	"bytes"
	"fmt"
	"log"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
)

// ints and floats are tensors over slices.
func ints(x []int32, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

func floats(x []float32, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

// Nodes of a large graph: a row is the field of one root, so W is 1. A node is
// of class 1 when most of its neighbours, the nodes after it, are of kind 1.
func ExampleCNN_nodes() {
	const b, k = 32, 6
	net := &nn.CNN{Seed: 1}
	if err := net.Init(nn.Shape{W: 1, K: k, Cats: []int{2}, Classes: 2}); err != nil {
		log.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	cats, targets := make([]int32, b*k), make([]int32, b)
	for range 200 {
		for i := range targets {
			ones := int32(0)
			for j := range k {
				cats[i*k+j] = r.Int32N(2)
				if j > 0 {
					ones += cats[i*k+j]
				}
			}
			targets[i] = ones / 3 // of five
		}
		if _, err := net.Step(nn.Batch{Cats: ints(cats, b, 1, k, 1), Targets: ints(targets, b)}); err != nil {
			log.Fatal(err)
		}
	}
	p, err := net.Predict(nn.Batch{Cats: ints([]int32{0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0}, 2, 1, k, 1)}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 2 {
		fmt.Println(p.Float32s()[2*i+1] > 0.5)
	}
	// Output:
	// true
	// false
}

// A number for each graph: a shape without classes.
func ExampleCNN_regression() {
	const b = 32
	net := &nn.CNN{Seed: 1, Dropout: -1}
	if err := net.Init(nn.Shape{W: 2, K: 2, Attrs: 1}); err != nil {
		log.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	x, y := make([]float32, b*4), make([]float32, b)
	var last nn.Result
	for range 500 {
		for i := range y {
			for j := range 4 {
				x[4*i+j] = r.Float32()
			}
			y[i] = x[4*i] * x[4*i+2] // of the two roots
		}
		var err error
		if last, err = net.Step(nn.Batch{Attrs: floats(x, b, 2, 2, 1), Values: floats(y, b)}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("off by less than 0.05 on average:", last.AbsError < 0.05)
	// Output: off by less than 0.05 on average: true
}

// What kind of model a file holds is in the file.
func ExampleLoadPredictor() {
	var file bytes.Buffer
	net := &nn.GRU{Hidden: 8}
	net.Metadata()["classes"] = "no,yes"
	err := net.Init(nn.Shape{W: 18, K: 10, Cats: []int{7}, Classes: 2})
	if err == nil {
		_, err = net.Step(nn.Batch{
			Cats:    tensor.New(tensor.WithShape(1, 18, 10, 1), tensor.WithBacking(make([]int32, 180))),
			Targets: tensor.New(tensor.WithShape(1), tensor.WithBacking([]int32{1})),
		})
	}
	if err == nil {
		err = net.Save(&file)
	}
	if err != nil {
		log.Fatal(err)
	}
	model, err := nn.LoadPredictor(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model)
	fmt.Println(model.Metadata())

	// It says for what data it is when it is given others.
	fmt.Println(model.Init(nn.Shape{W: 18, K: 5, Cats: []int{7}, Classes: 2}))
	// Output:
	// GRU{W: 18, K: 10, Maps1: 16, Hidden: 8, Activation: relu, Merge: concat, Pool: last, Dropout: 0.5, Loss: cross-entropy, Optimizer: {Rate:0.001 Rho:0.9}, Seed: 0}
	// map[classes:no,yes]
	// the model is for 10 nodes a field (k), the data have 5
}
