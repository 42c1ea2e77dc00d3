package jetstream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/operators"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// usage is what a process has at a moment at which nothing runs but the broker.
type usage struct {
	heap       uint64
	goroutines int
	at         time.Duration // since the test began
}

func measure(begin time.Time) usage {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{m.HeapAlloc, runtime.NumGoroutine(), time.Since(begin)}
}

// A feed, two workers and a reader, whose connections are cut at random, stream after stream: each
// time the rows are those of one process, and neither memory nor goroutines grow.
func TestSoak(t *testing.T) {
	begin := time.Now()
	last, graphs := begin, 40
	if os.Getenv("SANFLOW_LONG") != "" {
		last, graphs = last.Add(10*time.Minute), 80
	} else {
		t.Parallel() // there is not enough to judge memory
	}
	s := jettest.Start(t, nil)
	proxy := jettest.NewProxy(t, s.Addr().String(), 32<<10, 4)
	js := raw(t, jetstream.Connection{URL: s.ClientURL()})
	rng := rand.New(rand.NewPCG(14, 4))
	var all []usage
	for round := 0; round < 1 || time.Now().Before(last); round++ {
		soak(t, proxy, js, rng, round, graphs)
		if t.Failed() {
			return
		}
		all = append(all, measure(begin))
	}
	for at, u := range all {
		if at%max(1, len(all)/10) == 0 || at == len(all)-1 {
			t.Logf("after stream %d, %v: %.1f MB of heap, %d goroutines", at+1, u.at.Round(time.Second), float64(u.heap)/1e6, u.goroutines)
		}
	}
	t.Logf("%d connections have ended", proxy.Ends())
	if len(all) < 6 {
		return
	}
	first, end := median(all[len(all)/3:2*len(all)/3]), median(all[2*len(all)/3:])
	if end.heap > first.heap*13/10+4<<20 || end.goroutines > first.goroutines+8 {
		t.Errorf("at the end there are %+v, in the middle %+v", end, first)
	}
}

func median(all []usage) (u usage) {
	var heap []uint64
	var goroutines []int
	for _, a := range all {
		heap, goroutines = append(heap, a.heap), append(goroutines, a.goroutines)
	}
	slices.Sort(heap)
	slices.Sort(goroutines)
	return usage{heap: heap[len(heap)/2], goroutines: goroutines[len(goroutines)/2]}
}

// soak makes, reads and deletes two streams, while connections are cut.
func soak(t *testing.T, proxy *jettest.Proxy, js nc.JetStream, rng *rand.Rand, round, n int) {
	t.Helper()
	c := jetstream.Connection{URL: proxy.URL()}
	graphs, fields := fmt.Sprintf("graphs%d", round), fmt.Sprintf("fields%d", round)
	src := sources.Families{Graphs: n, Rows: 4, Seed: rng.Uint64()}
	want := rows(t, recipe.Onto(flow.From(src)).Via(operators.Replay{Epochs: 3, Seed: 7, Block: 60}))

	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	from := jetstream.Source{Connection: c, Stream: graphs, Durable: "w", Pending: 4, AckWait: time.Second, Wait: time.Minute}
	work := recipe.Onto(flow.From(from)).To(sink.Sink{Connection: c, Stream: fields})
	var got []string
	keep := sinkFunc(func(rec arrow.Record) { got = append(got, flowtest.Rows(rec)...) })
	var runs []*flow.Running
	for _, p := range []flow.Pipeline{
		flow.From(src).To(sink.Sink{Connection: c, Stream: graphs, Queue: true}), work, work,
		flow.From(jetstream.Source{Connection: c, Stream: fields, Ordered: true, Wait: time.Minute, Epochs: 3, Seed: 7, Block: 60}).To(keep),
	} {
		runs = append(runs, p.Start(ctx))
	}
	for i, r := range runs {
		if err := r.Wait(); err != nil {
			t.Errorf("stream %d, run %d: %v", round, i, err)
			for _, s := range r.Stats().Stages {
				t.Logf("%s: %d rows in, %d out, lag %d, %v", s.Stage, s.RowsIn, s.RowsOut, s.Lag, s.Notes)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("stream %d: %d rows, or others, want %d", round, len(got), len(want))
	}
	for _, name := range []string{graphs, fields} {
		if err := js.DeleteStream(ctx, name); err != nil {
			t.Error(err)
		}
	}
}
