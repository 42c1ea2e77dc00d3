//go:build unix

package past_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/past"
)

// million returns the graph of n rows with keys of four columns: accounts, merchants, places and kinds, most of
// them used by a few rows and some by thousands.
func million(n int) past.Rows {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := past.Rows{N: n, Timed: n, Time: make([]float64, n)}
	sizes := [4]int{n / 10, n / 50, 1000, 12}
	g := &graph.Graph{EdgeCats: 1, NodeCats: 2, NodeAttrs: 4}
	key := func(of int) int32 { // the square of a random number prefers small ones
		x := rng.Float64()
		return int32(x * x * float64(of))
	}
	total := n
	for _, s := range sizes {
		total += s
	}
	degree := make([]int32, total+1)
	keys := make([][4]int32, n)
	for r := range keys {
		rows.Time[r] = float64(r / 3)
		first := int32(n)
		for c, s := range sizes {
			keys[r][c] = first + key(s)
			degree[keys[r][c]]++
			first += int32(s)
		}
		degree[r] = 4
	}
	g.Offsets = make([]int32, total+1)
	for v := range total {
		g.Offsets[v+1] = g.Offsets[v] + degree[v]
	}
	g.Neighbors, g.EdgeCat = make([]int32, 8*n), make([]int32, 8*n)
	next := append([]int32{}, g.Offsets[:total]...)
	for r := range keys {
		for c, k := range keys[r] {
			for _, e := range [2][2]int32{{int32(r), k}, {k, int32(r)}} {
				g.Neighbors[next[e[0]]], g.EdgeCat[next[e[0]]] = e[1], int32(c)
				next[e[0]]++
			}
		}
	}
	g.NodeCat, g.NodeAttr = make([]int32, 2*total), make([]float32, 4*total)
	for v := range total {
		g.NodeCat[2*v], g.NodeCat[2*v+1] = int32(min(1, v/n)), rng.Int32N(20)
		for i := range 4 {
			g.NodeAttr[4*v+i] = rng.Float32()
		}
	}
	rows.Graph = g
	return rows
}

// cpuTime is the processor time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCut cuts the pasts of a million rows with four keys, in their order and at random, and makes a field of each.
func BenchmarkCut(b *testing.B) {
	const n = 1 << 20
	rows := million(n)
	rows.Class = make([]int32, n)
	for _, hops := range []int{2, 3} {
		for _, random := range []bool{false, true} {
			for _, k := range []int{0, 10} {
				b.Run(fmt.Sprintf("hops=%d/random=%v/k=%d", hops, random, k), func(b *testing.B) {
					c := past.Cutter{Settings: past.Settings{Hops: hops, Classes: []string{"a", "b"}}}
					var ix field.Index
					var walk field.Assembler
					norm := field.Normalizer{K: 10}
					members := make([]int32, 10)
					rng := rand.New(rand.NewPCG(3, 4))
					r, nodes := int32(n/2), 0
					b.ReportAllocs()
					start := cpuTime()
					for b.Loop() {
						if r = (r + 1) % n; random {
							r = rng.Int32N(n)
						}
						h, _, err := c.Cut(&rows, r)
						if err != nil {
							b.Fatal(err)
						}
						if nodes += h.N(); k > 0 {
							ix.Reset(h, field.Both)
							hood, dist := walk.Assemble(&ix, 0, k)
							if err := norm.Normalize(&ix, hood, dist, nil, members); err != nil {
								b.Fatal(err)
							}
						}
					}
					b.ReportMetric(float64((cpuTime()-start).Microseconds())/float64(b.N), "cpu-µs/op")
					b.ReportMetric(float64(nodes)/float64(b.N), "nodes/op")
				})
			}
		}
	}
}
