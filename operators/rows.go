package operators

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
)

// rowBuilder is the part of an operator that handles each row by itself, for one worker: the
// Arrow shell around a function over slices. stageOfRows adds workers, cancellation, refused rows,
// and the columns that stay.
type rowBuilder interface {
	// Begin is called before the rows of a record, which it borrows until they are done. A slice
	// of rec that is kept longer has the values of another record (SANFLOW_MEM=poison finds such a
	// use; see package flow). Results are allocated in mem.
	Begin(mem memory.Allocator, rec arrow.Record) error
	// Row appends the results of a row to the columns, or appends nothing and returns an error:
	// the row is then refused. A row that takes long checks ctx from time to time and returns its
	// error.
	Row(ctx context.Context, row int) error
	// Finish returns the columns of the rows since its last call, by name. The caller owns them,
	// and uses the map before the next call.
	Finish(rows int) map[string]arrow.Array
	// Release drops the rows since the last Finish. It is called when the run ends, perhaps before
	// the first Begin.
	Release()
	// Fork returns a builder for another worker, with memory of its own.
	Fork() rowBuilder
}

// finished is what a Finish returns, in one map for all records.
type finished map[string]arrow.Array

// put enters a column, in place of that of the record before.
func (f *finished) put(name string, column arrow.Array) map[string]arrow.Array {
	if *f == nil {
		*f = finished{}
	}
	(*f)[name] = column
	return *f
}

// noter is a rowBuilder that counts events for the statistics of the run.
type noter interface {
	// notes reports what was counted since it was called last.
	notes(note func(event string, n int64))
}

// stageOfRows returns a stage that runs b, in several workers if the pipeline has them. schema is
// the output schema. It may have the columns that Finish returns and columns of the input,
// which are shared and not copied.
func stageOfRows(schema *arrow.Schema, b rowBuilder) flow.Stage { return &rowStage{schema, b} }

type rowStage struct {
	schema *arrow.Schema
	b      rowBuilder
}

func (s *rowStage) Schema() *arrow.Schema { return s.schema }

func (s *rowStage) Fork() flow.Stage { return &rowStage{s.schema, s.b.Fork()} }

func (s *rowStage) Close() error {
	s.b.Release()
	return nil
}

// Process emits one record, or several around the rows that are refused.
func (s *rowStage) Process(rec arrow.Record, out *flow.Out) error {
	if b, ok := s.b.(looker); ok {
		l, _ := out.Shared().(*look)
		b.given(l)
	}
	if err := s.b.Begin(out.Allocator(), rec); err != nil {
		var bad *record.RowError
		if errors.As(err, &bad) { // flow then names the graph
			out.Row(bad.Row)
			return bad.Err
		}
		return err
	}
	if b, ok := s.b.(noter); ok {
		defer b.notes(out.Note)
	}
	ctx := out.Context()
	start, n := 0, int(rec.NumRows())
	for row := range n {
		out.Row(row)
		err := s.b.Row(ctx, row)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
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
	} else if b, ok := s.b.(looker); ok {
		defer out.Share(nil)
		out.Share(b.look())
	}
	made, err := record.Project(s.schema, rec, s.b.Finish(end-start))
	if err != nil {
		return err
	}
	return out.Emit(made)
}

// listColumn is the main part of a rowBuilder that reads graphs and makes one column of lists.
// A type that embeds it adds Row and Fork.
type listColumn[T record.Value] struct {
	Name   string          // of the column
	Bound  *record.Binding // of the schema of the input
	Graphs *record.Graphs  // of the current record
	Lists  *record.Lists[T]

	finished finished
}

// Again returns a listColumn for another worker.
func (c *listColumn[T]) Again() listColumn[T] { return listColumn[T]{Name: c.Name, Bound: c.Bound} }

// Begin implements rowBuilder.
func (c *listColumn[T]) Begin(mem memory.Allocator, rec arrow.Record) error {
	if c.Lists == nil {
		c.Lists = record.NewLists[T](mem)
	}
	if c.Graphs == nil {
		c.Graphs = new(record.Graphs)
	}
	return c.Bound.ViewInto(c.Graphs, rec)
}

// Finish implements rowBuilder.
func (c *listColumn[T]) Finish(int) map[string]arrow.Array {
	return c.finished.put(c.Name, c.Lists.Finish())
}

// Release implements rowBuilder.
func (c *listColumn[T]) Release() {
	if c.Lists != nil {
		c.Lists.Release()
	}
}

// look is what a row stage has found out about a record and shares with the row stage
// behind it on the same goroutine: Select, Assemble and Normalize look at a record once
// between them.
type look struct {
	graphs *record.Graphs // the view of the graphs, each of which was checked
	hoods  bool           // the columns hood and dist are those that Assemble has made

	index     *sharedGraph // of the only row, where workers share it; or nil
	direction field.Direction
	bound     int
}

// looker is a rowBuilder that shares its look. It leaves the columns of graphs as they
// are.
type looker interface {
	given(l *look) // of the stage before, or nil; called before Begin
	look() *look   // when the rows of a record are done
}

// viewer is the part of a looker that views graphs.
type viewer struct {
	bound *record.Binding
	from  *look
	now   look
	own   record.Graphs
}

func (v *viewer) given(l *look) { v.from = l }

func (v *viewer) look() *look { return &v.now }

// view looks at rec, unless the stage before has.
func (v *viewer) view(rec arrow.Record) error {
	v.now = look{graphs: &v.own}
	if v.from != nil {
		v.now.graphs = v.from.graphs
		return nil
	}
	return v.bound.ViewInto(&v.own, rec)
}

// sharedIndex returns the index that the stage before has used, if it is of that kind.
func (v *viewer) sharedIndex(d field.Direction, bound int) *sharedGraph {
	if l := v.from; l != nil && l.index != nil && l.direction == d && l.bound == bound {
		return l.index
	}
	return nil
}
