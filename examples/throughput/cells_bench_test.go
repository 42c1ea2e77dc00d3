//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/tu"
)

// BenchmarkCells measures fields by direct calls, one core, without a stream
// around them: of the paper's graphs, and of collections with their attributes
// and without. An operation is a pass over all nodes, indexing included and
// nothing remembered of the pass before.
//
//	go test ./examples/throughput -run '^$' -bench BenchmarkCells -benchtime 0.3s
func BenchmarkCells(b *testing.B) {
	for _, name := range paperGraphs {
		cells(b, name, false, func(b *testing.B) []graph.Graph {
			g, _, err := input.Load(context.Background(), name, 10000, 1)
			if err != nil {
				b.Skip(err)
			}
			return []graph.Graph{*g}
		})
	}
	for _, name := range []string{"MUTAG", "NCI1", "DD"} {
		for _, attributes := range []bool{false, true} {
			cells(b, name, attributes, func(in *testing.B) []graph.Graph { return collection(in, b, name) })
		}
	}
}

// cells measures some graphs at each k.
func cells(b *testing.B, name string, attributes bool, load func(*testing.B) []graph.Graph) {
	var graphs []graph.Graph
	for _, k := range []int{5, 10, 25, 50} {
		b.Run(fmt.Sprintf("graph=%s/attributes=%v/k=%d", name, attributes, k), func(b *testing.B) {
			if graphs == nil {
				graphs = load(b)
			}
			var walk field.Assembler
			var ix field.Index
			z := field.Normalizer{K: k, IgnoreAttributes: !attributes, Cache: field.NewCache(16 << 20)}
			members, cats := make([]int32, k), make([]int32, k)
			fields := 0
			start := processor()
			for b.Loop() {
				z.Cache.Reset()
				for i := range graphs {
					g := &graphs[i]
					ix.Reset(g, field.Both)
					for root := range int32(g.N()) {
						hood, dist := walk.Assemble(&ix, root, k)
						if err := z.Normalize(&ix, hood, dist, nil, members); err != nil {
							b.Fatal(err)
						}
						if attributes {
							field.NodeCats(g, members, cats)
						}
					}
					fields += g.N()
				}
			}
			b.ReportMetric(float64(fields)/(processor()-start).Seconds(), "fields/s")
		})
	}
}

// collection reads a TU collection, whose memory is that of outer.
func collection(b, outer *testing.B, name string) []graph.Graph {
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		b.Skip("SANFLOW_DATA, the folder of the data sets, is not set")
	}
	var all sinks.Collect
	outer.Cleanup(all.Release)
	if err := flow.From(tu.Source{Path: filepath.Join(dir, "tu", name+".zip")}).To(&all).Run(context.Background()); err != nil {
		b.Fatal(err)
	}
	var graphs []graph.Graph
	for _, rec := range all.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			b.Fatal(err)
		}
		for row := range gs.Len() {
			var g graph.Graph
			gs.At(row, &g)
			graphs = append(graphs, g)
		}
	}
	return graphs
}
