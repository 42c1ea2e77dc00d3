package sinks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// What one question about a node of a graph of a million nodes takes: half of the
// questions at most p50, 99 of a hundred at most p99, of uniformly random nodes; hub is
// the largest of them all. Nodes have 18 sparse attributes of 1433, as those of Cora.
// open is the time of Open.
//
//	go test ./sinks -run '^$' -bench BenchmarkOpenGraph -benchtime 20000x -timeout 1h
func BenchmarkOpenGraph(b *testing.B) {
	const n = 1 << 20
	for _, g := range []struct {
		name string
		make func() (*graph.Graph, error)
	}{
		{"preferential", func() (*graph.Graph, error) { return generate.PreferentialAttachment(n, 8, 1) }},
		{"RMAT", func() (*graph.Graph, error) { return generate.RMAT(21, 16*n, 1) }},
	} {
		b.Run(g.name, func(b *testing.B) {
			made, err := g.make()
			if err != nil {
				b.Fatal(err)
			}
			set, hub := &sources.NodeSet{Graph: made, Classes: []string{"even", "odd"}}, int32(0)
			rng := rand.New(rand.NewPCG(1, 1))
			made.SparseCard, made.SparseOffsets = 1433, []int32{0}
			for v := range int32(made.N()) {
				set.Class = append(set.Class, v%2)
				words := map[int32]bool{}
				for len(words) < 18 {
					words[rng.Int32N(1433)] = true
				}
				begin := len(made.NodeSparse)
				for w := range words {
					made.NodeSparse = append(made.NodeSparse, w)
				}
				slices.Sort(made.NodeSparse[begin:])
				made.SparseOffsets = append(made.SparseOffsets, int32(len(made.NodeSparse)))
				if made.Degree(v) > made.Degree(hub) {
					hub = v
				}
			}
			for _, trial := range largeTrials(set) {
				b.Run(trial.name, func(b *testing.B) { benchOpenGraph(b, set, hub, trial) })
			}
		})
	}
}

func largeTrials(set *sources.NodeSet) (all []openTrial) {
	one := operators.Roots{Nodes: []int32{-1}}
	for _, around := range []count.Around{{}, {Hops: 2}} {
		all = append(all, openTrial{
			"words " + around.String(), operators.Recipe{one, operators.Count{Of: []count.Counter{around}, DropGraph: true}}, nn.Best(),
		})
	}
	for _, bound := range []int{0, 256, 20} {
		all = append(all, openTrial{fmt.Sprintf("fields bound %d", bound), operators.Recipe{
			one, operators.Chunk{Size: 256}, operators.Assemble{K: 20, Bound: bound},
			operators.Normalize{Distances: 3, IgnoreAttributes: true}, operators.PerRoot{},
		}, &nn.Pooled{Seed: 1}})
	}
	return all
}

func benchOpenGraph(b *testing.B, set *sources.NodeSet, hub int32, trial openTrial) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(2, 2))
	n := set.Graph.N()
	var some []int32
	for range 64 {
		some = append(some, rng.Int32N(int32(n)))
	}
	p, _ := trial.predictor(b, set, some)
	defer p.Close()
	start := time.Now()
	open, err := p.Open(ctx, set.Graph)
	if err != nil {
		b.Fatal(err)
	}
	defer open.Close()
	opened := time.Since(start)
	ask := func(v int32) time.Duration {
		start := time.Now()
		if _, err := open.Predict(ctx, v); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	ask(0)
	ofHub := ask(hub)
	var took []time.Duration
	for b.Loop() {
		took = append(took, ask(rng.Int32N(int32(n))))
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(ms(took[len(took)-1]), "max-ms")
	b.ReportMetric(ms(ofHub), "hub-ms")
	b.ReportMetric(float64(set.Graph.Degree(hub)), "hub-degree")
	b.ReportMetric(float64(n), "nodes")
	b.ReportMetric(opened.Seconds(), "open-s")
	b.ReportMetric(0, "ns/op")
}
