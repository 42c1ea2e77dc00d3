package sources_test

import (
	"errors"
	"fmt"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// Molecules come from a channel, with the element of an atom and the kind of a
// bond, as a program would take them from its clients.
func ExampleSeq() {
	graphs := make(chan sources.Item)
	go func() {
		defer close(graphs)
		var b sources.Builder
		for id, bonds := range [][][3]int32{{{0, 1, 0}, {1, 2, 0}}, {{0, 1, 0}, {1, 2, 1}, {2, 3, 0}}} {
			for range len(bonds) + 1 {
				b.Node(int32(id)) // all atoms are alike here
			}
			for _, e := range bonds {
				b.Edge(e[0], e[1], e[2])
			}
			g, err := b.Graph()
			if err != nil {
				fmt.Println(err) // tell the client
				continue
			}
			graphs <- sources.Item{Graph: g, Class: int32(id), ID: int64(57 + id)}
		}
	}()
	err := show(sources.Seq{Chan: graphs, Layout: record.Layout{
		NodeCat: []record.Channel{{Name: "element", Card: 2}},
		EdgeCat: []record.Channel{{Name: "bond", Card: 2}},
		Classes: []string{"no", "yes"},
	}})
	fmt.Println(err)
	// Output:
	// graph 57 of class no has 3 nodes, 2 edges; labels [0 0 0]
	// graph 58 of class yes has 4 nodes, 3 edges; labels [1 1 1 1]
	// <nil>
}

// An iterator may end in an error, which ends the run.
func ExampleSeq_iterator() {
	var b sources.Builder
	err := show(sources.Seq{Layout: record.Layout{Classes: []string{"path"}}, Iter: func(yield func(sources.Item, error) bool) {
		for n := range int32(3) {
			b.Edge(n, n+1)
			g, err := b.Graph()
			if !yield(sources.Item{Graph: g}, err) {
				return
			}
		}
		yield(sources.Item{}, errors.New("the broker is gone"))
	}})
	fmt.Println(err)
	// Output:
	// graph 0 of class path has 2 nodes, 1 edges; labels []
	// graph 1 of class path has 3 nodes, 1 edges; labels []
	// graph 2 of class path has 4 nodes, 1 edges; labels []
	// the broker is gone
}
