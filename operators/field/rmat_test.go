package field_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
)

// rmat is a recursive-matrix graph (Chakrabarti, Zhan and Faloutsos 2004) of at
// most 2^scale nodes and the given number of lines, with a = 0.57, b = c = 0.19,
// from which loops, repeated lines and nodes alone are dropped. The lines are
// drawn twice instead of kept.
func rmat(scale, lines int, seed uint64) *graph.Graph {
	const a, b, c = 57 << 16 / 100, 19 << 16 / 100, 19 << 16 / 100
	draw := func(line func(u, v int32)) {
		rng := rand.NewPCG(seed, uint64(scale))
		for range lines {
			u, v, r := int32(0), int32(0), uint64(0)
			for bit := range scale {
				if bit%4 == 0 {
					r = rng.Uint64()
				}
				x := r & 0xffff
				r >>= 16
				u, v = 2*u, 2*v
				switch {
				case x < a:
				case x < a+b:
					v++
				case x < a+b+c:
					u++
				default:
					u++
					v++
				}
			}
			if u != v {
				line(u, v)
			}
		}
	}
	offsets := make([]int32, 1<<scale+2) // shifted by one while rows are filled
	draw(func(u, v int32) { offsets[u+2]++; offsets[v+2]++ })
	for v := 2; v < len(offsets); v++ {
		offsets[v] += offsets[v-1]
	}
	neighbors := make([]int32, offsets[1<<scale+1])
	draw(func(u, v int32) {
		neighbors[offsets[u+1]] = v
		offsets[u+1]++
		neighbors[offsets[v+1]] = u
		offsets[v+1]++
	})
	// offsets[v] is where the row of v begins now. Nodes alone go.
	number := make([]int32, 1<<scale)
	n, end := int32(0), int32(0)
	for v := range number {
		row := neighbors[offsets[v]:offsets[v+1]]
		if len(row) == 0 {
			continue
		}
		slices.Sort(row)
		number[v] = n
		begin := end
		end += int32(copy(neighbors[end:], slices.Compact(row)))
		// The row before this one has been read.
		offsets[n] = begin
		n++
	}
	offsets[n] = end
	for i, v := range neighbors[:end] {
		neighbors[i] = number[v]
	}
	return &graph.Graph{Offsets: slices.Clip(offsets[:n+1]), Neighbors: neighbors[:end:end]}
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

// hubGraph is what BenchmarkHubs reads: rmat graphs, and those with hubs of the
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
	ix.Bound(bound)
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
