package operators

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
)

// rowBuilder is the part of an operator that handles each row by itself, for one worker. It
// converts between Arrow columns and slices. stageOfRows adds workers, cancellation, refused rows, and
// the columns that pass unchanged. A builder embeds columns, which has Finish and Release.
type rowBuilder interface {
	// Begin is called before the rows of a record. It borrows the record until the last row: a
	// slice that is kept longer has the values of another record (SANFLOW_MEM=poison finds such a
	// use; see package flow).
	Begin(rec arrow.Record) error
	// Row appends the results of a row to all columns, or appends nothing and returns an error,
	// which refuses the row. A long computation checks ctx and returns its error.
	Row(ctx context.Context, row int) error
	// Finish returns the columns of the rows since its last call, by name. The caller owns them and
	// uses the map before the next call.
	Finish() map[string]arrow.Array
	// Release frees the rows since the last Finish. It is called once at the end of the run.
	Release()
	// replacesGraphs reports whether a column of graphs is among those of Finish.
	replacesGraphs() bool
}

// columns are the columns that a rowBuilder makes, by name.
type columns struct {
	list []namedColumn
	made map[string]arrow.Array // result of Finish, reused for all records
}

type namedColumn struct {
	name string
	column
}

// column is a builder of package record.
type column interface {
	Finish() arrow.Array
	Release()
}

// addColumn adds a column without rows to c and returns it.
func addColumn[C column](c *columns, name string, empty C) C {
	c.list = append(c.list, namedColumn{name, empty})
	return empty
}

func (c *columns) Finish() map[string]arrow.Array {
	if c.made == nil {
		c.made = map[string]arrow.Array{}
	}
	for _, one := range c.list {
		c.made[one.name] = one.Finish()
	}
	return c.made
}

func (c *columns) Release() {
	for _, one := range c.list {
		one.Release()
	}
}

func (c *columns) replacesGraphs() bool {
	return slices.ContainsFunc(c.list, func(one namedColumn) bool { return slices.Contains(graphColumns, one.name) })
}

// noter is a rowBuilder with counts for the statistics of the run.
type noter interface {
	// notes calls note with each count since its last call.
	notes(note func(event string, n int64))
}

// stageOfRows returns a stage that runs the builders of begin, one for each worker. begin is called at the first record and
// allocates columns in mem. schema is the output schema. It may have the columns that Finish returns and columns of the input,
// which are shared and not copied.
func stageOfRows(schema *arrow.Schema, begin func(mem memory.Allocator) rowBuilder) flow.Stage {
	return &rowStage{schema: schema, begin: begin}
}

type rowStage struct {
	schema *arrow.Schema
	begin  func(mem memory.Allocator) rowBuilder
	b      rowBuilder // nil before the first record
	passer viewPasser // b, unless it has no view of graphs or changes them
}

func (s *rowStage) Schema() *arrow.Schema { return s.schema }

func (s *rowStage) Fork() flow.Stage { return &rowStage{schema: s.schema, begin: s.begin} }

func (s *rowStage) Close() error {
	if s.b != nil {
		s.b.Release()
	}
	return nil
}

// Process emits one record, or one for each run of rows between refused ones.
func (s *rowStage) Process(rec arrow.Record, out *flow.Out) error {
	if s.b == nil {
		s.b = s.begin(out.Allocator())
		if !s.b.replacesGraphs() {
			s.passer, _ = s.b.(viewPasser)
		}
	}
	if b, ok := s.b.(viewPasser); ok {
		v, _ := out.Shared().(*recordView)
		b.receive(v)
	}
	if err := s.b.Begin(rec); err != nil {
		var bad *record.RowError
		if errors.As(err, &bad) { // package flow adds the position of the graph to the error
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
	} else if s.passer != nil {
		defer out.Share(nil)
		out.Share(s.passer.pass())
	}
	made, err := record.Project(s.schema, rec, s.b.Finish())
	if err != nil {
		return err
	}
	return out.Emit(made)
}

// listColumn is the common part of a rowBuilder that reads graphs and makes one column of lists.
type listColumn[T record.Value] struct {
	columns
	viewer
	Lists *record.Lists[T]
}

func newListColumn[T record.Value](mem memory.Allocator, name string, bound *record.Binding) (c listColumn[T]) {
	c.bound = bound
	c.Lists = addColumn(&c.columns, name, record.NewLists[T](mem))
	return c
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

// viewPasser is a rowBuilder that passes its view on, unless it changes the columns of graphs.
type viewPasser interface {
	receive(v *recordView) // takes the view of the stage before, or nil; called before Begin
	pass() *recordView     // returns the view for the next stage; called after the rows of a record
}

// viewer is the part of a rowBuilder that has the checked view of the graphs of the current record.
type viewer struct {
	bound *record.Binding
	from  *recordView
	now   recordView
	own   record.Graphs
}

func (v *viewer) receive(from *recordView) { v.from = from }

func (v *viewer) pass() *recordView { return &v.now }

// Begin takes the checked view of rec from the stage before, or checks rec if there is none.
func (v *viewer) Begin(rec arrow.Record) error {
	v.now = recordView{graphs: &v.own}
	if v.from != nil {
		v.now.graphs = v.from.graphs
		return nil
	}
	return v.bound.ViewInto(&v.own, rec)
}

// graph returns the graph of a row of the current record, which owns its memory.
func (v *viewer) graph(row int) (g graph.Graph) {
	v.now.graphs.At(row, &g)
	return g
}

// sharedIndex returns the graph that the stage before has indexed, if its index has that direction
// and bound.
func (v *viewer) sharedIndex(d field.Direction, bound int) *sharedGraph {
	if l := v.from; l != nil && l.index != nil && l.direction == d && l.bound == bound {
		return l.index
	}
	return nil
}
