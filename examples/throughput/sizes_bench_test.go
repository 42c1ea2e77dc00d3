//go:build unix

package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/sources/generate"
)

// BenchmarkSizes tells what the rate of bounded fields owes to the memory system, for
// RMAT graphs of scales 16 to 22, by processor time:
//
//	ns/field   a field at k = 10 and a bound of 16, of nodes all over the graph
//	ns/again   one of the same 128 nodes time and again, which caches hold
//	ns/step    a step to another place of an array as large as the graph and its index,
//	           which the place before names, in random order
//
// No field is remembered, so that the first two differ in where the graph is, and in
// nothing else.
//
//	go test ./examples/throughput -run '^$' -bench BenchmarkSizes -benchtime 3x
func BenchmarkSizes(b *testing.B) {
	const k, bound, some, fields, steps = 10, 16, 128, 100_000, 10_000_000
	for scale := 16; scale <= 22; scale += 2 {
		b.Run(fmt.Sprintf("scale=%d", scale), func(b *testing.B) {
			g, _, err := input.Load(context.Background(), "rmat", 1<<scale, 1)
			if err != nil {
				b.Fatal(err)
			}
			ix := field.NewIndex(g, field.Both)
			ix.SetBound(bound)
			size := 2 * (len(g.Offsets) + len(g.Neighbors)) // and as much of the index
			chain := chainOf(size)
			order := generate.NewRand(1).Perm(g.N())
			once, again, step := time.Hour, time.Hour, time.Hour
			clock := func(d *time.Duration, f func()) {
				start := processor()
				f()
				*d = min(*d, processor()-start)
			}
			for b.Loop() {
				clock(&once, func() { bounded(b, ix, order, k, fields) })
				clock(&again, func() { bounded(b, ix, order[:some], k, fields) })
				clock(&step, func() {
					at := int32(0)
					for range steps {
						at = chain[at]
					}
					order[0] += int(at) >> 31 // at is in use
				})
			}
			b.ReportMetric(float64(4*size)/1e6, "MB")
			b.ReportMetric(float64(once.Nanoseconds())/fields, "ns/field")
			b.ReportMetric(float64(again.Nanoseconds())/fields, "ns/again")
			b.ReportMetric(float64(step.Nanoseconds())/steps, "ns/step")
		})
	}
}

// bounded makes that many fields of these roots, in turn.
func bounded(b *testing.B, ix *field.Index, roots []int, k, fields int) {
	var walk field.Assembler
	z := field.Normalizer{K: k}
	members := make([]int32, k)
	for i := range fields {
		hood, dist := walk.Assemble(ix, int32(roots[i%len(roots)]), k)
		if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
			b.Fatal(err)
		}
	}
}

// chainOf is a cycle through n places in random order (Sattolo 1986).
func chainOf(n int) []int32 {
	rng, next := generate.NewRand(1), make([]int32, n)
	for i := range next {
		next[i] = int32(i)
	}
	for i := n - 1; i > 0; i-- {
		j := rng.IntN(i)
		next[i], next[j] = next[j], next[i]
	}
	return next
}
