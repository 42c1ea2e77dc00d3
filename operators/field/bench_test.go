package field_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
)

func benchGraphs() []struct {
	name string
	make func(tb testing.TB) *graph.Graph
} {
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	data := func(name string) func(testing.TB) *graph.Graph {
		return func(tb testing.TB) *graph.Graph { return dataGraph(tb, name) }
	}
	return []struct {
		name string
		make func(tb testing.TB) *graph.Graph
	}{
		{"torus", func(testing.TB) *graph.Graph { return grid(100, 100, 4, true) }},
		{"random", func(testing.TB) *graph.Graph { return random(rng(), 10000, 20000, false) }},
		{"preferential", func(testing.TB) *graph.Graph { return preferential(rng(), 10000, 2) }},
		{"power", data("power")},
		{"polbooks", data("polbooks")},
		{"astro-ph", data("astro-ph")},
		{"email-Enron", data("email-Enron")},
		{"cnr-2000", data("cnr-2000")},
	}
}

// BenchmarkField is the whole job for one root after another: assemble, rank,
// cut, rank again, canonical order. One operation is one field; fields/s is by
// processor time.
func BenchmarkField(b *testing.B) {
	for _, c := range benchGraphs() {
		for _, k := range []int{5, 10, 25, 50} {
			b.Run(fmt.Sprintf("graph=%s/k=%d", c.name, k), func(b *testing.B) {
				ix := field.NewIndex(c.make(b), field.Both)
				var a field.Assembler
				z := field.Normalizer{K: k, Cache: field.NewCache(16 << 20)}
				members := make([]int32, k)
				// A fixed random order of roots, so that a short run is a fair sample.
				order := permutation(rand.New(rand.NewPCG(2, 2)), ix.Graph().N())
				i := 0
				start := cpuTime()
				b.ReportAllocs()
				for b.Loop() {
					hood, dist := a.Assemble(ix, order[i], k)
					if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
						b.Fatal(err)
					}
					if i++; i == len(order) {
						i = 0
						// No root may profit from its own earlier field.
						z.Cache = field.NewCache(16 << 20)
					}
				}
				b.ReportMetric(float64(b.N)/(cpuTime()-start).Seconds(), "fields/s")
				b.ReportMetric(float64(z.Stats.CacheHits)/float64(max(1, z.Stats.CacheLookups)), "hits/lookup")
				b.ReportMetric(float64(z.Stats.CropFallback+z.Stats.Refined+z.Stats.Partial)/float64(z.Stats.Fields), "fallbacks/field")
			})
		}
	}
}

// BenchmarkPaths measures what each path is worth that is there for speed alone, by
// doing without it: see the admission rule in CONTRIBUTING.md. An operation is a field.
func BenchmarkPaths(b *testing.B) {
	for _, c := range benchGraphs() {
		for _, k := range []int{5, 10, 25, 50} {
			for _, path := range []string{"none", "engine on words, cut", "memo", "ends at the cut"} {
				b.Run(fmt.Sprintf("graph=%s/k=%d/without=%s", c.name, k, path), func(b *testing.B) {
					ix := field.NewIndex(c.make(b), field.Both)
					var a field.Assembler
					z := field.Normalizer{K: k, Cache: field.NewCache(16 << 20)}
					field.Without(&z, path)
					members := make([]int32, k)
					order := permutation(rand.New(rand.NewPCG(2, 2)), ix.Graph().N())
					start, i := cpuTime(), 0
					for b.Loop() {
						hood, dist := a.Assemble(ix, order[i%len(order)], k)
						if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
							b.Fatal(err)
						}
						i++
					}
					b.ReportMetric(float64(b.N)/(cpuTime()-start).Seconds(), "fields/s")
				})
			}
		}
	}
}
