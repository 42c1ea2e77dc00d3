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
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/tu"
)

const streamW, streamK = 30, 10

// nci1 returns NCI1 in memory: 4110 graphs of 29.9 nodes, in records of 64.
func nci1(b *testing.B) []arrow.Record {
	path := dataFile(b, "tu", "NCI1.zip")
	var all sinks.Collect
	b.Cleanup(all.Release)
	if err := flow.From(tu.Source{Path: path}).To(&all).Run(context.Background()); err != nil {
		b.Fatal(err)
	}
	return all.Records()
}

// direct makes the same fields by calls of the same functions.
func direct(b *testing.B, recs []arrow.Record) {
	var walk field.Assembler
	norm := field.Normalizer{K: streamK, Cache: field.NewCache(16 << 20)}
	var labels []float64
	for _, rec := range recs {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			b.Fatal(err)
		}
		members := make([]int32, gs.Len()*streamW*streamK)
		cats := make([]int32, gs.Len()*streamW*streamK)
		for row := range gs.Len() {
			var g graph.Graph
			gs.At(row, &g)
			labels = append(labels[:0], make([]float64, g.N())...)
			if err := labeling.Compute(labeling.Betweenness, labeling.Input{Graph: &g}, labels); err != nil {
				b.Fatal(err)
			}
			order, _, err := labeling.Rank(context.Background(), &g, labels)
			if err != nil {
				b.Fatal(err)
			}
			ix := field.NewIndex(&g, field.Both)
			m := members[row*streamW*streamK:][:streamW*streamK]
			for i := range m {
				m[i] = -1
			}
			for i, root := range order[:min(streamW, len(order))] {
				hood, dist := walk.Assemble(ix, root, streamK)
				if err := norm.Normalize(ix, hood, dist, nil, m[i*streamK:][:streamK]); err != nil {
					b.Fatal(err)
				}
			}
			field.NodeCats(&g, m, cats[row*streamW*streamK:])
		}
	}
}

// stream makes them in a pipeline.
func stream(b *testing.B, recs []arrow.Record, workers int) {
	err := flow.From(sources.Records{Records: recs}).
		Via(operators.Select{W: streamW}).
		Via(operators.Assemble{K: streamK}).
		Via(operators.Normalize{}).
		With(flow.Options{Workers: workers}).
		Run(context.Background())
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStream measures what the stream costs: all fields of NCI1 by direct
// calls, and through a pipeline of one and of two workers, in turn within each
// iteration, so that a noisy machine slows all three. The ratios are those of
// total times.
//
//	go test ./operators -run '^$' -bench BenchmarkStream -benchtime 10x
func BenchmarkStream(b *testing.B) {
	recs := nci1(b)
	var byHand, one, two time.Duration
	clock := func(d *time.Duration, f func()) {
		start := time.Now()
		f()
		*d += time.Since(start)
	}
	for b.Loop() {
		clock(&byHand, func() { direct(b, recs) })
		clock(&one, func() { stream(b, recs, 1) })
		clock(&two, func() { stream(b, recs, 2) })
	}
	rows := 0.0
	for _, r := range recs {
		rows += float64(r.NumRows())
	}
	b.ReportMetric(rows*float64(b.N)/one.Seconds(), "graphs/s")
	b.ReportMetric(byHand.Seconds()/one.Seconds(), "stream/direct")
	b.ReportMetric(one.Seconds()/two.Seconds(), "2workers/1")
}

// BenchmarkTinyRecords measures what a record costs that holds one graph of five
// nodes, on its way through the stages, in one worker. The work on the graph
// itself takes about two microseconds.
//
//	go test ./operators -run '^$' -bench BenchmarkTinyRecords
func BenchmarkTinyRecords(b *testing.B) {
	layout := record.Layout{NodeCat: []record.Channel{{Name: "element", Card: 3}}, Classes: []string{"a", "b"}}
	g, err := graph.New(5, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 4}, {U: 4, V: 0}})
	if err != nil {
		b.Fatal(err)
	}
	g.NodeCats, g.NodeCat = 1, []int32{0, 1, 2, 1, 0}
	build := record.NewBuilder(memory.DefaultAllocator, layout)
	recs := make([]arrow.Record, 2000)
	for i := range recs {
		if err := build.Append(g, record.Row{ID: int64(i), Pos: int64(i)}); err != nil {
			b.Fatal(err)
		}
		recs[i] = build.Record()
		defer recs[i].Release()
	}
	b.ReportAllocs()
	for b.Loop() {
		err := flow.From(sources.Records{Records: recs}).
			Via(operators.Select{W: 5, By: labeling.Degree}).
			Via(operators.Assemble{K: 3}).
			Via(operators.Normalize{}).
			With(flow.Options{Workers: 1}).
			Run(context.Background())
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(recs)), "µs/record")
}
