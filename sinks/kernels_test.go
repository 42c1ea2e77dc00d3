package sinks_test

import (
	"context"
	"fmt"
	"log"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// The Weisfeiler-Lehman kernel as the paper tests it: for each fold the height of the
// colours and C are chosen on a part of the training graphs.
func ExampleKernels() {
	src := sources.Families{Graphs: 120, Seed: 1}
	k := &sinks.Kernels{Graphs: flow.From(src)}
	for height := range 4 {
		k.Of = append(k.Of, sinks.Kernel{Of: count.WL{Height: height}, By: nn.Cosine})
	}
	var graphs sinks.CollectGraphs // for the classes
	if err := flow.From(src).To(&graphs).Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	grid := &graphkernel.SVMGrid{Class: graphs.Class, Gram: k.Gram}
	all, err := validation.CrossValidation{Folds: 4, Variants: len(k.Of), Prepare: grid.Prepare, Learn: grid.Learn}.Run(context.Background(), graphs.Class)
	if err != nil {
		log.Fatal(err)
	}
	for i, c := range all.Nested {
		least := validation.Majority(graphs.Class, all.Splits[i])
		fmt.Printf("fold %d: %d graphs, better than the largest class: %t\n", i, c.Rows, c.Correct > least)
	}
	// Output:
	// fold 0: 30 graphs, better than the largest class: true
	// fold 1: 30 graphs, better than the largest class: true
	// fold 2: 30 graphs, better than the largest class: true
	// fold 3: 30 graphs, better than the largest class: true
}

// opened counts how often a source is read.
type opened struct {
	flow.Source
	times *int
}

func (o opened) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	*o.times++
	return o.Source.Open(ctx, mem)
}

// The matrix of each kernel is that of its parts called by hand, and graphs are read
// again only where something else is counted.
func TestKernels(t *testing.T) {
	ctx := context.Background()
	src, times := sources.Families{Graphs: 20, Seed: 1}, 0
	counts := func(of count.Counter, contexts bool) *sinks.CollectCounts {
		var bags sinks.CollectCounts
		if err := flow.From(src).Via(operators.Count{Of: []count.Counter{of}, Contexts: contexts}).To(&bags).Run(ctx); err != nil {
			t.Fatal(err)
		}
		return &bags
	}
	by := func(of count.Counter, by nn.Similarity) func() (*graphkernel.Gram, error) {
		return func() (*graphkernel.Gram, error) { return graphkernel.GramOf(ctx, counts(of, false).Counts[0], by, 2) }
	}
	wl, paths := count.WL{Height: 2}, count.Paths{}
	all := []struct {
		sinks.Kernel
		gram  func() (*graphkernel.Gram, error)
		times int
		is    string
	}{
		{sinks.Kernel{Of: wl, By: nn.Cosine}, by(wl, nn.Cosine), 1, fmt.Sprintf("%v: cosine", wl)},
		{sinks.Kernel{Of: wl, By: nn.Min}, by(wl, nn.Min), 1, fmt.Sprintf("%v: min", wl)},
		{sinks.Kernel{Of: paths, By: nn.Min}, by(paths, nn.Min), 2, fmt.Sprintf("%v: min", paths)},
		{sinks.Kernel{Of: wl, Size: 8}, func() (*graphkernel.Gram, error) {
			bags, deep := counts(wl, true), graphkernel.Deep{Size: 8, Seed: 5}
			if err := deep.Fit(ctx, bags.Contexts[0]); err != nil {
				return nil, err
			}
			return deep.Gram(ctx, bags.Counts[0])
		}, 3, fmt.Sprintf("unit vectors of 8 numbers of %v", wl)},
		{sinks.Kernel{Decay: 1e-3}, func() (*graphkernel.Gram, error) {
			var graphs sinks.CollectGraphs
			if err := flow.From(src).To(&graphs).Run(ctx); err != nil {
				return nil, err
			}
			return graphkernel.Walks{Decay: 1e-3}.Gram(ctx, graphs.Graphs)
		}, 4, "walks: decay 0.001"},
		{sinks.Kernel{Of: paths, By: nn.Cosine}, by(paths, nn.Cosine), 4, fmt.Sprintf("%v: cosine", paths)},
	}
	k := &sinks.Kernels{Graphs: flow.From(opened{src, &times}), Seed: 5}
	for _, c := range all {
		k.Of = append(k.Of, c.Kernel)
	}
	for i, c := range all {
		got, err := k.Gram(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.gram()
		if err != nil {
			t.Fatal(err)
		}
		want.Normalize()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: another matrix", c.Kernel)
		}
		if times != c.times || c.String() != c.is {
			t.Errorf("%v: the graphs were read %d times, want %d; its name is to be %q", c.Kernel, times, c.times, c.is)
		}
	}
	k.Of = []sinks.Kernel{{Of: wl, By: "euclid"}}
	if _, err := k.Gram(ctx, 0); err == nil || !strings.Contains(err.Error(), "euclid") || !strings.Contains(err.Error(), wl.String()) {
		t.Errorf("%v", err)
	}
}
