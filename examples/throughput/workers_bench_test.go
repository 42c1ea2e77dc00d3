//go:build unix

package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
)

// BenchmarkWorkers measures what a second worker brings, and what the machine
// would allow: the fields of all nodes of each graph, edges included, by a pipeline of
// one worker, by one of two, and by two pipelines of one worker side by side, which have
// nothing in common: each has a graph, memory and a cache of its own. All take turns
// within each iteration, and the best of each counts.
//
//	2workers/1       how much faster two workers are than one, by the clock
//	2pipelines/1     how much more two pipelines do than one, by the clock
//	cpu-2workers/1   processor time of two workers, over that of one
//	cpu-2pipelines/1 processor time of a pipeline beside another, over that of one alone
//
// If the last one is more than 1, caches and memory that the cores share are why, and
// two workers cannot be faster than 2 over it. On a machine that does something else
// at the same time the processor times say more than the clock.
//
//	go test ./examples/throughput -run '^$' -bench BenchmarkWorkers -benchtime 10x -cpu 2
func BenchmarkWorkers(b *testing.B) {
	for _, name := range paperGraphs {
		b.Run(fmt.Sprintf("graph=%s/k=10", name), func(b *testing.B) {
			if runtime.GOMAXPROCS(0) < 2 {
				b.Skip("there is one processor")
			}
			pipelines := [2]flow.Pipeline{twin(b, name), twin(b, name)}
			run := func(p flow.Pipeline, workers int, mem *record.Recycler) {
				if err := p.With(flow.Options{Workers: workers, Allocator: mem}).Run(context.Background()); err != nil {
					b.Error(err)
				}
			}
			mem := [2]*record.Recycler{{}, {}}
			var one, two, pair effort
			for b.Loop() {
				one.least(func() { run(pipelines[0], 1, mem[0]) })
				two.least(func() { run(pipelines[0], 2, mem[0]) })
				pair.least(func() {
					var both sync.WaitGroup
					for i := range pipelines {
						both.Go(func() { run(pipelines[i], 1, mem[i]) })
					}
					both.Wait()
				})
			}
			b.ReportMetric(one.clock.Seconds()/two.clock.Seconds(), "2workers/1")
			b.ReportMetric(2*one.clock.Seconds()/pair.clock.Seconds(), "2pipelines/1")
			b.ReportMetric(two.cpu.Seconds()/one.cpu.Seconds(), "cpu-2workers/1")
			b.ReportMetric(pair.cpu.Seconds()/2/one.cpu.Seconds(), "cpu-2pipelines/1")
		})
	}
}

// twin is the pipeline for a graph that it reads or makes for itself, each node a root;
// of a small graph several times over, so that a run takes some milliseconds.
func twin(b *testing.B, name string) flow.Pipeline {
	const k, least = 10, 50000
	g, rec := loaded(b, name)
	var roots []int32
	for len(roots) < least {
		for v := range g.N() {
			roots = append(roots, int32(v))
		}
	}
	return fields(rec, roots, 1024, operators.Normalize{K: k, Edges: true})
}

// effort is the least time that something took.
type effort struct{ clock, cpu time.Duration }

func (e *effort) least(f func()) {
	runtime.GC()
	clock, cpu := time.Now(), processor()
	f()
	took := effort{time.Since(clock), processor() - cpu}
	if e.clock == 0 {
		*e = took
	}
	e.clock, e.cpu = min(e.clock, took.clock), min(e.cpu, took.cpu)
}
