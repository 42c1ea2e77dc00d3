package flow

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// recordAt returns a record of rows at these positions.
func recordAt(t *testing.T, pos ...int64) arrow.Record {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	for _, p := range pos {
		if err := b.Append(&graph.Graph{}, record.Row{Pos: p}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Record()
}

func TestTracker(t *testing.T) {
	var acks []int64
	tr := newTracker()
	tr.ack = func(pos int64) { acks = append(acks, pos) }
	want := func(pos ...int64) {
		t.Helper()
		if !slices.Equal(acks, pos) {
			t.Fatalf("acknowledged %v, want %v", acks, pos)
		}
	}
	tr.enter(recordAt(t, 3, 4, 4, 7))
	if len(tr.order) != 3 {
		t.Errorf("the positions are %v, want 3, 4 and 7", tr.order)
	}
	want()
	tr.done(recordAt(t, 4))
	tr.done(recordAt(t, 7))
	want() // 3 is in, and one row of 4
	tr.done(recordAt(t, 3))
	want(3)
	tr.add(recordAt(t, 4)) // it will come again
	tr.done(recordAt(t, 4))
	want(3)
	tr.done(recordAt(t, 4))
	want(3, 7)
	tr.done(recordAt(t, 4, 7)) // long gone
	tr.add(recordAt(t, 3))
	want(3, 7)
	if tr.watermark() != 7 || len(tr.claims) != 0 || len(tr.order) != 0 {
		t.Errorf("at the end: %+v", tr)
	}
	tr.enter(recordAt(t, 8, 9))
	tr.finish()
	want(3, 7, 9)
}

// TestAsSourceKeepsNothing: nobody tells an adapter what becomes of its rows,
// so it must not remember them.
func TestAsSourceKeepsNothing(t *testing.T) {
	rec := recordAt(t, 1, 2, 3)
	src := AsSource(context.Background(), one{rec})
	sink := AsSink(context.Background(), discard{})
	src.To(sink)
	if n := len(src.run.track.claims) + len(src.run.track.order); src.Err() != nil || n != 0 {
		t.Errorf("%v, %d positions are kept", src.Err(), n)
	}
}

// one is a source of one record.
type one struct{ rec arrow.Record }

func (o one) Open(context.Context, memory.Allocator) (Reader, error) {
	return &oneReader{rec: o.rec}, nil
}

type oneReader struct {
	rec  arrow.Record
	done bool
}

func (r *oneReader) Schema() *arrow.Schema { return r.rec.Schema() }
func (r *oneReader) Close() error          { return nil }

func (r *oneReader) Next(context.Context) (arrow.Record, error) {
	if r.done {
		return nil, io.EOF
	}
	r.done = true
	r.rec.Retain()
	return r.rec, nil
}
