package canon_test

import (
	"fmt"
	"log"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/canon"
)

// Two drawings of the same graph have the same matrix in canonical order.
func ExampleForm() {
	a, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	b, err := graph.New(4, false, []graph.Edge{{U: 2, V: 0}, {U: 0, V: 3}, {U: 3, V: 1}})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range []*graph.Graph{a, b} {
		order, quality, err := canon.Form(g, nil)
		if err != nil {
			log.Fatal(err)
		}
		codes, err := canon.Codes(g)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(order, quality, canon.Permute(codes, order))
	}
	// Output:
	// [1 2 0 3] exact [0 1 1 0 1 0 0 1 1 0 0 0 0 1 0 0]
	// [0 3 2 1] exact [0 1 1 0 1 0 0 1 1 0 0 0 0 1 0 0]
}

// A Solver keeps its memory. Here it tells apart two rooted graphs that differ
// in the root only: a path with the root at the end, and in the middle.
func ExampleSolver_Bits() {
	path := []uint64{0b010, 0b101, 0b010}
	var s canon.Solver
	end, _ := s.Bits(path, []int32{0, 1, 1})
	end = slices.Clone(end)
	middle, _ := s.Bits(path, []int32{1, 0, 1})
	fmt.Println(end, middle)
	// Output:
	// [0 1 2] [1 0 2]
}
