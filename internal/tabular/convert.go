package tabular

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// array returns a copy of d in mem as a column of type t.
func (d Data) array(mem memory.Allocator, t arrow.DataType, rows int) (arrow.Array, error) {
	switch elem(t).ID() {
	case arrow.UINT8:
		return build[uint8](mem, d, t, rows)
	case arrow.INT32:
		return build[int32](mem, d, t, rows)
	case arrow.INT64:
		return build[int64](mem, d, t, rows)
	case arrow.FLOAT32:
		return build[float32](mem, d, t, rows)
	case arrow.UINT64:
		return build[uint64](mem, d, t, rows)
	case arrow.STRING:
		return buildText(mem, d, rows)
	}
	return nil, fmt.Errorf("%s is no type of records of graphs", t)
}

func build[T record.Value](mem memory.Allocator, d Data, t arrow.DataType, rows int) (arrow.Array, error) {
	v, err := values[T](d.Values)
	if err != nil {
		return nil, err
	}
	if x, ok := any(v).([]float32); ok {
		if err := bounded(x); err != nil {
			return nil, err
		}
	}
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		width := int(t.Len())
		for row := 0; d.Ends[0] != nil && row < rows; row++ { // lists that all must have width values
			if n := int(d.Ends[0][row+1] - d.Ends[0][row]); n != width {
				return nil, fmt.Errorf("row %d has %d values, want %d", row, n, width)
			}
		}
		if d.Ends[0] != nil && rows > 0 {
			v = v[d.Ends[0][0]:d.Ends[0][rows]]
		}
		if len(v) != rows*width {
			return nil, fmt.Errorf("there are %d values, want %d rows × %d", len(v), rows, width)
		}
		b := record.NewFixed[T](mem, width)
		copy(b.Extend(rows), v)
		return b.Finish(), nil
	case *arrow.ListType:
		if t.Elem().ID() != arrow.LIST {
			b := record.NewLists[T](mem)
			for row := range rows {
				b.Append(v[d.Ends[0][row]:d.Ends[0][row+1]])
			}
			return b.Finish(), nil
		}
		b := record.NewNested[T](mem)
		for row := range rows {
			for i := d.Ends[0][row]; i < d.Ends[0][row+1]; i++ {
				b.Append(v[d.Ends[1][i]:d.Ends[1][i+1]])
			}
			b.EndRow()
		}
		return b.Finish(), nil
	}
	if len(v) != rows {
		return nil, fmt.Errorf("there are %d values, want %d", len(v), rows)
	}
	b := record.NewColumn[T](mem)
	b.Append(v...)
	return b.Finish(), nil
}

// buildText returns lists of strings, which must be UTF-8.
func buildText(mem memory.Allocator, d Data, rows int) (arrow.Array, error) {
	text, ok := d.Values.(Text)
	if !ok {
		return nil, fmt.Errorf("values are %T, want strings", d.Values)
	}
	b := record.NewIDs(mem, graph.StringIDs)
	for row := range rows {
		ids := graph.IDsOfText(text.Ends[d.Ends[0][row]:d.Ends[0][row+1]+1], text.Bytes)
		err := ids.CheckText()
		if err == nil && !b.Room(ids) {
			err = fmt.Errorf("the strings of all rows have more than %d bytes", math.MaxInt32)
		}
		if err != nil {
			b.Release()
			return nil, fmt.Errorf("row %d: %w", row, err)
		}
		b.Append(ids)
	}
	return b.Finish(), nil
}

// values converts the values of a file to T. A value out of the range of T is an error. Floats may lose
// digits.
func values[T record.Value](from any) ([]T, error) {
	if v, ok := from.([]T); ok {
		return v, nil
	}
	switch v := from.(type) {
	case []int8:
		return narrow[T](v)
	case []int16:
		return narrow[T](v)
	case []int32:
		return narrow[T](v)
	case []int64:
		return narrow[T](v)
	case []uint8:
		return narrow[T](v)
	case []uint16:
		return narrow[T](v)
	case []uint32:
		return narrow[T](v)
	case []uint64:
		return narrow[T](v)
	case []float32:
		return narrow[T](v)
	case []float64:
		return narrow[T](v)
	}
	return nil, fmt.Errorf("values are %T", from)
}

func narrow[T record.Value, N Number](from []N) ([]T, error) {
	out := make([]T, len(from))
	_, real := any(out).([]float32)
	for i, x := range from {
		y := T(x)
		switch {
		case !real && (N(y) != x || (y < 0) != (x < 0)):
			return nil, fmt.Errorf("value %d is %v, which is no %T", i, x, y)
		case real && math.IsInf(float64(y), 0) && !math.IsInf(float64(x), 0):
			return nil, fmt.Errorf("value %d is %v, too large for %T", i, x, y)
		}
		out[i] = y
	}
	return out, nil
}

// bounded returns an error for an infinity, which would make every result infinite. NaN is a missing number.
func bounded(v []float32) error {
	for i, x := range v {
		if math.IsInf(float64(x), 0) {
			return fmt.Errorf("value %d is %v, want a finite number", i, x)
		}
	}
	return nil
}
