package labeling_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

func benchmark(b *testing.B, l labeling.Labeling, g *graph.Graph) {
	b.Helper()
	labels := make([]float64, g.N())
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Label(labeling.Input{Graph: g}, labels); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkReal runs the benchmark on graphs of the benchmark data.
func benchmarkReal(b *testing.B, l labeling.Labeling) {
	for _, name := range []string{"power", "astro-ph", "email-Enron"} {
		b.Run(name, func(b *testing.B) { benchmark(b, l, dataGraph(b, name)) })
	}
}

// With -cpu 1 to be compared with other programs.
func BenchmarkBetweenness(b *testing.B) {
	l := labeling.Betweenness
	for _, n := range []int{20, 200} {
		b.Run(fmt.Sprintf("n=%d,m=%d", n, 2*n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(5, 6))
			benchmark(b, l, build(b, n, false, randomEdges(rng, n, 2*n)))
		})
	}
	benchmarkReal(b, l)
}

// The same graphs as arcs both ways, which no reduction takes apart: what the
// reduction is worth. Labels are then twice those of the edges.
func BenchmarkBetweennessPlain(b *testing.B) {
	for _, name := range []string{"power", "astro-ph"} {
		b.Run(name, func(b *testing.B) {
			g := *dataGraph(b, name)
			g.Directed = true
			benchmark(b, labeling.Betweenness, &g)
		})
	}
}

func BenchmarkPageRank(b *testing.B)    { benchmarkReal(b, labeling.PageRank) }
func BenchmarkEigenvector(b *testing.B) { benchmarkReal(b, labeling.Eigenvector) }

func BenchmarkBetweennessDirected(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	benchmark(b, labeling.Betweenness, build(b, 2000, true, randomEdges(rng, 2000, 8000)))
}
