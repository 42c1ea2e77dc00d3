package record

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
)

// Graphs is a view of the graphs in a record.
type Graphs struct {
	Layout             Layout
	ids, pos           []int64
	offsets, neighbors ListView[int32]
	nodeCat, edgeCat   ListView[int32]
	nodeAttr, edgeAttr ListView[float32]
	nodeSparse         NestedView[int32]
	nodeTarget         ListView[int32]
}

// GraphsOf returns a view of the graphs in rec, borrowed from it. It checks
// types, nulls and the lengths of each row, which costs O(rows): what a
// trusted source wrote is then safe to walk. Rows of unknown origin are
// checked node by node with graph.Graph.Check.
func GraphsOf(rec arrow.Record) (*Graphs, error) {
	l, err := LayoutOf(rec.Schema())
	if err != nil {
		return nil, err
	}
	g := &Graphs{Layout: l}
	get := func(f func() error) {
		if err == nil {
			err = f()
		}
	}
	get(func() error { g.ids, err = Values[int64](rec, GraphID); return err })
	get(func() error { g.pos, err = Values[int64](rec, Pos); return err })
	get(func() error { g.offsets, err = ListsOf[int32](rec, Offsets); return err })
	get(func() error { g.neighbors, err = ListsOf[int32](rec, Neighbors); return err })
	if len(l.NodeCat) > 0 {
		get(func() error { g.nodeCat, err = ListsOf[int32](rec, NodeCat); return err })
	}
	if len(l.NodeAttr) > 0 {
		get(func() error { g.nodeAttr, err = ListsOf[float32](rec, NodeAttr); return err })
	}
	if len(l.EdgeCat) > 0 {
		get(func() error { g.edgeCat, err = ListsOf[int32](rec, EdgeCat); return err })
	}
	if len(l.EdgeAttr) > 0 {
		get(func() error { g.edgeAttr, err = ListsOf[float32](rec, EdgeAttr); return err })
	}
	if l.NodeSparse.Card > 0 {
		get(func() error { g.nodeSparse, err = NestedOf[int32](rec, NodeSparse); return err })
	}
	if len(l.NodeClasses) > 0 {
		get(func() error { g.nodeTarget, err = ListsOf[int32](rec, NodeTarget); return err })
	}
	if err != nil {
		return nil, err
	}
	for row := range g.Len() {
		if err := g.checkRow(row); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *Graphs) checkRow(row int) error {
	o, m := g.offsets.Row(row), len(g.neighbors.Row(row))
	n := len(o) - 1
	if n < 0 || o[0] != 0 || int(o[n]) != m {
		return fmt.Errorf("record: graph %d: offsets do not span its %d neighbors", g.ids[row], m)
	}
	check := func(name string, got, rows int, c []Channel) error {
		if len(c) > 0 && got != rows*len(c) {
			return fmt.Errorf("record: graph %d: %s has %d values, want %d × %d", g.ids[row], name, got, rows, len(c))
		}
		return nil
	}
	if g.Layout.NodeSparse.Card > 0 && g.nodeSparse.RowLen(row) != n {
		return fmt.Errorf("record: graph %d: %s has %d lists, want %d", g.ids[row], NodeSparse, g.nodeSparse.RowLen(row), n)
	}
	if got := len(g.NodeClass(row)); len(g.Layout.NodeClasses) > 0 && got != n {
		return fmt.Errorf("record: graph %d: %s has %d values, want %d", g.ids[row], NodeTarget, got, n)
	}
	var h graph.Graph
	g.At(row, &h)
	for _, err := range []error{
		check(NodeCat, len(h.NodeCat), n, g.Layout.NodeCat),
		check(NodeAttr, len(h.NodeAttr), n, g.Layout.NodeAttr),
		check(EdgeCat, len(h.EdgeCat), m, g.Layout.EdgeCat),
		check(EdgeAttr, len(h.EdgeAttr), m, g.Layout.EdgeAttr),
	} {
		if err != nil {
			return err
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

// NodeClass returns the class of each node, -1 where it is not known, and nil
// where the layout has no NodeClasses. It borrows from the record.
func (g *Graphs) NodeClass(row int) []int32 {
	if len(g.Layout.NodeClasses) == 0 {
		return nil
	}
	return g.nodeTarget.Row(row)
}

// At points dst at the graph of a row; dst borrows from the record.
func (g *Graphs) At(row int, dst *graph.Graph) {
	*dst = graph.Graph{
		Offsets:   g.offsets.Row(row),
		Neighbors: g.neighbors.Row(row),
		NodeCats:  len(g.Layout.NodeCat),
		NodeAttrs: len(g.Layout.NodeAttr),
		EdgeCats:  len(g.Layout.EdgeCat),
		EdgeAttrs: len(g.Layout.EdgeAttr),
		Directed:  g.Layout.Directed,
	}
	if dst.NodeCats > 0 {
		dst.NodeCat = g.nodeCat.Row(row)
	}
	if dst.NodeAttrs > 0 {
		dst.NodeAttr = g.nodeAttr.Row(row)
	}
	if dst.EdgeCats > 0 {
		dst.EdgeCat = g.edgeCat.Row(row)
	}
	if dst.EdgeAttrs > 0 {
		dst.EdgeAttr = g.edgeAttr.Row(row)
	}
	if dst.SparseCard = g.Layout.NodeSparse.Card; dst.SparseCard > 0 {
		dst.SparseOffsets, dst.NodeSparse = g.nodeSparse.Row(row)
	}
}

// Row is what a source knows of a graph beside its structure and attributes.
type Row struct {
	ID, Pos int64
	Class   int32   // target, where the layout has classes
	Value   float32 // target, where the layout is Real
	// NodeClass is the class of each node, where the layout has NodeClasses; -1
	// where it is not known.
	NodeClass []int32
}

// Builder collects graphs into a record.
type Builder struct {
	layout             Layout
	schema             *arrow.Schema
	rows               int
	ids, pos           *Column[int64]
	offsets, neighbors *Lists[int32]
	nodeCat, edgeCat   *Lists[int32]
	nodeAttr, edgeAttr *Lists[float32]
	class              *Column[int32]
	value              *Column[float32]
	nodeClass          *Lists[int32]
	nodeSparse         *Nested[int32]
}

// NewBuilder returns a builder of records of that layout in mem.
func NewBuilder(mem memory.Allocator, l Layout) *Builder {
	return &Builder{
		layout: l, schema: l.Schema(),
		ids: NewColumn[int64](mem), pos: NewColumn[int64](mem),
		offsets: NewLists[int32](mem), neighbors: NewLists[int32](mem),
		nodeCat: NewLists[int32](mem), edgeCat: NewLists[int32](mem),
		nodeAttr: NewLists[float32](mem), edgeAttr: NewLists[float32](mem),
		class: NewColumn[int32](mem), value: NewColumn[float32](mem),
		nodeClass: NewLists[int32](mem), nodeSparse: NewNested[int32](mem),
	}
}

// Schema returns the schema of the records that are built.
func (b *Builder) Schema() *arrow.Schema { return b.schema }

// Rows returns the number of graphs since the last Record.
func (b *Builder) Rows() int { return b.rows }

// Fits reports whether g can be added before a list column would leave
// Arrow's 32-bit offsets; if not, take the Record first.
func (b *Builder) Fits(g *graph.Graph) bool {
	fits := func(have, more int) bool { return have+more <= math.MaxInt32 }
	return fits(b.offsets.Len(), len(g.Offsets)) && fits(b.neighbors.Len(), len(g.Neighbors)) &&
		fits(b.nodeCat.Len(), len(g.NodeCat)) && fits(b.nodeAttr.Len(), len(g.NodeAttr)) &&
		fits(b.edgeCat.Len(), len(g.EdgeCat)) && fits(b.edgeAttr.Len(), len(g.EdgeAttr)) &&
		fits(b.nodeSparse.inner.Len(), len(g.NodeSparse))
}

// Append copies a graph into the record under construction. A graph whose
// attributes are not those of the layout is an error, and changes nothing.
func (b *Builder) Append(g *graph.Graph, r Row) error {
	l := &b.layout
	switch {
	case g.NodeCats != len(l.NodeCat) || g.NodeAttrs != len(l.NodeAttr) || g.EdgeCats != len(l.EdgeCat) || g.EdgeAttrs != len(l.EdgeAttr):
		return fmt.Errorf("record: graph %d has %d+%d node and %d+%d edge attributes, want %d+%d and %d+%d", r.ID,
			g.NodeCats, g.NodeAttrs, g.EdgeCats, g.EdgeAttrs,
			len(l.NodeCat), len(l.NodeAttr), len(l.EdgeCat), len(l.EdgeAttr))
	case g.SparseCard != l.NodeSparse.Card:
		return fmt.Errorf("record: graph %d has a sparse attribute of %d indices, want %d", r.ID, g.SparseCard, l.NodeSparse.Card)
	case g.Directed != l.Directed:
		return fmt.Errorf("record: graph %d: directed is %t, want %t", r.ID, g.Directed, l.Directed)
	case len(l.NodeClasses) > 0 && len(r.NodeClass) != g.N():
		return fmt.Errorf("record: graph %d has %d node classes, want %d", r.ID, len(r.NodeClass), g.N())
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
	b.nodeCat.Append(g.NodeCat)
	b.nodeAttr.Append(g.NodeAttr)
	b.edgeCat.Append(g.EdgeCat)
	b.edgeAttr.Append(g.EdgeAttr)
	b.class.Append(r.Class)
	b.value.Append(r.Value)
	b.nodeClass.Append(r.NodeClass)
	if g.SparseCard > 0 {
		for v := range int32(g.N()) {
			b.nodeSparse.Append(g.Sparse(v))
		}
		b.nodeSparse.EndRow()
	}
	return nil
}

// Record returns the graphs since the last call, which the caller owns.
func (b *Builder) Record() arrow.Record {
	defer b.Release()
	cols := []arrow.Array{b.ids.Finish(), b.pos.Finish(), b.offsets.Finish(), b.neighbors.Finish()}
	l := &b.layout
	for _, c := range []struct {
		has    bool
		finish func() arrow.Array
	}{
		{len(l.NodeCat) > 0, b.nodeCat.Finish},
		{len(l.NodeAttr) > 0, b.nodeAttr.Finish},
		{l.NodeSparse.Card > 0, b.nodeSparse.Finish},
		{len(l.EdgeCat) > 0, b.edgeCat.Finish},
		{len(l.EdgeAttr) > 0, b.edgeAttr.Finish},
		{l.Real, b.value.Finish},
		{!l.Real && len(l.Classes) > 0, b.class.Finish},
		{len(l.NodeClasses) > 0, b.nodeClass.Finish},
	} {
		if c.has {
			cols = append(cols, c.finish())
		}
	}
	return newRecord(b.schema, cols, b.rows)
}

// Release drops the graphs since the last Record.
func (b *Builder) Release() {
	b.rows = 0
	for _, c := range []interface{ Release() }{
		b.ids, b.pos, b.offsets, b.neighbors, b.nodeCat, b.edgeCat, b.nodeAttr, b.edgeAttr, b.class, b.value, b.nodeClass,
		b.nodeSparse,
	} {
		c.Release()
	}
}

// newRecord makes a record of columns that it takes over.
func newRecord(s *arrow.Schema, cols []arrow.Array, rows int) arrow.Record {
	rec := array.NewRecord(s, cols, int64(rows))
	for _, c := range cols {
		c.Release()
	}
	return rec
}
