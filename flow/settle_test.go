package flow_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// queue is a source of records that begin with these positions, of four rows
// each.
type queue struct {
	firsts []int64
	settle func(pos int64)
	closed func()
}

func (queue) Name() string { return "queue" }

func (q queue) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	return &queueReader{q, record.NewBuilder(mem, record.Layout{})}, nil
}

type queueReader struct {
	queue
	b *record.Builder
}

func (q *queueReader) Schema() *arrow.Schema { return q.b.Schema() }
func (q *queueReader) Settle(pos int64)      { q.settle(pos) }
func (q *queueReader) Close() error          { q.closed(); return nil }

func (q *queueReader) Next(context.Context) (arrow.Record, error) {
	if len(q.firsts) == 0 {
		return nil, io.EOF
	}
	for i := range int64(4) {
		p := q.firsts[0] + i + i/2 // with a gap
		if err := q.b.Append(&graph.Graph{Offsets: []int32{0, 0}}, record.Row{ID: p, Pos: p}); err != nil {
			return nil, err
		}
	}
	q.firsts = q.firsts[1:]
	return q.b.Record(), nil
}

// TestSettler: records in any order and again are settled when their rows have
// left, once for each time they were settled before they came again, and before
// the reader is closed; after a failure only those that had left.
func TestSettler(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var firsts []int64
		for range 40 {
			firsts = append(firsts, 10*int64(rng.IntN(15)))
		}
		fails := seed%4 == 3
		var mu sync.Mutex
		settled, written, closed, wrong := map[int64]int{}, map[int64]int{}, 0, false
		src := queue{firsts, func(pos int64) {
			mu.Lock()
			defer mu.Unlock()
			settled[pos]++
			for i := range int64(4) {
				wrong = wrong || written[pos+i+i/2] < settled[pos]
			}
			wrong = wrong || closed > 0
		}, func() { closed++ }}
		sink := writes(func(rec arrow.Record) error {
			ids, err := record.Values[int64](rec, record.GraphID)
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				written[id]++
			}
			if fails && len(written) > 30 {
				return errTest
			}
			return err
		})
		err := flow.From(src).Via(step{Label: "forks", mode: forks, hook: jitter}).Via(step{Label: "holds", mode: holds}).To(sink).
			With(flow.Options{Workers: 3, Allocator: checked(t)}).Run(context.Background())
		if fails != (err != nil) || err != nil && !errors.Is(err, errTest) || wrong || closed != 1 {
			t.Fatalf("seed %d: %v; wrong %t, closed %d times", seed, err, wrong, closed)
		}
		slices.Sort(firsts)
		if want := slices.Compact(firsts); !fails && !slices.Equal(slices.Sorted(maps.Keys(settled)), want) {
			t.Errorf("seed %d: settled %v, want %v", seed, settled, want)
		}
	}
}

// writes is a sink that calls itself.
type writes func(arrow.Record) error

func (w writes) Open(*arrow.Schema) (flow.Writer, error)         { return w, nil }
func (w writes) Close(error) error                               { return nil }
func (w writes) Write(_ context.Context, rec arrow.Record) error { return w(rec) }
