package operators_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"reflect"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// printIDs is a sink that prints the graphs of each record.
var printIDs = sinkFunc(func(rec arrow.Record) error {
	ids, err := record.Values[int64](rec, record.GraphID)
	fmt.Println(ids)
	return err
})

// Ten graphs come in as {[4 graphs], [4 graphs], [2 graphs]}.
func ExampleBatch() {
	err := flow.From(numbered(10, 4)).
		Via(operators.Batch{Size: 3}).
		To(printIDs).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [0 1 2]
	// [3 4 5]
	// [6 7 8]
	// [9]
}

// One graph as chunks of four roots; the last one is filled up with zero fields.
//
//	0 ── 1 ── 2 ── 3 ── 4 ── 5
func ExampleChunk() {
	edges := strings.NewReader("0 1\n1 2\n2 3\n3 4\n4 5\n")
	err := flow.From(sources.EdgeList{Path: "path.edges", Reader: edges}).
		Via(operators.Select{}).
		Via(operators.Chunk{Size: 4}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{}).
		To(sinkFunc(func(rec arrow.Record) error {
			members, _, err := record.FixedValues[int32](rec, record.Members)
			fmt.Println(members)
			return err
		})).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [0 1 2 1 0 2 2 1 3 3 2 4]
	// [4 3 5 5 4 3 -1 -1 -1 -1 -1 -1]
}

func ExampleShuffle() {
	err := flow.From(numbered(10, 4)).
		Via(operators.Shuffle{Size: 5, Seed: 1}).
		To(printIDs).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [2 0 3 6 7 8 9 1 4 5]
}

func ExampleReplay() {
	err := flow.From(numbered(5, 2)).
		Via(operators.Replay{Epochs: 3, Seed: 1}).
		To(printIDs).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [1 0 3 4 2]
	// [1 0 2 3 4]
	// [1 4 2 0 3]
}

// A path of five nodes: its middle is between the most pairs of nodes.
func ExampleSelect() {
	path, err := graph.New(5, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 4}})
	if err != nil {
		log.Fatal(err)
	}
	err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: path}}}).
		Via(operators.Select{W: 4, By: labeling.Betweenness, Stride: 2}).
		To(sinkFunc(func(rec arrow.Record) error {
			roots, err := record.ListsOf[int32](rec, record.Roots)
			if err != nil {
				return err
			}
			fmt.Println("roots", roots.Row(0))
			return nil
		})).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// roots [2 3 4 -1]
}

// Graphs without attributes get their degree, in parts of the node count.
func ExampleChannel() {
	star, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 0, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: star}}}).
		Via(operators.Channel{By: labeling.NormalizedDegree}).
		To(sinkFunc(func(rec arrow.Record) error {
			gs, err := record.GraphsOf(rec)
			if err != nil {
				return err
			}
			var g graph.Graph
			gs.At(0, &g)
			fmt.Println(gs.Layout.NodeAttr[0].Name, g.NodeAttr)
			return nil
		})).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output: normalized-degree [0.75 0.25 0.25 0.25]
}

// A recipe holds operators with all their settings, and comes back equal.
func ExampleRecipe() {
	recipe := operators.Recipe{
		operators.Select{W: 18, By: labeling.PageRankCentrality{Damping: 0.9}},
		operators.Normalize{K: 10, Distances: 3},
	}
	text, err := json.Marshal(recipe)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	var again operators.Recipe
	if err := json.Unmarshal(text, &again); err != nil {
		log.Fatal(err)
	}
	fmt.Println(reflect.DeepEqual(again, recipe))
	// Output:
	// [{"operator":"Select","W":18,"By":"pagerank(damping=0.9)"},{"operator":"Normalize","K":10,"Distances":3}]
	// true
}
