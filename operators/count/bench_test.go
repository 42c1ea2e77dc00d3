package count_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/tu"
)

// collection returns the graphs of a TU collection, or skips.
func collection(tb testing.TB, name string) (graphs []*graph.Graph, nodes int) {
	tb.Helper()
	path := filepath.Join(os.Getenv("SANFLOW_DATA"), "tu", name+".zip")
	if _, err := os.Stat(path); os.Getenv("SANFLOW_DATA") == "" || err != nil {
		tb.Skip("needs the benchmark data; set SANFLOW_DATA")
	}
	var all sinks.Collect
	tb.Cleanup(all.Release)
	if err := flow.From(tu.Source{Path: path}).To(&all).Run(context.Background()); err != nil {
		tb.Fatal(err)
	}
	for _, rec := range all.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			tb.Fatal(err)
		}
		for row := range gs.Len() {
			var g graph.Graph
			gs.At(row, &g)
			graphs = append(graphs, &g)
			nodes += g.N()
		}
	}
	return graphs, nodes
}

// countAll counts all graphs, one after the other.
func countAll(b *testing.B, c count.Counter, graphs []*graph.Graph, bag *count.Bag) {
	b.Helper()
	fork, err := count.Prepare(c)
	if err != nil {
		b.Fatal(err)
	}
	for _, g := range graphs {
		bag.Reset()
		if err := count.Compute(fork, count.Input{Graph: g}, bag); err != nil {
			b.Fatal(err)
		}
		bag.Entries()
	}
}

// BenchmarkCount counts a collection; graphs/s is by the clock.
func BenchmarkCount(b *testing.B) {
	for _, name := range []string{"MUTAG", "NCI1", "PROTEINS", "IMDB-BINARY"} {
		for _, c := range []count.Counter{
			count.WL{Height: 2}, count.Paths{}, count.Fields{K: []int{5}}, count.Fields{K: []int{10}},
		} {
			b.Run(fmt.Sprintf("%s/%v", name, c), func(b *testing.B) {
				graphs, _ := collection(b, name)
				var bag count.Bag
				for b.Loop() {
					countAll(b, c, graphs, &bag)
				}
				b.ReportMetric(float64(b.N)*float64(len(graphs))/b.Elapsed().Seconds(), "graphs/s")
			})
		}
	}
}
