package fieldjob

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkWorkers makes the fields of all nodes with one worker and with two,
// in turn, each time from an empty cache, and reports what the second one buys
// (the best run of either, so that others on the machine matter less). One
// operation is both.
func BenchmarkWorkers(b *testing.B) {
	for _, name := range Families {
		for _, k := range []int{10, 50} {
			b.Run(fmt.Sprintf("graph=%s/k=%d", name, k), func(b *testing.B) {
				g, _, err := Generate(name, 40000, 1)
				if err != nil {
					b.Fatal(err)
				}
				job := &Job{Graph: g}
				for v := range int32(g.N()) {
					job.Roots = append(job.Roots, v)
				}
				runners := [2]*Runner{{K: k, Workers: 1}, {K: k, Workers: 2}}
				var best [2]float64 // seconds
				b.ReportAllocs()
				for b.Loop() {
					for i, r := range runners {
						r.Seconds = 0
						r.Forget()
						if err := r.Run(context.Background(), []*Job{job}); err != nil {
							b.Fatal(err)
						}
						if best[i] == 0 || r.Seconds < best[i] {
							best[i] = r.Seconds
						}
					}
				}
				b.ReportMetric(float64(g.N())/best[0], "fields/s")
				b.ReportMetric(float64(g.N())/best[1], "fields/s-2")
				b.ReportMetric(best[0]/best[1], "ratio")
			})
		}
	}
}
