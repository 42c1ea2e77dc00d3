package mapped_test

import (
	"fmt"
	"log"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
)

// The graphs of a file, where they lie.
func ExampleOpen() {
	f, err := mapped.Open("../../../sources/testdata/graphs.v1.arrow")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for i := range f.Len() {
		rec, err := f.Record(i)
		if err != nil {
			log.Fatal(err)
		}
		graphs, err := record.GraphsOf(rec)
		if err != nil {
			log.Fatal(err)
		}
		var g graph.Graph
		for row := range graphs.Len() {
			graphs.At(row, &g) // views of the file
			fmt.Printf("graph %d: %d nodes, %d edges\n", graphs.ID(row), g.N(), len(g.Neighbors)/2)
		}
		rec.Release()
	}
	// Output:
	// graph 100: 5 nodes, 4 edges
	// graph 101: 6 nodes, 6 edges
	// graph 102: 7 nodes, 6 edges
	// graph 103: 1 nodes, 0 edges
	// graph 104: 4 nodes, 6 edges
}
