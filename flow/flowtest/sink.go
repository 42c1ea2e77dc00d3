package flowtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// RunSink checks a sink: it takes the records, also in small pieces, with records without rows in
// between, and none at all, does not write to them, and leaves nothing behind when the stream is
// complete, broken off or cancelled. The count of a DurableWriter rises to the number of written
// records and no further. open returns a new sink for each check, and a function that releases the
// records that the sink keeps, or nil. records is borrowed; nil means Sample.
func RunSink(t *testing.T, open func() (sink flow.Sink, release func()), records []arrow.Record) {
	t.Helper()
	if records == nil {
		records = Sample(memory.DefaultAllocator)
		defer record.Release(records)
	}
	schema := records[0].Schema()
	none := records[0].NewSlice(0, 0)
	defer none.Release()
	pieces := []arrow.Record{none}
	for _, rec := range records {
		for row := range rec.NumRows() {
			pieces = append(pieces, rec.NewSlice(row, row+1))
		}
		none.Retain()
		pieces = append(pieces, none)
	}
	none.Retain()
	defer record.Release(pieces)

	ctx := context.Background()
	run := func(ctx context.Context, name string, tr trial, want error) {
		t.Run(name, func(t *testing.T) {
			tr.schema = schema
			if err := tr.into(ctx, open, want); err != nil {
				t.Error(err)
			}
		})
	}
	run(ctx, "records", trial{in: records}, nil)
	run(ctx, "pieces", trial{in: pieces}, nil)
	run(ctx, "none", trial{}, nil)
	t.Run("input", func(t *testing.T) {
		before := fingerprint(records)
		if err := (trial{schema: schema, in: records, shared: true}).into(ctx, open, nil); err != nil {
			t.Error(err)
		}
		if fingerprint(records) != before {
			t.Error("the sink has written to a record that it was lent")
		}
	})
	failing := func(int) error { return errCheck }
	run(ctx, "source fails at once", trial{in: records, read: failing}, errCheck)
	run(ctx, "source fails later", trial{in: records, read: func(n int) error {
		if n == len(records) {
			return errCheck
		}
		return nil
	}}, errCheck)
	broken, stop := context.WithCancel(ctx)
	defer stop()
	run(broken, "cancel", trial{in: records, endless: true, read: func(n int) error {
		if n == len(records) {
			stop()
		}
		return nil
	}}, context.Canceled)
}

// into streams t.in into a new sink and checks that the run ends with the error want.
func (t trial) into(ctx context.Context, open func() (flow.Sink, func()), want error) error {
	return clean(func(mem memory.Allocator) error {
		opened, done := open()
		sink := &audit{Sink: opened}
		err := flow.From(&feed{trial: t}).To(sink).With(flow.Options{Allocator: mem}).Run(ctx)
		if done != nil {
			done()
		}
		if !errors.Is(err, want) {
			return fmt.Errorf("the error is %v, want %v", err, want)
		}
		return sink.wrong
	})
}
