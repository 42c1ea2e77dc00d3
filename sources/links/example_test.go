package links_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/links"
)

// In a ring of cliques hidden edges have common neighbours, other pairs mostly none.
func ExampleSplit() {
	g, err := generate.RingOfCliques(10, 8)
	if err != nil {
		log.Fatal(err)
	}
	trial, err := links.Split{Folds: 5}.Hide(context.Background(), g, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		log.Fatal(err)
	}
	var scorer count.LinkScorer
	var common [2]float64
	for i, p := range trial.Test.Pairs {
		link := 0
		if trial.Test.Link[i] {
			link = 1
		}
		common[link] += scorer.Score(trial.Test.Graph, p[0], p[1]).Common
	}
	fmt.Println(len(trial.Folds), "folds,", len(trial.Test.Pairs), "pairs to test on; links have more in common:", common[1] > 10*common[0])
	// Output:
	// 5 folds, 58 pairs to test on; links have more in common: true
}
