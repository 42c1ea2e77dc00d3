package operators_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// BenchmarkChunk measures what the stream costs for one large graph: the fields
// of its nodes by direct calls, and through Select to Normalize in chunks of
// 1024 roots, with an Assemble and without, and on two workers, in turn within
// each iteration. All index the graph once an iteration. The ratios are those of
// the shortest times, which other work on the machine disturbs least.
//
//	go test ./operators -run '^$' -bench BenchmarkChunk -benchtime 5x
func BenchmarkChunk(b *testing.B) {
	for _, c := range []struct {
		name   string
		g      func(b *testing.B) *graph.Graph
		stride int
	}{
		{"torus", func(b *testing.B) *graph.Graph { return made(b)(generate.Torus(300, 300)) }, 1},
		{"preferential", func(b *testing.B) *graph.Graph { return made(b)(generate.PreferentialAttachment(10000, 3, 1)) }, 1},
		{"power", func(b *testing.B) *graph.Graph { return large(b, "power") }, 1},
		{"astro-ph", func(b *testing.B) *graph.Graph { return large(b, "astro-ph") }, 2},
		{"email-Enron", func(b *testing.B) *graph.Graph { return large(b, "email-Enron") }, 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			const k = 10
			g := c.g(b)
			build := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
			if err := build.Append(g, record.Row{}); err != nil {
				b.Fatal(err)
			}
			rec := build.Record()
			defer rec.Release()
			src := sources.Records{Records: []arrow.Record{rec}}
			chunks := flow.From(src).Via(operators.Select{Stride: c.stride}).Via(operators.Chunk{})
			assembled := chunks.Via(operators.Assemble{K: k}).Via(operators.Normalize{})
			alone := chunks.Via(operators.Normalize{K: k})
			stream := func(p flow.Pipeline, workers int) {
				if err := p.With(flow.Options{Workers: workers}).Run(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			fields := (g.N() + c.stride - 1) / c.stride
			direct := func() {
				ix := field.NewIndex(g, field.Both)
				var walk field.Assembler
				z := field.Normalizer{K: k, Cache: field.NewCache(16 << 20)}
				members := make([]int32, 1024*k)
				for i := range fields {
					v := i * c.stride
					hood, dist := walk.Assemble(ix, int32(v), k)
					if err := z.Normalize(ix, hood, dist, nil, members[i%1024*k:][:k]); err != nil {
						b.Fatal(err)
					}
				}
			}
			byHand, both, one, two := time.Hour, time.Hour, time.Hour, time.Hour
			clock := func(d *time.Duration, f func()) {
				start := time.Now()
				f()
				*d = min(*d, time.Since(start))
			}
			for b.Loop() {
				clock(&byHand, direct)
				clock(&both, func() { stream(assembled, 1) })
				clock(&one, func() { stream(alone, 1) })
				clock(&two, func() { stream(alone, 2) })
			}
			b.ReportMetric(float64(fields)/one.Seconds(), "fields/s")
			b.ReportMetric(byHand.Seconds()/both.Seconds(), "assemble/direct")
			b.ReportMetric(byHand.Seconds()/one.Seconds(), "stream/direct")
			b.ReportMetric(one.Seconds()/two.Seconds(), "2workers/1")
		})
	}
}

func made(b *testing.B) func(*graph.Graph, error) *graph.Graph {
	return func(g *graph.Graph, err error) *graph.Graph {
		if err != nil {
			b.Fatal(err)
		}
		return g
	}
}
