package sinks_test

import (
	"context"
	"fmt"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A support vector machine learns from the counts of all graphs at once: a kernel
// compares the words of two graphs.
func ExampleCountsOf() {
	ctx := context.Background()
	words := operators.Count{Of: []count.Counter{count.WL{Height: 2}}}
	var bags sinks.Collect
	defer bags.Release()
	check(flow.From(sources.Families{Graphs: 600}).Via(words).Via(operators.Batch{Size: 600}).To(&bags).Run(ctx)) // or a tu.Source
	all := bags.Records()[0]
	counts := must(sinks.CountsOf(all))
	gram := must(graphkernel.GramOf(ctx, counts, nn.Cosine, 2)) // the kernel of all pairs
	fmt.Printf("%d graphs, the first two alike by %.2f\n", gram.N, gram.Row(0)[1])
	class, rows := must(record.Values[int32](all, record.Target)), []int32{}
	for row := range int32(540) {
		rows = append(rows, row)
	}
	svm := &graphkernel.SVM{C: 10}
	check(svm.Fit(ctx, gram, rows, class[:540]))
	right := 0
	for row := 540; row < 600; row++ {
		if svm.Class(gram.Row(row)) == class[row] {
			right++
		}
	}
	fmt.Printf("%d of 60 right\n", right)
	// Output:
	// 600 graphs, the first two alike by 0.87
	// 47 of 60 right
}
