package theta_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/operators/theta"
)

// kiteWithTail is a triangle with a tail of tail nodes.
func kiteWithTail(tail int32) *graph.Graph {
	edges := []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 2}}
	for i := range tail {
		edges = append(edges, graph.Edge{U: 2 + i, V: 3 + i})
	}
	g, err := graph.New(int(3+tail), false, edges)
	if err != nil {
		log.Fatal(err)
	}
	return g
}

// Which labeling gives the nodes of kites the most similar fields?
func ExampleChoose() {
	graphs := []*graph.Graph{kiteWithTail(1), kiteWithTail(2), kiteWithTail(3)}
	candidates := []labeling.Labeling{labeling.Degree, labeling.WL, labeling.Clustering}
	best, table, err := theta.Choose(context.Background(), graphs, candidates, theta.Options{K: 4, Pairs: 500, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range table {
		fmt.Printf("%-10s %.2f ± %.2f, %.2f ± %.2f above the best, %.2f entries\n",
			e.Labeling, e.Theta, e.SE, e.Diff, e.DiffSE, e.Entries)
	}
	fmt.Println("best:", best)
	// Output:
	// degree     3.62 ± 0.12, 0.99 ± 0.08 above the best, 7.33 entries
	// wl         2.62 ± 0.09, 0.00 ± 0.00 above the best, 7.33 entries
	// clustering 3.82 ± 0.12, 1.19 ± 0.08 above the best, 7.33 entries
	// best: wl
}
