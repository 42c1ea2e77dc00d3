package flow

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Records streams records that are in memory, such as those a pipeline has
// collected. Records are shared, not copied; the owner keeps them at least
// until the reader is closed.
type Records struct {
	// Schema is the schema of all records. The default is the schema of the first.
	Schema  *arrow.Schema
	Records []arrow.Record
}

// String returns the number of records, for the plan of a pipeline.
func (s Records) String() string { return fmt.Sprintf("Records(%d)", len(s.Records)) }

// Open checks that all records have one schema, metadata included.
func (s Records) Open(context.Context, memory.Allocator) (Reader, error) {
	if s.Schema == nil {
		if len(s.Records) == 0 {
			return nil, fmt.Errorf("flow: Records: neither Schema nor records")
		}
		s.Schema = s.Records[0].Schema()
	}
	for i, rec := range s.Records {
		if rec.Schema() == s.Schema {
			continue
		}
		if !rec.Schema().Equal(s.Schema) || !rec.Schema().Metadata().Equal(s.Schema.Metadata()) {
			return nil, fmt.Errorf("flow: Records: record %d has a schema of its own", i)
		}
	}
	return &recordsReader{schema: s.Schema, left: s.Records}, nil
}

type recordsReader struct {
	schema *arrow.Schema
	left   []arrow.Record
	closed bool
}

func (r *recordsReader) Schema() *arrow.Schema { return r.schema }

func (r *recordsReader) Next(ctx context.Context) (arrow.Record, error) {
	switch {
	case r.closed:
		return nil, errors.New("flow: Records: the reader is closed")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case len(r.left) == 0:
		return nil, io.EOF
	}
	rec := r.left[0]
	r.left = r.left[1:]
	rec.Retain()
	return rec, nil
}

func (r *recordsReader) Close() error {
	r.closed, r.left = true, nil
	return nil
}
