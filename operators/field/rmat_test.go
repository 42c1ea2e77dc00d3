package field_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/sources/generate"
)

func rmat(scale, lines int, seed uint64) *graph.Graph {
	g, err := generate.RMAT(scale, lines, seed)
	if err != nil {
		panic(err)
	}
	return g
}

// rmatLines is the number of lines for an even scale: 10 million at scale 20, 30
// million at 22.
func rmatLines(scale int) int {
	lines := 30_000_000
	for ; scale < 22; scale += 2 {
		lines /= 3
	}
	return lines
}

// hubGraph is what BenchmarkHubs reads: RMAT graphs, and those with hubs of the
// benchmark data.
func hubGraph(tb testing.TB, name string) *graph.Graph {
	if scale, err := strconv.Atoi(name); err == nil {
		return rmat(scale, rmatLines(scale), 1)
	}
	return dataGraph(tb, name)
}

// BenchmarkHubs makes the fields of every n-th node, once: -benchtime 1x. One
// operation is all of these fields, without a bound and with one. Scale 22 takes
// 1.5 GB and a minute to draw; it and those a bit smaller are left to
// SANFLOW_LONG=1.
func BenchmarkHubs(b *testing.B) {
	names := []string{"email-Enron", "cnr-2000", "14", "16"}
	if os.Getenv("SANFLOW_LONG") != "" {
		names = append(names, "18", "20", "22")
	}
	for _, name := range names {
		b.Run("graph="+name, func(b *testing.B) {
			g := hubGraph(b, name)
			ix := field.NewIndex(g, field.Both)
			for _, bound := range []int{0, 10, 16, 32, 64} {
				b.Run(fmt.Sprintf("k=10/bound=%d", bound), func(b *testing.B) { benchHubs(b, ix, bound) })
			}
		})
	}
}

func benchHubs(b *testing.B, ix *field.Index, bound int) {
	start := cpuTime()
	ix.SetBound(bound)
	ready := cpuTime() - start
	n := ix.Graph().N()
	step := max(1, n/2000)
	if bound > 0 {
		step = max(1, n/100_000)
	}
	var a field.Assembler
	z := field.Normalizer{K: 10, Cache: field.NewCache(16 << 20)}
	members := make([]int32, 10)
	fields := 0
	start = cpuTime()
	for range b.N {
		for root := 0; root < n; root += step {
			hood, dist := a.Assemble(ix, int32(root), 10)
			if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
				b.Fatal(err)
			}
			fields++
		}
	}
	b.ReportMetric(float64(fields)/(cpuTime()-start).Seconds(), "fields/s")
	b.ReportMetric(float64(z.Stats.Searches)/float64(fields), "ties/field")
	b.ReportMetric(ready.Seconds(), "s-to-bound")
}
