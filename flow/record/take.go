package record

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
)

// Release releases records, or arrays.
func Release[T interface{ Release() }](all []T) {
	for _, one := range all {
		one.Release()
	}
}

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
	recs, rows := named(recs, refs)
	var cols []arrow.Array
	for i, f := range schema.Fields() {
		src := make([]arrow.Array, len(recs))
		for j, rec := range recs {
			src[j] = rec.Column(i)
		}
		col, err := takeColumn(mem, f.Type, src, rows)
		if err != nil {
			Release(cols)
			return nil, fmt.Errorf("record: take: column %q: %w", f.Name, err)
		}
		cols = append(cols, col)
	}
	return newRecord(schema, cols, len(refs)), nil
}

// run is a range of rows of one of several arrays.
type run struct {
	src      int32
	from, to int
}

// named returns the records that refs names, in order of first mention, and the ranges of their
// rows, since a caller with thousands of records may take rows of a few. It panics if a row does
// not exist.
func named(recs []arrow.Record, refs []Ref) ([]arrow.Record, []run) {
	at := make([]int32, len(recs)) // index in used plus one, or 0
	var used []arrow.Record
	rows := make([]run, len(refs))
	for i, r := range refs {
		if n := recs[r.Record].NumRows(); r.Row < 0 || int64(r.Row) >= n {
			panic(fmt.Sprintf("record: take: row %d of %d", r.Row, n))
		}
		if at[r.Record] == 0 {
			used = append(used, recs[r.Record])
			at[r.Record] = int32(len(used))
		}
		rows[i] = run{at[r.Record] - 1, int(r.Row), int(r.Row) + 1}
	}
	return used, rows
}

func takeColumn(mem memory.Allocator, t arrow.DataType, src []arrow.Array, rows []run) (arrow.Array, error) {
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
	known := slices.ContainsFunc(plainTypes[:], func(p arrow.DataType) bool { return p.ID() == item.ID() })
	if !known && !sameList(t, textType) {
		return nil, fmt.Errorf("rows of %s cannot be taken", t)
	}
	data, err := takeData(mem, t, src, rows)
	if err != nil {
		return nil, err
	}
	return makeArray(data), nil
}

// takeData copies rows of arrays of type t. The items of adjacent rows are adjacent too, so there
// are as many ranges of items as of rows. Only the offsets of these rows are read.
func takeData(mem memory.Allocator, t arrow.DataType, src []arrow.Array, rows []run) (arrow.ArrayData, error) {
	n := 0
	for _, r := range rows {
		n += r.to - r.from
	}
	if n > math.MaxInt32 {
		return nil, tooLong(n)
	}
	for _, a := range src {
		if a.NullN() > 0 {
			return nil, fmt.Errorf("there are %d nulls, want none", a.NullN())
		}
	}
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		width, inner, lists := int(t.Len()), make([]run, len(rows)), itemsOf(src)
		for i, r := range rows {
			at := src[r.src].Data().Offset()
			inner[i] = run{r.src, (at + r.from) * width, (at + r.to) * width}
			if have := lists[r.src].Len(); inner[i].to > have {
				return nil, fmt.Errorf("there are %d values, want %d rows × %d", have, at+r.to, width)
			}
		}
		child, err := takeData(mem, t.Elem(), lists, inner)
		if err != nil {
			return nil, err
		}
		defer child.Release()
		return array.NewData(t, n, []*memory.Buffer{nil}, []arrow.ArrayData{child}, 0, 0), nil
	case *arrow.ListType:
		return takeLists(mem, t, src, rows)
	case *arrow.StringType:
		return takeText(mem, src, rows)
	}
	size := t.(arrow.FixedWidthDataType).BitWidth() / 8
	v := values[uint8]{mem: mem}
	dst := v.extend(n * size)
	for _, r := range rows {
		if r.from < r.to { // without values the buffer may be nil
			d := src[r.src].Data()
			at := d.Offset()
			dst = dst[copy(dst, d.Buffers()[1].Bytes()[(at+r.from)*size:(at+r.to)*size]):]
		}
	}
	defer v.release()
	return array.NewData(t, n, []*memory.Buffer{nil, v.buffer()}, nil, 0, 0), nil
}

// itemsOf returns the items of arrays of lists.
func itemsOf(lists []arrow.Array) []arrow.Array {
	items := make([]arrow.Array, len(lists))
	for i, l := range lists {
		items[i] = l.(array.ListLike).ListValues()
	}
	return items
}

func takeLists(mem memory.Allocator, t *arrow.ListType, src []arrow.Array, rows []run) (arrow.ArrayData, error) {
	ends, inner, lists, total := values[int32]{mem: mem}, make([]run, len(rows)), itemsOf(src), 0
	ends.push(0)
	for i, r := range rows {
		if r.from == r.to { // offsets outside the range may be invalid
			continue
		}
		of, err := offsetsOf(src[r.src].(*array.List))
		for row := r.from; row < r.to && err == nil; row++ {
			var from, to int
			from, to, err = span(of, row, lists[r.src].Len())
			total += to - from
			ends.push(int32(total)) // takeData of the items returns the error if total is too large
		}
		if err != nil {
			ends.release()
			return nil, err
		}
		inner[i] = run{r.src, int(of[r.from]), int(of[r.to])}
	}
	child, err := takeData(mem, t.Elem(), lists, inner)
	if err != nil {
		ends.release()
		return nil, err
	}
	return listData(t, &ends, child), nil
}

func takeText(mem memory.Allocator, src []arrow.Array, rows []run) (arrow.ArrayData, error) {
	b := NewLists[uint8](mem)
	for _, r := range rows {
		if r.from == r.to {
			continue
		}
		ends, text, err := textOf(src[r.src].(*array.String))
		if err == nil {
			ends = ends[r.from : r.to+1]
			err = graph.IDsOfText(ends, text).CheckText()
		}
		if err == nil && !b.room(int(ends[len(ends)-1]-ends[0])) {
			err = fmt.Errorf("ids have more than %d bytes in a column: use records of fewer rows", math.MaxInt32)
		}
		if err != nil {
			b.Release()
			return nil, fmt.Errorf("strings %d to %d: %w", r.from, r.to-1, err)
		}
		b.appendAll(ends, text)
	}
	return textData(b), nil
}

// span returns the range of a row's values. values is the number of all values.
func span(ends []int32, row, values int) (from, to int, err error) {
	from, to = int(ends[row]), int(ends[row+1])
	if from < 0 || to < from || to > values {
		return 0, 0, fmt.Errorf("row %d: offsets %d and %d, of %d values", row, from, to, values)
	}
	return from, to, nil
}

// Split returns a column of lists of type t whose rows are the w equal parts of each row of a column. The values are shared.
// t is the type of the column, with a w-th of the length where that is fixed. The caller owns the result. A row of w parts
// that differ in length is an error; the parts are for Take, which checks their values.
func Split(rec arrow.Record, name string, w int, t arrow.DataType) (arrow.Array, error) {
	return view(rec, name, func(col array.ListLike) (arrow.Array, error) {
		data, rows := col.Data(), col.Len()*w
		buffers, offset := []*memory.Buffer{nil}, data.Offset()*w
		if list, ok := col.(*array.List); ok {
			ends, err := offsetsOf(list)
			if err != nil {
				return nil, err
			}
			parts := append(make([]int32, 0, rows+1), ends[0])
			for row := range col.Len() {
				from, to, err := span(ends, row, list.ListValues().Len())
				if err == nil && (to-from)%w != 0 {
					err = fmt.Errorf("row %d has %d values, want %d equal parts", row, to-from, w)
				}
				if err != nil {
					return nil, err
				}
				for i := range w {
					parts = append(parts, int32(from+(i+1)*(to-from)/w))
				}
			}
			buffers, offset = append(buffers, lent(parts)), 0
		}
		return makeArray(array.NewData(t, rows, buffers, data.Children(), 0, offset)), nil
	})
}
