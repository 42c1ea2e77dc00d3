//go:build unix

package main

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/field"
)

// BenchmarkStream measures what the pipeline costs: the fields of the nodes of
// each graph, edges included, by direct calls that use their memory again, and
// through the pipeline in chunks of 1024 roots, in turn within each iteration; once
// with the memory of each run, and once with memory that the runs share.
// The ratios are of processor time, all threads and the garbage collection
// included, in the best of the runs: other work on the machine disturbs it least.
//
//	go test ./examples/throughput -run '^$' -bench BenchmarkStream -benchtime 5x
func BenchmarkStream(b *testing.B) {
	for _, name := range paperGraphs {
		for _, k := range []int{5, 10, 50} {
			b.Run(fmt.Sprintf("graph=%s/k=%d", name, k), func(b *testing.B) {
				g, rec := loaded(b, name)
				roots := make([]int32, 0, g.N())
				stride := max(1, g.M()*k/1000000) // a third of a second at most
				for v := 0; v < g.N(); v += stride {
					roots = append(roots, int32(v))
				}
				byHand, stream, recycled := time.Hour, time.Hour, time.Hour
				clock := func(d *time.Duration, f func() error) {
					runtime.GC() // each pays for its own garbage
					start := processor()
					if err := f(); err != nil {
						b.Fatal(err)
					}
					*d = min(*d, processor()-start)
				}
				p := fields(rec, roots, 1024, operators.Normalize{K: k, Edges: true}).With(flow.Options{Workers: 1})
				again := p.With(flow.Options{Workers: 1, Allocator: &record.Recycler{}})
				for b.Loop() {
					clock(&byHand, func() error { return direct(g, roots, k) })
					clock(&stream, func() error { return p.Run(context.Background()) })
					clock(&recycled, func() error { return again.Run(context.Background()) })
				}
				b.ReportMetric(float64(len(roots))/recycled.Seconds(), "fields/s")
				b.ReportMetric(byHand.Seconds()/stream.Seconds(), "stream/direct")
				b.ReportMetric(byHand.Seconds()/recycled.Seconds(), "recycled/direct")
			})
		}
	}
}

// loaded returns a graph by name and a record of it, which lives as long as the benchmark.
func loaded(b *testing.B, name string) (*graph.Graph, arrow.Record) {
	b.Helper()
	g, _, err := input.Load(context.Background(), name, 10000, 1)
	if err != nil {
		b.Skip(err)
	}
	rec, err := recordOf(g)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(rec.Release)
	return g, rec
}

// direct makes the fields with the functions that the operators are made of.
func direct(g *graph.Graph, roots []int32, k int) error {
	const size = 1024
	var walk field.Assembler
	var finder field.EdgeFinder
	z := field.Normalizer{K: k, Cache: field.NewCache(16 << 20)}
	ix := field.NewIndex(g, field.Both)
	members, entry, edges := make([]int32, size*k), make([]int32, k*k), make([]float32, size*k*k)
	for i, root := range roots {
		i %= size
		m := members[i*k : (i+1)*k]
		hood, dist := walk.Assemble(ix, root, k)
		if err := z.Normalize(ix, hood, dist, nil, m); err != nil {
			return err
		}
		if z.Adjacency(edges[i*k*k : (i+1)*k*k]) {
			continue
		}
		finder.Edges(g, m, entry)
		field.Adjacency(entry, edges[i*k*k:])
	}
	return nil
}

// processor is the time that the process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
