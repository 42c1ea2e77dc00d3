package sinks_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// words is the recipe of the model that is best at telling graphs apart.
var words = operators.Recipe{operators.Count{Of: count.Standard()}}

func newWords() *nn.Logistic {
	return &nn.Logistic{Kernel: nn.Min, Heads: 10}
}

// streamed trains on a stream of generated graphs that come once each.
func streamed(tb testing.TB, graphs int, onRow func(sinks.Prediction) error) *nn.Logistic {
	net := newWords()
	err := words.Onto(flow.From(sources.Families{Graphs: graphs, Seed: 4, Noise: 0.4})).
		Via(operators.Batch{Size: 32}).
		To(sinks.Train{Net: net, OnRow: onRow}).
		Run(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return net
}

// A stream of any length is learned from in the same memory: 4 000 graphs, or a
// million if SANFLOW_LONG is set. What is right is counted before each graph is
// learned from.
func TestStreamOfWordsTakesBoundedMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("memory is measured")
	}
	graphs := 4_000
	if os.Getenv("SANFLOW_LONG") != "" {
		graphs = 1_000_000
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var first int64
	seen, right := 0, 0
	streamed(t, graphs, func(p sinks.Prediction) error {
		seen++
		if p.Class == p.Target {
			right++
		}
		switch {
		case seen == 1_000:
			first = heap()
		case seen == graphs/2:
			right = 0
		case seen > graphs/2 && seen%(graphs/4) == 0:
			now := heap()
			t.Logf("%d graphs: %.1f %% of the last %d right, heap %.1f MB", seen, 100*float64(right)/float64(graphs/4), graphs/4, float64(now)/1e6)
			if now > first+16<<20 {
				t.Errorf("the heap grew from %d to %d bytes after %d graphs", first, now, seen)
			}
			if seen > graphs/2 && right < graphs/4/2 {
				t.Errorf("%d of the last %d right, of 6 classes", right, graphs/4)
			}
			right = 0
		}
		return nil
	})
}

// The model answers for single graphs as in the stream, when it has been saved and
// read too.
func TestPredictorOfWords(t *testing.T) {
	net := streamed(t, 150, nil)
	var file bytes.Buffer
	test := sources.Families{Graphs: 60, Seed: 9, Noise: 0.4}
	graphs, layout := collectedGraphs(t, test)
	recipe := append(operators.Recipe{operators.Expect{Layout: layout}}, words...)
	if err := sinks.Write(&file, net, recipe); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var classes []int
	err = words.Onto(flow.From(test)).Via(operators.Batch{Size: 7}).
		To(sinks.Predict{Net: net, Each: func(q sinks.Prediction) error { classes = append(classes, q.Class); return nil }}).
		Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range graphs {
		a, err := p.Predict(context.Background(), g)
		if err != nil {
			t.Fatal(err)
		}
		if a.Index != classes[i] {
			t.Fatalf("graph %d: class %d, in the stream %d", i, a.Index, classes[i])
		}
	}
}

// BenchmarkStreamOfWords says what a graph costs, from the source to the step, in
// streams of different lengths: the cost is linear.
func BenchmarkStreamOfWords(b *testing.B) {
	for _, graphs := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(graphs), func(b *testing.B) {
			for range b.N {
				streamed(b, graphs, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*graphs), "µs/graph")
		})
	}
}

// BenchmarkPredictorOfWords is a single graph through the pipeline.
func BenchmarkPredictorOfWords(b *testing.B) {
	graphs, layout := collectedGraphs(b, sources.Families{Graphs: 60, Seed: 9})
	p, err := sinks.NewPredictor(streamed(b, 600, nil), append(operators.Recipe{operators.Expect{Layout: layout}}, words...))
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	i := 0
	for b.Loop() {
		if _, err := p.Predict(context.Background(), graphs[i%len(graphs)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
