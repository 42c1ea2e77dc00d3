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

// rowBuilder is the part of an operator that handles each row by itself, for one worker. It
// converts between Arrow columns and slices. stageOfRows adds workers, cancellation, refused rows, and
// the columns that pass unchanged.
type rowBuilder interface {
	// Begin is called before the rows of a record. It borrows the record until the last row: a
	// slice that is kept longer has the values of another record (SANFLOW_MEM=poison finds such a
	// use; see package flow). Results are allocated in mem.
	Begin(mem memory.Allocator, rec arrow.Record) error
	// Row appends the results of a row to all columns, or appends nothing and returns an error,
	// which refuses the row. A long computation checks ctx and returns its error.
	Row(ctx context.Context, row int) error
	// Finish returns the columns of the rows since its last call, by name. The caller owns them and
	// uses the map before the next call.
	Finish(rows int) map[string]arrow.Array
	// Release frees the rows since the last Finish. It is called once at the end of the run,
	// possibly before the first Begin.
	Release()
	// Fork returns a builder for another worker, with memory of its own.
	Fork() rowBuilder
}

// finished is the map that Finish returns, reused for all records.
type finished map[string]arrow.Array

// put stores a column in place of that of the last record.
func (f *finished) put(name string, column arrow.Array) map[string]arrow.Array {
	if *f == nil {
		*f = finished{}
	}
	(*f)[name] = column
	return *f
}

// noter is a rowBuilder with counts for the statistics of the run.
type noter interface {
	// notes calls note with each count since its last call.
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

// Process emits one record, or one for each run of rows between refused ones.
func (s *rowStage) Process(rec arrow.Record, out *flow.Out) error {
	if b, ok := s.b.(viewPasser); ok {
		v, _ := out.Shared().(*recordView)
		b.receive(v)
	}
	if err := s.b.Begin(out.Allocator(), rec); err != nil {
		var bad *record.RowError
		if errors.As(err, &bad) { // flow adds the graph to the error
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

// emit emits the rows start to end of rec. The builder has exactly these rows.
func (s *rowStage) emit(rec arrow.Record, start, end int, out *flow.Out) error {
	out.Row(-1)
	if start == end && rec.NumRows() > 0 {
		return nil
	}
	if end-start < int(rec.NumRows()) {
		rec = rec.NewSlice(int64(start), int64(end))
		defer rec.Release()
	} else if b, ok := s.b.(viewPasser); ok {
		defer out.Share(nil)
		out.Share(b.pass())
	}
	made, err := record.Project(s.schema, rec, s.b.Finish(end-start))
	if err != nil {
		return err
	}
	return out.Emit(made)
}

// listColumn is the common part of a rowBuilder that reads graphs and makes one column of lists. A
// type that embeds it adds Row and Fork.
type listColumn[T record.Value] struct {
	Name   string          // name of the column
	Bound  *record.Binding // binding of the input schema
	Graphs *record.Graphs  // graphs of the current record
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

// recordView is what a row stage knows about a record and passes to the next row stage on the same
// goroutine, so that Select, Assemble and Normalize check a record once.
type recordView struct {
	graphs *record.Graphs // checked view of the graphs
	hoods  bool           // Assemble has made the columns hood and dist in this run

	index     *sharedGraph // shared graph of the only row, or nil
	direction field.Direction
	bound     int
}

// viewPasser is a rowBuilder that passes its view on. It leaves the columns of graphs unchanged.
type viewPasser interface {
	receive(v *recordView) // called before Begin with the view of the stage before, or nil
	pass() *recordView     // called after the rows of a record
}

// viewer is the part of a viewPasser that has the checked view of the graphs of the current record.
type viewer struct {
	bound *record.Binding
	from  *recordView
	now   recordView
	own   record.Graphs
}

func (v *viewer) receive(from *recordView) { v.from = from }

func (v *viewer) pass() *recordView { return &v.now }

// view takes the checked view of rec from the stage before, or checks rec if there is none.
func (v *viewer) view(rec arrow.Record) error {
	v.now = recordView{graphs: &v.own}
	if v.from != nil {
		v.now.graphs = v.from.graphs
		return nil
	}
	return v.bound.ViewInto(&v.own, rec)
}

// sharedIndex returns the graph that the stage before has indexed, if its index has that direction
// and bound.
func (v *viewer) sharedIndex(d field.Direction, bound int) *sharedGraph {
	if l := v.from; l != nil && l.index != nil && l.direction == d && l.bound == bound {
		return l.index
	}
	return nil
}
