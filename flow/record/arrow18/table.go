package arrow18

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrow15 "github.com/apache/arrow/go/v15/arrow"
	array15 "github.com/apache/arrow/go/v15/arrow/array"
)

// Rows returns a reader of arrow-go v18 as one of Arrow v15, whose records have the same memory.
// sources.RecordTable takes it, so the result of a query of ADBC, Flight SQL or DuckDB becomes a
// graph:
//
//	rows, err := arrow18.Rows(result)
//	…
//	defer rows.Release()
//	sources.Tables{Edges: sources.EdgeTable{Table: sources.RecordTable{Reader: rows}}}
//
// The reader that is returned retains r, and is the caller's to release. A column of
// a type that v15 does not know is an error.
func Rows(r array.RecordReader) (array15.RecordReader, error) {
	if r == nil {
		return nil, errors.New("arrow18: no Reader")
	}
	schema, err := ImportSchema(r.Schema())
	if err != nil {
		return nil, err
	}
	r.Retain()
	t := &rowReader{from: r, schema: schema}
	t.count.Store(1)
	return t, nil
}

type rowReader struct {
	from   array.RecordReader
	schema *arrow15.Schema
	count  atomic.Int64
	rec    arrow15.Record
	err    error
}

func (r *rowReader) Retain() { r.count.Add(1) }

func (r *rowReader) Release() {
	if r.count.Add(-1) == 0 {
		r.drop()
		r.from.Release()
	}
}

func (r *rowReader) drop() {
	if r.rec != nil {
		r.rec.Release()
		r.rec = nil
	}
}

func (r *rowReader) Schema() *arrow15.Schema { return r.schema }

func (r *rowReader) Record() arrow15.Record { return r.rec }

func (r *rowReader) Err() error { return r.err }

func (r *rowReader) Next() bool {
	r.drop()
	if r.err != nil {
		return false
	}
	if r.from.Next() {
		r.rec, r.err = importRecord(r.from.RecordBatch(), r.schema)
		return r.err == nil
	}
	if err := r.from.Err(); err != nil && err != io.EOF {
		r.err = fmt.Errorf("arrow18: %w", err)
	}
	return false
}
