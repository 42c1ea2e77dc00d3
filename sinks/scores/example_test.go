package scores_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// Predictions for the nodes of a graph are written to a table.
func Example() {
	ctx, classes := context.Background(), []string{"first half", "second half"}
	g, err := generate.RingOfCliques(40, 6)
	if err != nil {
		log.Fatal(err)
	}
	set := &sources.NodeSet{Graph: g, Classes: classes}
	for v := range int32(g.N()) {
		set.Class = append(set.Class, v/120)
	}
	if err := set.Identify(); err != nil {
		log.Fatal(err)
	}
	src, recipe := set.Rooted(set.All()), operators.Recipe{operators.Count{Of: []count.Counter{count.Around{}}, DropGraph: true}}
	net := nn.Best()
	if _, err := (sinks.Fit{Net: net, Epochs: 3}).Run(ctx, recipe.Onto(flow.From(src))); err != nil {
		log.Fatal(err)
	}
	defer os.Remove("scores.csv")
	write := func() error {
		err := recipe.Onto(flow.From(src)).Via(scores.Rows{
			Net:     net,
			Columns: scores.Columns{Classes: classes},
			ID:      scores.RootID, // if rows are nodes
			Bare:    true,
		}).To(scores.Text{Path: "scores.csv"}).Run(ctx) // or parquet.Sink, ipc.Sink
		return err
	}
	if err := write(); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile("scores.csv")
	fmt.Println(strings.SplitN(string(text), "\n", 2)[0], strings.Count(string(text), "\n"), err)
	// Output:
	// id,class,p_first half,p_second half 241 <nil>
}
