//go:build unix

package sinks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/tu"
)

// compareCost calls predict and explain for each of n subjects, and reports the processor time
// of an explanation in ms, and as x, in predictions.
func compareCost(b *testing.B, n int, predict, explain func(i int) error) {
	var sums [2]float64
	for b.Loop() {
		for j, f := range []func(i int) error{predict, explain} {
			start := cpuSeconds(b)
			for i := range n {
				if err := f(i); err != nil {
					b.Fatal(err)
				}
			}
			sums[j] += cpuSeconds(b) - start
		}
	}
	b.ReportMetric(sums[1]*1000/float64(n)/float64(b.N), "cpu-ms")
	b.ReportMetric(sums[1]/sums[0], "x")
}

// BenchmarkExplain explains the first graphs of a collection.
func BenchmarkExplain(b *testing.B) {
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		b.Skip("SANFLOW_DATA is not set")
	}
	for _, c := range []struct {
		name, model string
		net         nn.Model
	}{
		{"MUTAG", "words", nn.Best()}, {"MUTAG", "CNN", &nn.CNN{}}, {"MUTAG", "PSLR", &nn.PSLR{}},
		{"NCI1", "words", nn.Best()}, {"NCI1", "CNN", &nn.CNN{}}, {"NCI1", "PSLR", &nn.PSLR{}},
		{"PROTEINS_full", "words", nn.Best()}, {"DD", "words", nn.Best()}, {"IMDB-BINARY", "words", nn.Best()}, {"REDDIT-BINARY", "words", nn.Best()},
	} {
		b.Run(c.name+"/"+c.model, func(b *testing.B) {
			graphs, layout := collectedGraphs(b, tu.Source{Path: filepath.Join(dir, "tu", c.name+".zip")})
			graphs = graphs[:60]
			items := make([]sources.Item, len(graphs))
			for i, g := range graphs {
				items[i] = sources.Item{Graph: g, Class: int32(i % len(layout.Classes))}
			}
			recipe := recommended(layout)
			if c.model != "words" {
				recipe = paperNet(layout, 18)
			}
			p := explainer(b, c.net, recipe, items, layout)
			compareCost(b, len(graphs), func(i int) error { _, err := p.Predict(b.Context(), graphs[i]); return err },
				func(i int) error { _, err := p.Explain(b.Context(), graphs[i], sinks.ExplainOptions{}); return err })
		})
	}
}

// BenchmarkExplainRoots explains the answers about nodes of Cora: of an open graph where the
// model is exact.
func BenchmarkExplainRoots(b *testing.B) {
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		b.Skip("SANFLOW_DATA is not set")
	}
	set, err := sources.Nodes{Path: filepath.Join(dir, "nodes", "Cora.zip")}.Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		net   nn.Model
		nodes int
		ops   operators.Recipe
	}{
		{"words", nn.Best(), 60, operators.Recipe{operators.Count{Of: []count.Counter{count.Around{Hops: 3}}, DropGraph: true}}},
		{"pooled", &nn.Pooled{Maps: 28}, 3, operators.Recipe{operators.Assemble{K: 20, Bound: 256}, operators.Normalize{By: labeling.WL, Distances: 3, IgnoreAttributes: true}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			recipe := append(operators.Recipe{operators.Expect{Layout: set.Rooted(nil).Layout}, operators.Roots{Nodes: []int32{-1}}}, c.ops...)
			if _, err := (sinks.Fit{Net: c.net, Epochs: 5}).Run(b.Context(), choose.NodeRows(set, set.Subset(sources.Train))(recipe)); err != nil {
				b.Fatal(err)
			}
			p, err := sinks.NewPredictor(c.net, recipe)
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			open, err := p.Open(b.Context(), set.Graph)
			if err != nil {
				b.Fatal(err)
			}
			defer open.Close()
			explain := func(g *graph.Graph, v int32) (err error) {
				if _, exact := c.net.(nn.Additive); exact {
					_, err = open.Explain(b.Context(), sinks.ExplainOptions{}, v)
				} else {
					_, err = p.ExplainRoots(b.Context(), g, sinks.ExplainOptions{}, v)
				}
				return err
			}
			compareCost(b, c.nodes, func(i int) error { _, err := open.Predict(b.Context(), int32(i)); return err },
				func(i int) error { return explain(set.Graph, int32(i)) })
		})
	}
}
