package operators_test

import (
	"context"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
)

// trickle hands out a row every now and then, and then waits before it ends.
type trickle struct {
	Rows  int
	Every time.Duration
	Last  time.Duration
}

func (s trickle) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	return &trickler{trickle: s, b: record.NewBuilder(mem, record.Layout{})}, nil
}

type trickler struct {
	trickle
	b    *record.Builder
	next int
}

func (r *trickler) Schema() *arrow.Schema { return r.b.Schema() }
func (r *trickler) Close() error          { return nil }

func (r *trickler) Next(ctx context.Context) (arrow.Record, error) {
	if r.next == r.Rows {
		time.Sleep(r.Last)
		return nil, io.EOF
	}
	time.Sleep(r.Every)
	err := r.b.Append(&graph.Graph{Offsets: []int32{0, 0}}, record.Row{ID: int64(r.next), Pos: int64(r.next)})
	r.next++
	return r.b.Record(), err
}

// arrivals is a sink that notes when each row came.
type arrivals struct {
	start time.Time
	ids   []int64
	at    []time.Duration
	sizes []int64
}

func (a *arrivals) Open(*arrow.Schema) (flow.Writer, error) { return a, nil }
func (a *arrivals) Close(error) error                       { return nil }

func (a *arrivals) Write(_ context.Context, rec arrow.Record) error {
	ids, err := record.Values[int64](rec, record.GraphID)
	a.ids = append(a.ids, ids...)
	for range ids {
		a.at = append(a.at, time.Since(a.start))
	}
	a.sizes = append(a.sizes, rec.NumRows())
	return err
}

func watch(t *testing.T, src trickle, op flow.Operator) *arrivals {
	a := &arrivals{start: time.Now()}
	if err := flow.From(src).Via(op).To(a).With(flow.Options{Allocator: flowtest.Mem(t)}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestBatchMaxWait lets a row come every 10 s.
func TestBatchMaxWait(t *testing.T) {
	for _, c := range []struct {
		wait time.Duration
		size int
		want []int64 // sizes
	}{
		{0, 4, []int64{4, 4, 2}},
		{25 * time.Second, 100, []int64{3, 3, 3, 1}}, // at 35, 65, … s
		{25 * time.Second, 2, []int64{2, 2, 2, 2, 2}},
		{time.Hour, 4, []int64{4, 4, 2}},
		{time.Second, 4, []int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := watch(t, trickle{Rows: 10, Every: 10 * time.Second, Last: 10 * time.Minute}, operators.Batch{Size: c.size, MaxWait: c.wait})
			if !slices.Equal(a.sizes, c.want) || !slices.Equal(a.ids, upTo(10)) {
				t.Errorf("Size %d, MaxWait %v: records of %v rows, want %v", c.size, c.wait, a.sizes, c.want)
			}
			for i, at := range a.at {
				if waited := at - time.Duration(i+1)*10*time.Second; 0 < c.wait && c.wait < time.Minute && waited > c.wait+10*time.Millisecond {
					t.Errorf("Size %d, MaxWait %v: row %d waits for %v", c.size, c.wait, i, waited)
				}
			}
		})
	}
}
