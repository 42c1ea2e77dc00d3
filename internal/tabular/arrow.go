package tabular

import (
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/internal/arrowipc"
	"github.com/sanflow/sanflow/internal/unpack"
)

// Columns describes the columns of an Arrow IPC schema.
func Columns(s *arrowipc.Schema) []Column {
	var cols []Column
	for _, f := range s.Columns {
		c := Column{Name: f.Name, Meta: f.Metadata, Width: -1, Type: f.Kind}
		t, fixed := f.Type, false // fixed: an inner list has a fixed size
		for t != nil {
			switch l := t.(type) {
			case *arrow.FixedSizeListType:
				if c.Depth == 0 {
					c.Width = int(l.Len())
				}
				t, fixed = l.Elem(), fixed || c.Depth > 0
			case arrow.ListLikeType:
				t = l.Elem()
			default:
				if c.Depth <= 2 && !fixed && (c.Width < 0 || c.Depth == 1) && numeric(t) || c.Depth == 1 && c.Width < 0 && t.ID() == arrow.STRING {
					c.Elem = t.ID()
				}
				c.Type = strings.Repeat("list<", c.Depth) + strings.ToLower(t.String()) + strings.Repeat(">", c.Depth)
				t = nil
				continue
			}
			c.Depth++
		}
		cols = append(cols, c)
	}
	return cols
}

func numeric(t arrow.DataType) bool {
	return arrow.IsInteger(t.ID()) || t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64
}

// DataOf returns the lists and values of a column. They borrow its buffers.
func DataOf(c arrow.ArrayData, budget *Budget) (d Data, err error) {
	for depth, rows := 0, c.Len(); ; {
		if c.NullN() != 0 {
			return d, fmt.Errorf("there are %d nulls, want none", c.NullN())
		}
		ends := []int32{0}
		switch t := c.DataType().(type) {
		case *arrow.FixedSizeListType:
			rows *= int(t.Len())
			c = c.Children()[0]
			depth++
			continue
		case *arrow.ListType:
			if rows > 0 {
				ends = numbers[int32](c, rows+1)
			}
		case *arrow.LargeListType:
			if rows > 0 {
				if ends, err = short(numbers[int64](c, rows+1), budget); err != nil {
					return d, err
				}
			}
		default:
			d.Values, err = valuesOf(c, rows)
			return d, err
		}
		c = c.Children()[0]
		if err := Ends(ends, c.Len()); err != nil {
			return d, err
		}
		d.Ends[depth], rows = ends, c.Len()
		depth++
	}
}

// short converts the offsets of large lists to int32.
func short(from []int64, budget *Budget) ([]int32, error) {
	if err := budget.Take(int64(len(from)), 4); err != nil {
		return nil, err
	}
	ends := make([]int32, len(from))
	for i, end := range from {
		if end < 0 || end > math.MaxInt32 {
			return nil, fmt.Errorf("list %d: offset %d, want 0 to %d", i, end, math.MaxInt32)
		}
		ends[i] = int32(end)
	}
	return ends, nil
}

func valuesOf(c arrow.ArrayData, n int) (any, error) {
	switch c.DataType().ID() {
	case arrow.INT8:
		return numbers[int8](c, n), nil
	case arrow.UINT8:
		return numbers[uint8](c, n), nil
	case arrow.INT16:
		return numbers[int16](c, n), nil
	case arrow.UINT16:
		return numbers[uint16](c, n), nil
	case arrow.INT32:
		return numbers[int32](c, n), nil
	case arrow.UINT32:
		return numbers[uint32](c, n), nil
	case arrow.FLOAT32:
		return numbers[float32](c, n), nil
	case arrow.INT64:
		return numbers[int64](c, n), nil
	case arrow.UINT64:
		return numbers[uint64](c, n), nil
	case arrow.FLOAT64:
		return numbers[float64](c, n), nil
	case arrow.STRING:
		return textOf(c, n)
	}
	return nil, fmt.Errorf("values of type %s", c.DataType())
}

// textOf returns the strings of a column.
func textOf(c arrow.ArrayData, n int) (t Text, err error) {
	t.Ends = []int32{0}
	if n > 0 {
		t.Ends = numbers[int32](c, n+1)
	}
	if text := c.Buffers()[2]; text != nil {
		t.Bytes = text.Bytes()
	}
	last := int32(0)
	for i, end := range t.Ends {
		if end < last || int(end) > len(t.Bytes) {
			return t, fmt.Errorf("string %d: offset %d outside %d to %d", max(i-1, 0), end, last, len(t.Bytes))
		}
		last = end
	}
	return t, nil
}

// numbers returns the values in the buffer of a column. Package arrowipc has checked size and alignment.
func numbers[T Number](c arrow.ArrayData, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(c.Buffers()[1].Bytes()))), n)
}

var codecs = map[arrowipc.Codec]unpack.Codec{arrowipc.LZ4: unpack.LZ4, arrowipc.Zstd: unpack.Zstd}

// FromArrow decodes the selected columns of a record batch of Arrow IPC. They borrow the batch.
func FromArrow(s *arrowipc.Schema, meta, body []byte, use []bool, budget *Budget) (b Batch, err error) {
	cols, rows, err := s.Batch(meta, body, arrowipc.Options{Use: use, Take: budget.Take,
		Unpack: func(dst, src []byte, c arrowipc.Codec) error {
			codec, ok := codecs[c]
			if !ok {
				return fmt.Errorf("the compression %d is not read", c)
			}
			return unpack.Into(dst, src, codec)
		}})
	if err != nil {
		return b, err
	}
	b = Batch{Rows: rows, Data: make([]Data, len(cols))}
	if err := budget.Take(int64(rows), int64(8*len(cols))); err != nil {
		return b, err
	}
	for i, c := range cols {
		if c == nil {
			continue
		}
		// Buffers are not counted, and live as long as the body.
		if b.Data[i], err = DataOf(c, budget); err != nil {
			return b, fmt.Errorf("column %q: %w", s.Columns[i].Name, err)
		}
	}
	return b, nil
}
