package record

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
)

// Binding is the layout that a schema describes, read once. It is safe for concurrent use.
type Binding struct {
	Layout Layout
	basics [4]int // index in the schema of each column in the variable basics
	kinds  []boundKind
}

// Bind reads a schema, as an operator does in Open; View then reads records.
func Bind(s *arrow.Schema) (*Binding, error) {
	l, err := LayoutOf(s)
	if err != nil {
		return nil, err
	}
	b := &Binding{Layout: l}
	for i, f := range basics {
		b.basics[i] = s.FieldIndices(f.Name)[0]
	}
	for _, k := range l.kinds() {
		name, _ := k.column()
		b.kinds = append(b.kinds, boundKind{k, s.FieldIndices(name)[0], k.ofGraph()})
	}
	return b, nil
}

// boundKind is a kind of column with the index of its column in a schema, and the result of ofGraph.
type boundKind struct {
	kind
	place int
	graph bool
}

// Graphs is a view of the graphs in a record.
type Graphs struct {
	Layout             Layout
	ids, pos           []int64
	offsets, neighbors ListView[int32]
	ofGraph, ofRow     []rows // views of the kinds of the binding

	of  *Binding
	all []rows // ofGraph and ofRow in the order of the binding
}

// GraphsOf is Bind and View for a single record.
func GraphsOf(rec arrow.Record) (*Graphs, error) {
	b, err := Bind(rec.Schema())
	if err != nil {
		return nil, err
	}
	return b.View(rec)
}

// View returns a view of the graphs in rec, whose schema is the one that was bound, borrowed from
// it. It checks types, nulls and the lengths of each row in O(rows). Data of a trusted source are
// then safe to traverse. Rows of unknown origin are checked node by node with graph.Graph.Check.
func (b *Binding) View(rec arrow.Record) (*Graphs, error) {
	g := new(Graphs)
	if err := b.ViewInto(g, rec); err != nil {
		return nil, err
	}
	return g, nil
}

// ViewInto is View for one record after the other: it makes g, the zero Graphs or the
// view of another record, the view of rec, in the memory that it has. After an error
// nothing but ViewInto may be called with g.
func (b *Binding) ViewInto(g *Graphs, rec arrow.Record) error {
	if err := b.read(g, rec); err != nil {
		return err
	}
	for row := range g.Len() {
		if err := g.checkRow(row); err != nil {
			return &RowError{row, g.ids[row], err}
		}
	}
	return nil
}

// RowError is the error of View about one row.
type RowError struct {
	Row int
	ID  int64 // number of the graph
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("record: graph %d: %v", e.ID, e.Err) }

func (e *RowError) Unwrap() error { return e.Err }

// Unchecked is View without the check of rows: a row is to be walked only after
// Graphs.Check has found nothing.
func (b *Binding) Unchecked(rec arrow.Record) (*Graphs, error) {
	g := new(Graphs)
	if err := b.read(g, rec); err != nil {
		return nil, err
	}
	return g, nil
}

// read sets the views of g to the columns of rec.
func (b *Binding) read(g *Graphs, rec arrow.Record) (err error) {
	if g.of != b {
		b.start(g)
	}
	at := b.basics
	if g.ids, err = viewAt(rec, at[0], GraphID, plain[int64]); err != nil {
		return err
	}
	if g.pos, err = viewAt(rec, at[1], Pos, plain[int64]); err != nil {
		return err
	}
	if g.offsets, err = viewAt(rec, at[2], Offsets, listView[int32]); err != nil {
		return err
	}
	if g.neighbors, err = viewAt(rec, at[3], Neighbors, listView[int32]); err != nil {
		return err
	}
	for i, v := range g.all {
		if err := v.read(rec, b.kinds[i].place); err != nil {
			return err
		}
	}
	return nil
}

// start resets g to a view of no record.
func (b *Binding) start(g *Graphs) {
	*g = Graphs{Layout: b.Layout, of: b}
	for _, k := range b.kinds {
		v := k.rows(&b.Layout)
		g.all = append(g.all, v)
		if k.graph {
			g.ofGraph = append(g.ofGraph, v)
		} else {
			g.ofRow = append(g.ofRow, v)
		}
	}
}

// Check returns the first violation of the rules in a row: lengths of columns, the rules of
// package graph, and indices and classes outside the layout. O(n + m log m).
func (g *Graphs) Check(row int) error {
	if err := g.checkRow(row); err != nil {
		return err
	}
	var h graph.Graph
	g.At(row, &h)
	if err := h.Check(); err != nil {
		return err
	}
	r := g.Row(row)
	return g.Layout.Holds(&h, &r)
}

func (g *Graphs) checkRow(row int) error {
	o, m := g.offsets.Row(row), len(g.neighbors.Row(row))
	n := len(o) - 1
	if n < 0 || o[0] != 0 || int(o[n]) != m {
		return fmt.Errorf("offsets do not span its %d neighbors", m)
	}
	for _, list := range [][]rows{g.ofGraph, g.ofRow} {
		for _, v := range list {
			if err := v.check(row, n, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Len returns the number of rows.
func (g *Graphs) Len() int { return len(g.ids) }

// ID returns the number of the graph of a row.
func (g *Graphs) ID(row int) int64 { return g.ids[row] }

// Nodes returns n, the number of nodes of the graph of a row.
func (g *Graphs) Nodes(row int) int { return len(g.offsets.Row(row)) - 1 }

// NodeClass returns the class of each node, -1 if it is unknown, and nil
// if the layout has no NodeClasses. It borrows from the record.
func (g *Graphs) NodeClass(row int) []int32 { return g.Row(row).NodeClass }

// Row returns the data of a row beside its graph. It borrows from the record.
func (g *Graphs) Row(row int) Row {
	r := Row{ID: g.ids[row], Pos: g.pos[row]}
	for _, v := range g.ofRow {
		v.at(row, nil, &r)
	}
	return r
}

// At points dst at the graph of a row; dst borrows from the record.
func (g *Graphs) At(row int, dst *graph.Graph) {
	*dst = graph.Graph{Offsets: g.offsets.Row(row), Neighbors: g.neighbors.Row(row), Directed: g.Layout.Directed}
	for _, v := range g.ofGraph {
		v.at(row, dst, nil)
	}
}

// Row holds the data of a graph beside its structure and attributes.
type Row struct {
	ID, Pos int64
	Class   int32   // target if the layout has Classes
	Value   float32 // target if the layout is Real
	// Targets has the class or the number of each of Layout.Targets, NaN if it is unknown.
	Targets []float32
	// NodeClass is the class of each node, if the layout has NodeClasses; -1
	// if it is unknown.
	NodeClass []int32
	// NodeID is the id of each node in the source, if the layout has NodeIDs. The ids of a row all
	// differ and are in the order of the source.
	NodeID graph.IDs
}

// Builder collects graphs into a record.
type Builder struct {
	layout             Layout
	err                error // error of the layout
	schema             *arrow.Schema
	rows               int
	ids, pos           *Column[int64]
	offsets, neighbors *Lists[int32]
	kinds              []kind
	parts              []part // columns of the kinds
}

// NewBuilder returns a builder of records of that layout in mem. A layout that Check
// refuses is an error of Append and Lend.
func NewBuilder(mem memory.Allocator, l Layout) *Builder {
	b := &Builder{
		layout: l, schema: l.Schema(), kinds: l.kinds(),
		ids: NewColumn[int64](mem), pos: NewColumn[int64](mem),
		offsets: NewLists[int32](mem), neighbors: NewLists[int32](mem),
	}
	for _, k := range b.kinds {
		b.parts = append(b.parts, k.part(mem))
	}
	b.err = l.check()
	return b
}

// Schema returns the schema of the records that are built.
func (b *Builder) Schema() *arrow.Schema { return b.schema }

// Rows returns the number of graphs since the last Record.
func (b *Builder) Rows() int { return b.rows }

// Fits reports whether a graph can be added before a list column would leave
// Arrow's 32-bit offsets; if not, take the Record first.
func (b *Builder) Fits(g *graph.Graph, r Row) bool { return b.fits(g, &r) }

func (b *Builder) fits(g *graph.Graph, r *Row) bool {
	for _, p := range b.parts {
		if !p.room(g, r) {
			return false
		}
	}
	return b.offsets.room(len(g.Offsets)) && b.neighbors.room(len(g.Neighbors))
}

// accepts returns an error if a graph cannot be added.
func (b *Builder) accepts(g *graph.Graph, r *Row) error {
	err := b.err
	if err == nil {
		err = b.layout.fits(g, r)
	}
	if err == nil && !b.fits(g, r) {
		err = fmt.Errorf("a column of lists would have more than %d values, of %d graphs", math.MaxInt32, b.rows+1)
	}
	if err != nil {
		return fmt.Errorf("record: graph %d: %w", r.ID, err)
	}
	return nil
}

// Append copies a graph into the record under construction. A graph that is not
// of the layout, or does not fit (Fits), is an error, and changes nothing.
func (b *Builder) Append(g *graph.Graph, r Row) error {
	if err := b.accepts(g, &r); err != nil {
		return err
	}
	b.rows++
	b.ids.Append(r.ID)
	b.pos.Append(r.Pos)
	if len(g.Offsets) == 0 {
		b.offsets.Append([]int32{0})
	} else {
		b.offsets.Append(g.Offsets)
	}
	b.neighbors.Append(g.Neighbors)
	for _, p := range b.parts {
		p.append(g, &r)
	}
	return nil
}

// Lend returns a record of this graph alone, which the caller owns. The record shares the
// slices of g and r, except the sparse attribute, so they may not be written to any more. It is
// for graphs of gigabytes and a builder without rows. A graph that does not match the layout is
// an error.
func (b *Builder) Lend(g *graph.Graph, r Row) (arrow.Record, error) {
	if err := b.accepts(g, &r); err != nil {
		return nil, err
	}
	if b.rows > 0 {
		return nil, fmt.Errorf("record: graph %d: to be lent to a record that has %d graphs", r.ID, b.rows)
	}
	defer b.Release()
	b.ids.Append(r.ID)
	b.pos.Append(r.Pos)
	offsets := g.Offsets
	if len(offsets) == 0 {
		offsets = []int32{0}
	}
	cols := []arrow.Array{b.ids.Finish(), b.pos.Finish(), b.offsets.lend(offsets), b.neighbors.lend(g.Neighbors)}
	for _, p := range b.parts {
		if l, ok := p.(lender); ok {
			cols = append(cols, l.lendOf(g, &r))
			continue
		}
		p.append(g, &r)
		cols = append(cols, p.Finish())
	}
	return newRecord(b.schema, cols, 1), nil
}

// Record returns the graphs since the last call, which the caller owns.
func (b *Builder) Record() arrow.Record {
	defer b.Release()
	cols := []arrow.Array{b.ids.Finish(), b.pos.Finish(), b.offsets.Finish(), b.neighbors.Finish()}
	for _, p := range b.parts {
		cols = append(cols, p.Finish())
	}
	return newRecord(b.schema, cols, b.rows)
}

// Release drops the graphs since the last Record.
func (b *Builder) Release() {
	b.rows = 0
	b.ids.Release()
	b.pos.Release()
	b.offsets.Release()
	b.neighbors.Release()
	Release(b.parts)
}
