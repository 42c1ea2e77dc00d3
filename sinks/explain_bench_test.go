package sinks_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// BenchmarkExplain explains the first 60 graphs of a collection, each in turn with a
// prediction: ms is the time of an explanation, and x how many predictions it takes.
func BenchmarkExplain(b *testing.B) {
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		b.Skip("SANFLOW_DATA is not set")
	}
	for _, name := range []string{"MUTAG", "NCI1", "PROTEINS_full", "DD", "IMDB-BINARY", "REDDIT-BINARY"} {
		b.Run(name, func(b *testing.B) {
			graphs, layout := collectedGraphs(b, sources.TU{Path: filepath.Join(dir, "tu", name+".zip")})
			graphs = graphs[:60]
			items := make([]sources.Item, len(graphs))
			for i, g := range graphs {
				items[i] = sources.Item{Graph: g, Class: int32(i % len(layout.Classes))}
			}
			recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: count.Standard()}}
			p := explainer(b, nn.Best(), recipe, items, layout)
			var predict, explain time.Duration
			timed := func(sum *time.Duration, f func(g *graph.Graph) error, g *graph.Graph) {
				start := time.Now()
				if err := f(g); err != nil {
					b.Fatal(err)
				}
				*sum += time.Since(start)
			}
			n := 0
			for b.Loop() {
				for _, g := range graphs {
					timed(&predict, func(g *graph.Graph) error { _, err := p.Predict(context.Background(), g); return err }, g)
					timed(&explain, func(g *graph.Graph) error { _, err := p.Explain(context.Background(), g); return err }, g)
					n++
				}
			}
			b.ReportMetric(float64(explain.Microseconds())/1000/float64(n), "ms")
			b.ReportMetric(float64(explain)/float64(predict), "x")
		})
	}
}

// BenchmarkExplainRoots explains the answers about 60 nodes of Cora, each in turn with a
// prediction.
func BenchmarkExplainRoots(b *testing.B) {
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		b.Skip("SANFLOW_DATA is not set")
	}
	set, err := sources.Nodes{Path: filepath.Join(dir, "nodes", "Cora.zip")}.Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	recipe := operators.Recipe{
		operators.Expect{Layout: set.Rooted(nil).Layout}, operators.Roots{Nodes: []int32{-1}}, operators.Count{Of: []count.Counter{count.Around{Hops: 3}}, DropGraph: true},
	}
	net := nn.Best()
	if _, err := (sinks.Fit{Net: net, Epochs: 5}).Run(b.Context(), choose.NodeRows(set, set.Subset(sources.Train), operators.MaskWords{})(recipe)); err != nil {
		b.Fatal(err)
	}
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	open, err := p.Open(b.Context(), set.Graph)
	if err != nil {
		b.Fatal(err)
	}
	defer open.Close()
	var predict, explain time.Duration
	n := 0
	for b.Loop() {
		for v := range int32(60) {
			start := time.Now()
			if _, err := open.Predict(b.Context(), v); err != nil {
				b.Fatal(err)
			}
			between := time.Now()
			if _, err := open.Explain(b.Context(), sinks.ExplainOptions{}, v); err != nil {
				b.Fatal(err)
			}
			predict, explain = predict+between.Sub(start), explain+time.Since(between)
			n++
		}
	}
	b.ReportMetric(float64(explain.Microseconds())/1000/float64(n), "ms")
	b.ReportMetric(float64(explain)/float64(predict), "x")
}
