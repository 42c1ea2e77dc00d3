package operators

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// rowBuilder is one worker's part of an operator that handles each row by
// itself and adds columns: the Arrow shell around a function over slices.
type rowBuilder interface {
	// begin is called before the rows of a record.
	begin(mem memory.Allocator, rec arrow.Record) error
	// row appends what it makes of a row to the columns, or appends nothing
	// and says why the row cannot be handled.
	row(ctx context.Context, row int) error
	// finish returns the columns of the rows since it was called last.
	finish(rows int) map[string]arrow.Array
	// release drops them instead.
	release()
	// fork returns a builder for another worker.
	fork() rowBuilder
}

// noter is a rowBuilder that counts events for the statistics of the run.
type noter interface {
	// notes reports what was counted since it was called last.
	notes(note func(event string, n int64))
}

// rowStage runs a rowBuilder; it adds to, and leaves away from, the columns of
// its input to get those of schema.
type rowStage struct {
	schema *arrow.Schema
	b      rowBuilder
}

func (s *rowStage) Schema() *arrow.Schema { return s.schema }

func (s *rowStage) Fork() flow.Stage { return &rowStage{s.schema, s.b.fork()} }

func (s *rowStage) Close() error {
	s.b.release()
	return nil
}

// Process emits one record, or several around the rows that are refused.
func (s *rowStage) Process(rec arrow.Record, out *flow.Out) error {
	if err := s.b.begin(out.Mem(), rec); err != nil {
		return err
	}
	if b, ok := s.b.(noter); ok {
		defer b.notes(out.Note)
	}
	start, n := 0, int(rec.NumRows())
	for row := range n {
		out.Row(row)
		err := s.b.row(out.Context(), row)
		if err == nil {
			continue
		}
		if ctx := out.Context().Err(); ctx != nil {
			return ctx
		}
		if err := s.emit(rec, start, row, out); err != nil {
			return err
		}
		start = row + 1
		if err := out.Refuse(rec, row, err); err != nil {
			return err
		}
	}
	if start == n && n > 0 {
		return nil
	}
	return s.emit(rec, start, n, out)
}

// emit hands on rows start to end of rec, which the columns were built for.
func (s *rowStage) emit(rec arrow.Record, start, end int, out *flow.Out) error {
	out.Row(-1)
	if start == end && rec.NumRows() > 0 {
		return nil
	}
	if end-start < int(rec.NumRows()) {
		rec = rec.NewSlice(int64(start), int64(end))
		defer rec.Release()
	}
	made, err := record.Project(s.schema, rec, s.b.finish(end-start))
	if err != nil {
		return err
	}
	return out.Emit(made)
}
