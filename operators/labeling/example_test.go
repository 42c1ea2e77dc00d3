package labeling_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// A triangle 0, 1, 2 with node 3 tied to node 2.
func kite() *graph.Graph {
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	return g
}

func ExampleLabeling() {
	labels := make([]float64, 4)
	for _, name := range []string{"degree", "wl", "betweenness"} {
		l, err := labeling.Parse(name)
		if err != nil {
			log.Fatal(err)
		}
		if err := labeling.Compute(l, labeling.Input{Graph: kite()}, labels); err != nil {
			log.Fatal(err)
		}
		fmt.Println(l, labels)
	}
	// Output:
	// degree [2 2 3 1]
	// wl [1 1 3 0]
	// betweenness [0 0 2 0]
}

// Nodes with equal labels are ordered by structure: node 3, tied to the node of
// highest label only, comes after the triangle.
func ExampleRank() {
	order, canonical, err := labeling.Rank(context.Background(), kite(), []float64{0, 0, 2, 0})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order, canonical)
	// Output:
	// [2 0 1 3] true
}

// Triangles counts the triangles around each node: an own labeling.
type Triangles struct{}

func (Triangles) String() string { return "triangles" }

func (Triangles) Label(in labeling.Input, labels []float64) error {
	g := in.Graph
	for v := range labels {
		labels[v] = 0
		for _, u := range g.Adj(int32(v)) {
			for _, w := range g.Adj(int32(v)) {
				if u < w && g.Entry(u, w) >= 0 {
					labels[v]++
				}
			}
		}
	}
	return nil
}

func ExampleLabeling_own() {
	labels := make([]float64, 4)
	if err := labeling.Compute(Triangles{}, labeling.Input{Graph: kite()}, labels); err != nil {
		log.Fatal(err)
	}
	fmt.Println(labels)
	// Output:
	// [1 1 1 0]
}
