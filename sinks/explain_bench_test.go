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
