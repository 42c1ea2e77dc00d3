//go:build unix

package count_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/field"
)

// cpuTime is the processor time of this process so far: on a machine with other
// work the clock on the wall says little.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWords compares words with the fields alone, turn by turn, by processor
// time: words/fields is the rate of the former over that of the latter.
func BenchmarkWords(b *testing.B) {
	for _, name := range []string{"MUTAG", "PTC_FM", "NCI1", "PROTEINS", "IMDB-BINARY"} {
		for _, k := range []int{5, 10} {
			b.Run(fmt.Sprintf("%s/k=%d", name, k), func(b *testing.B) {
				graphs, nodes := collection(b, name)
				var fields, words time.Duration
				var bag count.Bag
				members := make([]int32, k)
				for b.Loop() {
					start := cpuTime()
					var ix field.Index
					var walk field.Assembler
					norm := field.Normalizer{K: k, Cache: field.NewCache(16 << 20)}
					for _, g := range graphs {
						bare := *g
						bare.NodeAttrs, bare.EdgeAttrs = 0, 0
						ix.Reset(&bare, field.Both)
						for v := range int32(g.N()) {
							hood, dist := walk.Assemble(&ix, v, k)
							if err := norm.Normalize(&ix, hood, dist, nil, members); err != nil {
								b.Fatal(err)
							}
						}
					}
					fields += cpuTime() - start
					start = cpuTime()
					countAll(b, count.Fields{K: []int{k}}, graphs, &bag)
					words += cpuTime() - start
				}
				b.ReportMetric(float64(b.N*nodes)/fields.Seconds(), "fields/s")
				b.ReportMetric(float64(b.N*nodes)/words.Seconds(), "words/s")
				b.ReportMetric(fields.Seconds()/words.Seconds(), "words/fields")
			})
		}
	}
}
