package arrow18

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrow15 "github.com/apache/arrow/go/v15/arrow"
	memory15 "github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Source streams the records of a reader of arrow-go v18, in place. Graphs have
// the columns that package record documents, with their types; other columns
// pass through.
type Source struct {
	// Reader is read once, to its end. Its Next has no context, so a cancelled run ends when Next
	// has returned.
	Reader array.RecordReader
}

var _ flow.Source = Source{}

// String names the source, for the plan of a pipeline.
func (s Source) String() string { return "arrow18" }

// Open checks the schema.
func (s Source) Open(context.Context, memory15.Allocator) (flow.Reader, error) {
	if s.Reader == nil {
		return nil, errors.New("arrow18: no Reader")
	}
	schema, err := ImportSchema(s.Reader.Schema())
	if err == nil && schema.HasField(record.Offsets) {
		if _, err = record.LayoutOf(schema); err != nil {
			err = fmt.Errorf("arrow18: %w", err)
		}
	}
	if err != nil {
		return nil, err
	}
	s.Reader.Retain()
	return &reader{from: s.Reader, schema: schema}, nil
}

type reader struct {
	from   array.RecordReader
	schema *arrow15.Schema
	closed bool
}

func (r *reader) Schema() *arrow15.Schema { return r.schema }

func (r *reader) Next(ctx context.Context) (arrow15.Record, error) {
	switch {
	case r.closed:
		return nil, errors.New("arrow18: the reader is closed")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case r.from.Next():
		return importRecord(r.from.RecordBatch(), r.schema)
	}
	if err := r.from.Err(); err != nil && err != io.EOF {
		return nil, fmt.Errorf("arrow18: %w", err)
	}
	return nil, io.EOF
}

func (r *reader) Close() error {
	if !r.closed {
		r.closed = true
		r.from.Release()
	}
	return nil
}
