package graph_test

import (
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow/graph"
)

func ExampleNew() {
	// 0 ── 1
	// │  ╱
	// 2 ── 3
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.N(), "nodes,", g.M(), "edges")
	for v := range int32(g.N()) {
		fmt.Println(v, "has degree", g.Degree(v), "and neighbours", g.Adj(v))
	}
	fmt.Println("offsets", g.Offsets, "neighbours", g.Neighbors)
	// Output:
	// 4 nodes, 4 edges
	// 0 has degree 2 and neighbours [1 2]
	// 1 has degree 2 and neighbours [0 2]
	// 2 has degree 3 and neighbours [0 1 3]
	// 3 has degree 1 and neighbours [2]
	// offsets [0 2 4 7 8] neighbours [1 2 0 2 0 1 3 2]
}

func ExampleGraph_Transpose() {
	g, err := graph.New(3, true, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 2, V: 1}})
	if err != nil {
		log.Fatal(err)
	}
	offsets, tails, _ := g.Transpose()
	fmt.Println("into 1:", tails[offsets[1]:offsets[2]])
	// Output: into 1: [0 2]
}

func ExampleGraph_Renumber() {
	g, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	if err != nil {
		log.Fatal(err)
	}
	h := g.Renumber([]int32{2, 0, 1}) // the middle is called 0 now
	fmt.Println(h.Adj(0))
	// Output: [1 2]
}
