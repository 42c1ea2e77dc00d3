package nodes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sanflow/sanflow/sinks/nodes"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// Of three nodes of a community the class of two is known. With sources.Nodes{Path:
// "Cora.zip"} in place of the generated graph, and the parts of its split, this is the
// figure of the README.
func Example() {
	g, class, err := generate.Communities(300, 4, 6, 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	set := &sources.NodeSet{Graph: g, Class: class, Classes: []string{"north", "east", "south", "west"}}
	if err := set.Identify(); err != nil { // there are no other features
		log.Fatal(err)
	}
	var train, val, test []int32
	for v := int32(0); v < 300; v += 3 {
		train, val, test = append(train, v), append(val, v+1), append(test, v+2)
	}
	fitted, err := nodes.Fit{Seed: 1, Propagate: nodes.Off, Nets: 2, Epochs: 10}.Run(context.Background(), set, train, val)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d right; node 299 is in the %s\n", fitted.Probabilities.Of(test).Correct(), len(test), set.Classes[fitted.Probabilities.Class(299)])
	// Output:
	// 91 of 100 right; node 299 is in the west
}
