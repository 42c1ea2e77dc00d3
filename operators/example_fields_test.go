package operators_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
)

// printFields prints the members of the receptive fields of each row.
var printFields = sinkFunc(func(rec arrow.Record) error {
	members, _, err := record.FixedValues[int32](rec, record.Members)
	fmt.Println(members)
	return err
})

// A triangle 0, 1, 2 with a tail 2–3 has four fields of k = 3 nodes, each with its root first.
func ExampleNormalize() {
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: g}}}).
		Via(operators.Select{W: 4, By: labeling.Degree}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{}).
		To(printFields).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output: [2 0 3 0 1 2 1 0 2 3 2 0]
}

// A word has an id, the same in every graph: here the degrees of the nodes of a path.
func ExampleCount() {
	path, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: path}}}).
		Via(operators.Count{Of: []count.Counter{count.WL{}}}).
		To(sinkFunc(func(rec arrow.Record) error {
			counts, err := record.ListsOf[float32](rec, "words_counts")
			fmt.Println(counts.Row(0))
			return err
		})).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output: [2 2]
}

// Each event changes the fields of the nodes near it, and Evolve emits those fields alone. The
// fourth event is far from nodes 0 to 2.
func ExampleEvolve() {
	ctx := context.Background()
	text := "a b 10\nb c 20\na c 30\nd e 40\n" // ends and time
	stream, err := events.Source{Table: sources.Text{Path: "calls.txt", Reader: strings.NewReader(text)}}.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	err = flow.From(operators.Evolve{Events: stream.All(), Normalize: operators.Normalize{K: 3}, Every: 1, Size: 3}).
		To(printFields).
		Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [0 1 -1 1 0 -1 -1 -1 -1]
	// [0 1 2 1 0 2 2 1 0]
	// [0 1 2 1 0 2 2 0 1]
	// [3 4 -1 4 3 -1 -1 -1 -1]
}
