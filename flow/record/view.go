package record

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// place returns the index of the only column of that name.
func place(s *arrow.Schema, name string) (int, error) {
	at := s.FieldIndices(name)
	switch len(at) {
	case 0:
		return 0, fmt.Errorf("record: no column %q; there are %v", name, fieldNames(s))
	case 1:
		return at[0], nil
	}
	return 0, fmt.Errorf("record: %d columns %q, want one", len(at), name)
}

func fieldNames(s *arrow.Schema) []string {
	names := make([]string, s.NumFields())
	for i := range names {
		names[i] = s.Field(i).Name
	}
	return names
}

// plain returns the values of a flat array from its offset on.
func plain[T Value](a arrow.Array) ([]T, error) {
	var v any
	switch a := a.(type) {
	case *array.Uint8:
		v = a.Uint8Values()
	case *array.Int32:
		v = a.Int32Values()
	case *array.Int64:
		v = a.Int64Values()
	case *array.Float32:
		v = a.Float32Values()
	case *array.Uint64:
		v = a.Uint64Values()
	case *array.Float64:
		v = a.Float64Values()
	}
	s, ok := v.([]T)
	if !ok {
		return nil, fmt.Errorf("values are %s, want %s", a.DataType(), typeOf[T]())
	}
	if a.NullN() > 0 {
		return nil, fmt.Errorf("there are %d null values, want none", a.NullN())
	}
	return s, nil
}

// view returns the result of read for the only column of that name, which must be an A without nulls.
func view[A arrow.Array, V any](rec arrow.Record, name string, read func(A) (V, error)) (V, error) {
	at, err := place(rec.Schema(), name)
	if err != nil {
		var none V
		return none, err
	}
	return viewAt(rec, at, name, read)
}

// viewAt returns the result of read for column at, which must be an A without nulls.
func viewAt[A arrow.Array, V any](rec arrow.Record, at int, name string, read func(A) (V, error)) (V, error) {
	var none V
	if at >= int(rec.NumCols()) || rec.ColumnName(at) != name {
		return none, fmt.Errorf("record: there is no column %q at place %d, where the schema of the stream has it", name, at)
	}
	col := rec.Column(at)
	a, ok := col.(A)
	if !ok {
		return none, fmt.Errorf("record: column %q is %s, want %T", name, col.DataType(), a)
	}
	if n := col.NullN(); n > 0 {
		return none, fmt.Errorf("record: column %q has %d nulls, want none", name, n)
	}
	v, err := read(a)
	if err != nil {
		return none, fmt.Errorf("record: column %q: %w", name, err)
	}
	return v, nil
}

// Values returns the column of one T per row. The slice is borrowed from rec.
func Values[T Value](rec arrow.Record, name string) ([]T, error) {
	return view(rec, name, plain[T])
}

// FixedValues returns a fixed-size-list column as one (rows, width) row-major
// slice, borrowed from rec.
func FixedValues[T Value](rec arrow.Record, name string) (v []T, width int, err error) {
	v, err = view(rec, name, func(col *array.FixedSizeList) ([]T, error) {
		width = int(col.DataType().(*arrow.FixedSizeListType).Len())
		return fixedValues[T](col)
	})
	return v, width, err
}

// fixedValues returns the values of a fixed-size list. Arrow's ListValues ignores the offset of a
// sliced array; this function applies it.
func fixedValues[T Value](col *array.FixedSizeList) ([]T, error) {
	width := int(col.DataType().(*arrow.FixedSizeListType).Len())
	all, err := plain[T](col.ListValues())
	if err != nil {
		return nil, err
	}
	from, to := col.Offset()*width, (col.Offset()+col.Len())*width
	if to > len(all) {
		return nil, fmt.Errorf("there are %d values, want %d rows × %d", len(all), col.Len(), width)
	}
	return all[from:to:to], nil
}

// ListView reads a column of lists, row by row.
type ListView[T Value] struct {
	ends []int32 // offsets into v, one more than rows
	v    []T
}

// ListsOf returns a view of a list column, borrowed from rec. Offsets that
// leave the values or fall are an error, so that Row cannot fail.
func ListsOf[T Value](rec arrow.Record, name string) (ListView[T], error) {
	return view(rec, name, listView[T])
}

func listView[T Value](col *array.List) (ListView[T], error) {
	v, err := plain[T](col.ListValues())
	if err != nil {
		return ListView[T]{}, err
	}
	ends, err := listEnds(col, len(v))
	return ListView[T]{ends, v}, err
}

func listEnds(col *array.List, values int) ([]int32, error) {
	ends, err := offsetsOf(col)
	last := int32(0)
	for row, end := range ends {
		if end < last || int(end) > values {
			return nil, fmt.Errorf("row %d: offset %d outside %d to %d", row, end, last, values)
		}
		last = end
	}
	return ends, err
}

// offsetsOf returns the unchecked offsets of the rows, at least one.
func offsetsOf(col *array.List) ([]int32, error) {
	all, rows := col.Offsets(), col.Len()
	if len(all) == 0 && rows == 0 {
		return []int32{0}, nil
	}
	if len(all) < col.Offset()+rows+1 {
		return nil, fmt.Errorf("there are %d offsets, want %d", len(all), col.Offset()+rows+1)
	}
	return all[col.Offset() : col.Offset()+rows+1], nil
}

// Len returns the number of rows.
func (l ListView[T]) Len() int { return len(l.ends) - 1 }

// Row returns the list of a row.
func (l ListView[T]) Row(row int) []T { return l.v[l.ends[row]:l.ends[row+1]] }

// NestedView reads a column of lists of lists.
type NestedView[T Value] struct {
	ends  []int32
	inner ListView[T]
}

// NestedOf returns a view of a column of lists of lists, borrowed from rec.
func NestedOf[T Value](rec arrow.Record, name string) (NestedView[T], error) {
	return view(rec, name, nestedView[T])
}

func nestedView[T Value](col *array.List) (NestedView[T], error) {
	child, ok := col.ListValues().(*array.List)
	if !ok {
		return NestedView[T]{}, fmt.Errorf("it is %s, want %s", col.DataType(), NestedType[T]())
	}
	if child.NullN() > 0 {
		return NestedView[T]{}, fmt.Errorf("there are %d null lists, want none", child.NullN())
	}
	inner, err := listView[T](child)
	if err != nil {
		return NestedView[T]{}, err
	}
	ends, err := listEnds(col, child.Len())
	return NestedView[T]{ends, inner}, err
}

// Len returns the number of rows.
func (l NestedView[T]) Len() int { return len(l.ends) - 1 }

// RowLen returns the number of lists in a row.
func (l NestedView[T]) RowLen(row int) int { return int(l.ends[row+1] - l.ends[row]) }

// Row returns the lists of a row as they lie in memory: list i is
// v[ends[i]:ends[i+1]]. ends need not start at 0.
func (l NestedView[T]) Row(row int) (ends []int32, v []T) {
	return l.inner.ends[l.ends[row] : l.ends[row+1]+1], l.inner.v
}

// All returns the lists of all rows, one after the other.
func (l NestedView[T]) All() (ends []int32, v []T) {
	rows := l.Len()
	return l.inner.ends[l.ends[0] : l.ends[rows]+1], l.inner.v
}

// At returns list i of a row.
func (l NestedView[T]) At(row, i int) []T { return l.inner.Row(int(l.ends[row]) + i) }
