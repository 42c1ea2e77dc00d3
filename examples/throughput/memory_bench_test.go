//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/tu"
)

// BenchmarkMemory measures what flow.Options.Allocator costs: a run with recycled memory, the
// default, with Go's heap, where a slice of a released record stays as it was, and with
// record.Poison, in turn within each iteration. The ratios are of processor time, all
// threads and the garbage collection included, in the best of the runs.
//
//	go test ./examples/throughput -run '^$' -bench BenchmarkMemory -benchtime 5x
func BenchmarkMemory(b *testing.B) {
	for _, name := range paperGraphs {
		for _, k := range []int{5, 10, 50} {
			b.Run(fmt.Sprintf("fields/graph=%s/k=%d", name, k), func(b *testing.B) {
				g, rec := loaded(b, name)
				roots := make([]int32, 0, g.N())
				for v := 0; v < g.N(); v += max(1, g.M()*k/1000000) {
					roots = append(roots, int32(v))
				}
				compareMemory(b, func() flow.Pipeline { return fields(rec, roots, 1024, operators.Normalize{K: k, Edges: true}) })
			})
		}
	}
	for _, name := range []string{"MUTAG", "NCI1", "DD"} {
		src := tu.Source{Path: filepath.Join(os.Getenv("SANFLOW_DATA"), "tu", name+".zip")}
		if _, err := os.Stat(src.Path); err != nil {
			b.Skip("SANFLOW_DATA has no " + name)
		}
		recipe := operators.Recipe{operators.Select{W: 18}, operators.Assemble{K: 10}, operators.Normalize{K: 10}}
		b.Run("fields/collection="+name, func(b *testing.B) {
			compareMemory(b, func() flow.Pipeline { return recipe.Onto(flow.From(src)) })
		})
		b.Run("train/collection="+name, func(b *testing.B) {
			compareMemory(b, func() flow.Pipeline {
				return recipe.Onto(flow.From(src)).Via(operators.Replay{Epochs: 5, Seed: 1}).Via(operators.Batch{Size: 32}).
					To(sinks.Train{Net: &nn.CNN{Seed: 1}})
			})
		})
	}
}

func compareMemory(b *testing.B, p func() flow.Pipeline) {
	mems := []func() memory.Allocator{
		func() memory.Allocator { return &record.Recycler{} },
		func() memory.Allocator { return memory.DefaultAllocator },
		func() memory.Allocator { return record.Poison{} },
	}
	best := []time.Duration{time.Hour, time.Hour, time.Hour}
	for b.Loop() {
		for i, mem := range mems {
			runtime.GC() // each pays for its own garbage
			start := processor()
			if err := p().With(flow.Options{Workers: 1, Allocator: mem()}).Run(context.Background()); err != nil {
				b.Fatal(err)
			}
			best[i] = min(best[i], processor()-start)
		}
	}
	b.ReportMetric(best[1].Seconds()/best[0].Seconds(), "heap/recycled")
	b.ReportMetric(best[2].Seconds()/best[0].Seconds(), "poison/recycled")
	b.ReportMetric(best[0].Seconds()*1000, "recycled-ms")
}
