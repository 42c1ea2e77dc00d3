package record

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
)

// textType is the type of a column of lists of strings.
var textType arrow.DataType = arrow.ListOf(arrow.BinaryTypes.String)

// IDsType is the Arrow type of a column of lists of ids: list<int64> or list<utf8>, and
// nil without ids.
func IDsType(kind graph.IDKind) arrow.DataType {
	switch kind {
	case graph.Int64IDs:
		return ListType[int64]()
	case graph.StringIDs:
		return textType
	}
	return nil
}

// IDsField returns the field of a column of lists of ids whose rows have the given shape,
// such as root_ids; kind is not NoIDs.
func IDsField(name string, shape []int, kind graph.IDKind) arrow.Field {
	return arrow.Field{Name: name, Type: IDsType(kind), Metadata: meta(MetaShape, shape)}
}

// IDs builds a column of one list of ids per row.
type IDs struct {
	ints *Lists[int64]  // nil for strings
	text *Nested[uint8] // nil for integers
}

// NewIDs returns an empty column of lists of ids of a kind, which is not NoIDs, in mem.
func NewIDs(mem memory.Allocator, kind graph.IDKind) *IDs {
	switch kind {
	case graph.Int64IDs:
		return &IDs{ints: NewLists[int64](mem)}
	case graph.StringIDs:
		return &IDs{text: NewNested[uint8](mem)}
	}
	panic(fmt.Sprintf("record: a column of ids of the kind %q", kind))
}

// Append adds a row that holds ids, which are of the kind of the column.
func (b *IDs) Append(ids graph.IDs) {
	if b.ints != nil {
		b.ints.Append(ids.Ints())
		return
	}
	if ends, text := ids.Text(); len(ends) > 0 {
		b.text.inner.appendAll(ends, text)
		b.text.n += ids.Len()
	}
	b.text.EndRow()
}

// AppendOf adds a row that holds the ids of some nodes, and for a node of -1 the id 0 or
// the empty string.
func (b *IDs) AppendOf(ids graph.IDs, nodes []int32) {
	if b.ints != nil {
		row := b.ints.Grow(len(nodes))
		for i, v := range nodes {
			if v >= 0 {
				row[i] = ids.Ints()[v]
			}
		}
		return
	}
	ends, text := ids.Text()
	for _, v := range nodes {
		var id []byte
		if v >= 0 {
			id = text[ends[v]:ends[v+1]]
		}
		b.text.Append(id)
	}
	b.text.EndRow()
}

// Room reports whether the column stays within Arrow's 32-bit offsets with ids added. Append
// panics if it does not.
func (b *IDs) Room(ids graph.IDs) bool {
	if b.ints != nil {
		return b.ints.room(ids.Len())
	}
	ends, _ := ids.Text()
	size := 0
	if len(ends) > 0 {
		size = int(ends[len(ends)-1] - ends[0])
	}
	return b.text.inner.room(size) && b.text.n+ids.Len() < math.MaxInt32
}

// Finish returns the column, which the caller owns, and empties b.
func (b *IDs) Finish() arrow.Array {
	if b.ints != nil {
		return b.ints.Finish()
	}
	return b.text.finish(textType, textData)
}

// textData returns the lists of a builder as an array of strings.
func textData(b *Lists[uint8]) arrow.ArrayData {
	b.start()
	defer b.Release()
	return array.NewData(arrow.BinaryTypes.String, b.ends.n-1, []*memory.Buffer{nil, b.ends.buffer(), b.v.buffer()}, nil, 0, 0)
}

// lend returns a column of one row that shares the memory of ids.
func (b *IDs) lend(ids graph.IDs) arrow.Array {
	if b.ints != nil {
		return b.ints.lend(ids.Ints())
	}
	ends, text := ids.Text()
	if len(ends) == 0 {
		ends = []int32{0}
	}
	b.text.n = ids.Len()
	b.text.EndRow()
	return b.text.finish(textType, func(*Lists[uint8]) arrow.ArrayData {
		return array.NewData(arrow.BinaryTypes.String, ids.Len(), []*memory.Buffer{nil, lent(ends), lent(text)}, nil, 0, 0)
	})
}

// Release frees the values since the last Finish.
func (b *IDs) Release() {
	if b.ints != nil {
		b.ints.Release()
		return
	}
	b.text.Release()
}

// IDsView reads a column of lists of ids, row by row.
type IDsView struct {
	ints ListView[int64]
	text NestedView[uint8] // the zero value for integers
}

// IDsOfColumn returns a view of a column of lists of ids, borrowed from rec. Offsets of
// rows that leave the values or fall are an error. The offsets of strings in the text,
// and the text, are for graph.IDs.Check.
func IDsOfColumn(rec arrow.Record, name string) (IDsView, error) {
	return view(rec, name, idsView)
}

func idsView(col *array.List) (v IDsView, err error) {
	text, ok := col.ListValues().(*array.String)
	if !ok {
		v.ints, err = listView[int64](col)
		return v, err
	}
	if text.NullN() > 0 {
		return v, fmt.Errorf("there are %d null values, want none", text.NullN())
	}
	if v.text.ends, err = listEnds(col, text.Len()); err != nil {
		return v, err
	}
	v.text.inner.ends, v.text.inner.v, err = textOf(text)
	return v, err
}

// textOf returns the offsets, one more than there are strings, and the text.
func textOf(col *array.String) (ends []int32, text []byte, err error) {
	data := col.Data()
	buffers := data.Buffers()
	if buffers[1] != nil {
		ends = cast[int32](buffers[1].Bytes())
	}
	if buffers[2] != nil {
		text = buffers[2].Bytes()
	}
	from, n := data.Offset(), data.Len()
	if len(ends) == 0 && n == 0 {
		return []int32{0}, text, nil
	}
	if len(ends) < from+n+1 {
		return nil, nil, fmt.Errorf("there are %d offsets of strings, want %d", len(ends), from+n+1)
	}
	return ends[from : from+n+1], text, nil
}

// Len returns the number of rows.
func (v *IDsView) Len() int { return max(len(v.ints.ends), len(v.text.ends)) - 1 }

// Row returns the ids of a row.
func (v *IDsView) Row(row int) graph.IDs {
	if v.text.ends == nil {
		return graph.IDsOf(v.ints.Row(row))
	}
	return graph.IDsOfText(v.text.Row(row))
}

// nodeIDs is the column of the ids of nodes, of one kind.
type nodeIDs struct{ kind graph.IDKind }

func (*nodeIDs) in(l *Layout) any { return &l.NodeIDs }

func (c *nodeIDs) column() (string, arrow.DataType) { return NodeIDs, IDsType(c.kind) }

func (*nodeIDs) ofGraph() bool { return false }

func (c *nodeIDs) fits(l *Layout, g *graph.Graph, r *Row) error {
	switch {
	case l.NodeIDs != c.kind:
	case r.NodeID.Len() != g.N():
		return fmt.Errorf("%s has %d values, want %d × 1", NodeIDs, r.NodeID.Len(), g.N())
	case g.N() > 0 && r.NodeID.Kind() != c.kind:
		return fmt.Errorf("%s are of the kind %q, want %q", NodeIDs, r.NodeID.Kind(), c.kind)
	}
	return nil
}

func (*nodeIDs) inRange(_ *Layout, _ *graph.Graph, r *Row) error { return r.NodeID.Check() }

func (c *nodeIDs) part(mem memory.Allocator) part { return &nodeIDsPart{NewIDs(mem, c.kind)} }

func (*nodeIDs) rows(*Layout) rows { return &nodeIDsRows{} }

type nodeIDsPart struct{ *IDs }

func (p *nodeIDsPart) append(_ *graph.Graph, r *Row) { p.Append(r.NodeID) }

func (p *nodeIDsPart) lendOf(_ *graph.Graph, r *Row) arrow.Array { return p.lend(r.NodeID) }

func (p *nodeIDsPart) room(_ *graph.Graph, r *Row) bool { return p.Room(r.NodeID) }

type nodeIDsRows struct{ list IDsView }

func (v *nodeIDsRows) read(rec arrow.Record, place int) (err error) {
	v.list, err = viewAt(rec, place, NodeIDs, idsView)
	return err
}

func (v *nodeIDsRows) check(row, n, _ int) error {
	if got := v.list.Row(row).Len(); got != n {
		return fmt.Errorf("%s has %d values, want %d × 1", NodeIDs, got, n)
	}
	return nil
}

func (v *nodeIDsRows) at(row int, _ *graph.Graph, r *Row) { r.NodeID = v.list.Row(row) }
