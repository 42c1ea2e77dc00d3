package field_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
)

// arrivals returns the edges of a graph in a random order, or in that of time, each once.
func arrivals(tb testing.TB, name string) (n int, edges []graph.Edge) {
	if name != "CollegeMsg" {
		g := dataGraph(tb, name)
		for u := range int32(g.N()) {
			for _, v := range g.Adj(u) {
				if u < v {
					edges = append(edges, graph.Edge{U: u, V: v})
				}
			}
		}
		rng := rand.New(rand.NewPCG(5, 6))
		rng.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
		return g.N(), edges
	}
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		tb.Skip("SANFLOW_DATA is not set")
	}
	f, err := os.Open(filepath.Join(dir, "temporal", name+".txt.gz"))
	if err != nil {
		tb.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	seen := map[graph.Edge]bool{}
	for lines := bufio.NewScanner(z); lines.Scan(); {
		var u, v int32
		var time int64
		if _, err := fmt.Sscan(lines.Text(), &u, &v, &time); err != nil {
			tb.Fatal(err)
		}
		e := graph.Edge{U: min(u, v), V: max(u, v)}
		if u != v && !seen[e] {
			seen[e] = true
			edges = append(edges, e)
		}
		n = max(n, int(u)+1, int(v)+1)
	}
	return n, edges
}

// BenchmarkKept adds the last edges of a graph one by one, in batches of so many.
func BenchmarkKept(b *testing.B) {
	for _, name := range []string{"power", "astro-ph", "CollegeMsg", "email-Enron"} {
		for _, batch := range []int{1, 100} {
			b.Run(fmt.Sprintf("graph=%s/k=10/batch=%d", name, batch), func(b *testing.B) {
				n, edges := arrivals(b, name)
				last := len(edges) / 10
				k := keptOf(build(n, false, edges[:len(edges)-last]), field.Both,
					&field.Normalizer{K: 10, Cache: field.NewCache(16 << 20)})
				none := func(int32, []int32, []uint8) error { return nil }
				if err := k.Refresh(none); err != nil {
					b.Fatal(err)
				}
				before := k.Stats()
				i := 0
				start := cpuTime()
				for b.Loop() {
					e := edges[len(edges)-last+i%last]
					if i/last%2 == 0 {
						k.Add(e.U, e.V, nil)
					} else {
						k.Remove(e.U, e.V)
					}
					if i++; i%batch == 0 {
						if err := k.Refresh(none); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.N)/(cpuTime()-start).Seconds(), "events/s")
				now := k.Stats()
				b.ReportMetric(float64(now.Recomputed-before.Recomputed)/float64(b.N), "recomputed/event")
				b.ReportMetric(float64(now.Changed-before.Changed)/float64(b.N), "changed/event")
				b.ReportMetric(float64(now.Recomputed-before.Recomputed)/float64(max(1, now.Changed-before.Changed)), "recomputed/changed")
			})
		}
	}
}

// BenchmarkKeptSize is the cost of an event by the size of a random graph of mean degree 8,
// beside computing all fields anew: "anew/event" is the time of all fields over that of an
// event, and over a batch.
func BenchmarkKeptSize(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		for _, batch := range []int{1, 100} {
			b.Run(fmt.Sprintf("n=%d/k=10/batch=%d", n, batch), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(7, 8))
				k := keptOf(random(rng, n, 4*n, false), field.Both, &field.Normalizer{K: 10, Cache: field.NewCache(16 << 20)})
				none := func(int32, []int32, []uint8) error { return nil }
				start := cpuTime()
				if err := k.Refresh(none); err != nil {
					b.Fatal(err)
				}
				anew := cpuTime() - start
				before := k.Stats()
				var edges []graph.Edge
				start = cpuTime()
				for i := 1; b.Loop(); i++ {
					if e := (graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))}); i%2 == 1 && e.U != e.V && !field.Joined(k.Index(), e.U, e.V) {
						k.Add(e.U, e.V, nil)
						edges = append(edges, e)
					} else if len(edges) > 0 {
						e := edges[len(edges)-1]
						edges = edges[:len(edges)-1]
						k.Remove(e.U, e.V)
					}
					if i%batch == 0 {
						if err := k.Refresh(none); err != nil {
							b.Fatal(err)
						}
					}
				}
				event := float64(cpuTime()-start) / float64(b.N)
				now := k.Stats()
				b.ReportMetric(event/1e3, "cpu-µs/event")
				b.ReportMetric(float64(now.Recomputed-before.Recomputed)/float64(b.N), "recomputed/event")
				b.ReportMetric(float64(anew)/(event*float64(batch)), "anew/batch")
			})
		}
	}
}

// BenchmarkKeptLatency is the time of an event with all that it makes stale, at given
// shares of events.
func BenchmarkKeptLatency(b *testing.B) {
	for _, name := range []string{"astro-ph", "email-Enron"} {
		b.Run(fmt.Sprintf("graph=%s/k=10", name), func(b *testing.B) {
			n, edges := arrivals(b, name)
			last := len(edges) / 10
			k := keptOf(build(n, false, edges[:len(edges)-last]), field.Both, &field.Normalizer{K: 10, Cache: field.NewCache(16 << 20)})
			none := func(int32, []int32, []uint8) error { return nil }
			if err := k.Refresh(none); err != nil {
				b.Fatal(err)
			}
			var times []float64
			i := 0
			for b.Loop() {
				e := edges[len(edges)-last+i%last]
				start := cpuTime()
				if i/last%2 == 0 {
					k.Add(e.U, e.V, nil)
				} else {
					k.Remove(e.U, e.V)
				}
				if err := k.Refresh(none); err != nil {
					b.Fatal(err)
				}
				times = append(times, float64(cpuTime()-start)/1e6)
				i++
			}
			slices.Sort(times)
			for _, share := range []int{50, 99} {
				b.ReportMetric(times[len(times)*share/100], fmt.Sprintf("cpu-ms-p%d", share))
			}
			b.ReportMetric(times[len(times)-1], "cpu-ms-max")
		})
	}
}
