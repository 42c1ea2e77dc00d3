package record

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
)

// Ref names one row of one of several records.
type Ref struct {
	Record int32
	Row    int32
}

// Take returns a record of the rows that refs names, in that order, which the caller owns. It
// copies the rows; the cost does not depend on the size of the records. Records of different
// schemas, a column of a type that graph records do not have, and offsets of a taken row
// outside the values are errors.
func Take(mem memory.Allocator, recs []arrow.Record, refs []Ref) (arrow.Record, error) {
	if len(recs) == 0 {
		return nil, errors.New("record: take: no record to take from")
	}
	schema := recs[0].Schema()
	for i, rec := range recs {
		if !rec.Schema().Equal(schema) {
			return nil, fmt.Errorf("record: take: record %d has a schema of its own", i)
		}
	}
	recs, refs = named(recs, refs)
	var cols []arrow.Array
	for i, f := range schema.Fields() {
		src := make([]arrow.Array, len(recs))
		for j, rec := range recs {
			src[j] = rec.Column(i)
		}
		col, err := takeColumn(mem, f.Type, src, refs)
		if err != nil {
			for _, c := range cols {
				c.Release()
			}
			return nil, fmt.Errorf("record: take: column %q: %w", f.Name, err)
		}
		cols = append(cols, col)
	}
	return newRecord(schema, cols, len(refs)), nil
}

// named returns those of recs that refs names, in order of their first mention,
// and refs into these: a caller with thousands of records takes rows out of
// a few.
func named(recs []arrow.Record, refs []Ref) ([]arrow.Record, []Ref) {
	at := make([]int32, len(recs)) // 1 + place in used, or 0
	var used []arrow.Record
	moved := make([]Ref, len(refs))
	for i, r := range refs {
		if at[r.Record] == 0 {
			used = append(used, recs[r.Record])
			at[r.Record] = int32(len(used))
		}
		moved[i] = Ref{Record: at[r.Record] - 1, Row: r.Row}
	}
	return used, moved
}

func takeColumn(mem memory.Allocator, t arrow.DataType, src []arrow.Array, refs []Ref) (arrow.Array, error) {
	item := t
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		item = t.Elem()
	case *arrow.ListType:
		item = t.Elem()
		if l, ok := item.(*arrow.ListType); ok {
			item = l.Elem()
		}
	}
	for _, s := range src {
		if s.NullN() > 0 {
			return nil, fmt.Errorf("there are %d nulls, want none", s.NullN())
		}
	}
	switch item.ID() {
	case arrow.UINT8:
		return take[uint8](mem, t, src, refs)
	case arrow.INT32:
		return take[int32](mem, t, src, refs)
	case arrow.INT64:
		return take[int64](mem, t, src, refs)
	case arrow.FLOAT32:
		return take[float32](mem, t, src, refs)
	case arrow.UINT64:
		return take[uint64](mem, t, src, refs)
	case arrow.FLOAT64:
		return take[float64](mem, t, src, refs)
	case arrow.STRING:
		if sameList(t, textType) {
			return takeText(mem, t, src, refs)
		}
	}
	return nil, fmt.Errorf("rows of %s cannot be taken", t)
}

func take[T Value](mem memory.Allocator, t arrow.DataType, src []arrow.Array, refs []Ref) (arrow.Array, error) {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		width := int(t.Len())
		v, err := each(src, func(a arrow.Array) ([]T, error) { return fixedValues[T](a.(*array.FixedSizeList)) })
		if err != nil {
			return nil, err
		}
		b := NewFixed[T](mem, width)
		dst := b.Extend(len(refs))
		for i, r := range refs {
			copy(dst[i*width:(i+1)*width], v[r.Record][int(r.Row)*width:(int(r.Row)+1)*width])
		}
		return b.finish(t, len(refs)), nil
	case *arrow.ListType:
		if _, nested := t.Elem().(*arrow.ListType); nested {
			return takeNested[T](mem, t, src, refs)
		}
		v, err := each(src, func(a arrow.Array) (loose[T], error) { return looseOf[T](a.(*array.List)) })
		if err != nil {
			return nil, err
		}
		all := 0
		for _, r := range refs {
			row, err := v[r.Record].row(int(r.Row))
			if err != nil {
				return nil, err
			}
			all += len(row)
		}
		if all > math.MaxInt32 {
			return nil, tooLong(all)
		}
		b := NewLists[T](mem)
		for _, r := range refs {
			from, to := v[r.Record].ends[r.Row], v[r.Record].ends[r.Row+1]
			b.Append(v[r.Record].v[from:to])
		}
		return typed(b.Finish(), t), nil
	}
	v, err := each(src, plain[T])
	if err != nil {
		return nil, err
	}
	b := NewColumn[T](mem)
	dst := b.v.grow(len(refs))
	for i, r := range refs {
		dst[i] = v[r.Record][r.Row]
	}
	return b.Finish(), nil
}

func takeNested[T Value](mem memory.Allocator, t arrow.DataType, src []arrow.Array, refs []Ref) (arrow.Array, error) {
	outer, err := each(src, func(a arrow.Array) ([]int32, error) { return offsetsOf(a.(*array.List)) })
	if err != nil {
		return nil, err
	}
	inner, err := each(src, func(a arrow.Array) (loose[T], error) {
		child := a.(*array.List).ListValues().(*array.List)
		if child.NullN() > 0 {
			return loose[T]{}, fmt.Errorf("there are %d null lists, want none", child.NullN())
		}
		return looseOf[T](child)
	})
	if err != nil {
		return nil, err
	}
	lists, values := 0, 0
	for _, r := range refs {
		ends := inner[r.Record].ends
		from, to, err := span(outer[r.Record], int(r.Row), len(ends)-1)
		if err != nil {
			return nil, err
		}
		lists, values = lists+to-from, values+int(ends[to])-int(ends[from])
	}
	if all := max(lists, values); all > math.MaxInt32 {
		return nil, tooLong(all)
	}
	b := NewNested[T](mem)
	for _, r := range refs {
		lists := inner[r.Record]
		from, to, err := span(outer[r.Record], int(r.Row), len(lists.ends)-1)
		for i := from; i < to && err == nil; i++ {
			var list []T
			if list, err = lists.row(i); err == nil {
				b.Append(list)
			}
		}
		if err != nil {
			b.Release()
			return nil, err
		}
		b.EndRow()
	}
	return typed(b.Finish(), t), nil
}

// takeText takes rows of strings.
func takeText(mem memory.Allocator, t arrow.DataType, src []arrow.Array, refs []Ref) (arrow.Array, error) {
	outer, err := each(src, func(a arrow.Array) ([]int32, error) { return offsetsOf(a.(*array.List)) })
	if err != nil {
		return nil, err
	}
	type strings struct {
		ends []int32
		text []byte
	}
	inner, err := each(src, func(a arrow.Array) (s strings, err error) {
		child := a.(*array.List).ListValues().(*array.String)
		if child.NullN() > 0 {
			return s, fmt.Errorf("there are %d null values, want none", child.NullN())
		}
		s.ends, s.text, err = textOf(child)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	row := func(r Ref) (graph.IDs, error) {
		s := inner[r.Record]
		from, to, err := span(outer[r.Record], int(r.Row), len(s.ends)-1)
		if err != nil {
			return graph.IDs{}, err
		}
		ids := graph.IDsOfText(s.ends[from:to+1], s.text)
		if err := ids.CheckText(); err != nil {
			return ids, fmt.Errorf("row %d: %w", r.Row, err)
		}
		return ids, nil
	}
	b := NewIDs(mem, graph.StringIDs)
	for _, r := range refs {
		ids, err := row(r)
		if err == nil && !b.Room(ids) {
			err = fmt.Errorf("ids have more than %d bytes in a column: use records of fewer rows", math.MaxInt32)
		}
		if err != nil {
			b.Release()
			return nil, err
		}
		b.Append(ids)
	}
	return typed(b.Finish(), t), nil
}

// typed returns a column of lists as one of that type, which differs in what lists say of
// their items: their name, and whether they may be null. It takes col over.
func typed(col arrow.Array, t arrow.DataType) arrow.Array {
	if col.DataType() == t {
		return col
	}
	defer col.Release()
	data := typedData(col.Data(), t)
	defer data.Release()
	return array.MakeFromData(data)
}

func typedData(d arrow.ArrayData, t arrow.DataType) arrow.ArrayData {
	list, ok := t.(*arrow.ListType)
	if !ok {
		d.Retain()
		return d
	}
	items := typedData(d.Children()[0], list.Elem())
	defer items.Release()
	return array.NewData(t, d.Len(), d.Buffers(), []arrow.ArrayData{items}, d.NullN(), d.Offset())
}

// loose is a column of lists of which only those rows are checked that are asked for.
type loose[T Value] struct {
	ends []int32
	v    []T
}

func looseOf[T Value](col *array.List) (l loose[T], err error) {
	if l.v, err = plain[T](col.ListValues()); err == nil {
		l.ends, err = offsetsOf(col)
	}
	return l, err
}

func (l *loose[T]) row(row int) ([]T, error) {
	from, to, err := span(l.ends, row, len(l.v))
	return l.v[from:to], err
}

// span is where a row begins and ends, of that many values.
func span(ends []int32, row, values int) (from, to int, err error) {
	from, to = int(ends[row]), int(ends[row+1])
	if from < 0 || to < from || to > values {
		return 0, 0, fmt.Errorf("row %d: offsets %d and %d, of %d values", row, from, to, values)
	}
	return from, to, nil
}

func each[A, B any](in []A, f func(A) (B, error)) ([]B, error) {
	out := make([]B, len(in))
	for i, a := range in {
		var err error
		if out[i], err = f(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}
