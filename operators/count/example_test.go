package count_test

import (
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// Triangles counts the triangles of an undirected graph.
type Triangles struct{}

func (Triangles) String() string { return "triangles" }

func (Triangles) Prepare() (count.Worker, error) { return Triangles{}, nil }

func (Triangles) Count(in count.Input, bag *count.Bag) error {
	g := in.Graph
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			for _, w := range g.Adj(u) {
				if v < u && u < w && g.Entry(v, w) >= 0 {
					bag.Add(uint64(count.Kind("triangles")), 1)
				}
			}
		}
	}
	return nil
}

// A counter of one's own is a struct with three methods.
func Example() {
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 0}, {U: 1, V: 3}, {U: 2, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	_, counts, err := count.Of(count.Input{Graph: g}, Triangles{})
	fmt.Println(counts, err)
	// Output:
	// [2] <nil>
}

// Two graphs of four nodes have the colours of round 0, their degrees, in common
// as far as they go.
func ExampleOf() {
	path, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	ring, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 0}})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range []*graph.Graph{path, ring} {
		ids, counts, err := count.Of(count.Input{Graph: g}, count.WL{})
		fmt.Printf("%#x %v %v\n", ids, counts, err)
	}
	// Output:
	// [0x7d6105143b5b9391 0x91ca2920911cdbb1] [2 2] <nil>
	// [0x7d6105143b5b9391] [4] <nil>
}
