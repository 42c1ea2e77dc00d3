package parquet

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/sanflow/sanflow/flow/record"
)

// column writes the rows of a column of one type.
type column interface {
	write(w file.ColumnChunkWriter, a arrow.Array) error
}

// columnOf returns nil for values that records of graphs do not have.
func columnOf(elem arrow.DataType, depth int) column {
	switch elem.ID() {
	case arrow.UINT8:
		var wide []int32 // Parquet has no smaller numbers
		return &typed[uint8]{depth: depth, put: func(w file.ColumnChunkWriter, v []uint8, def, rep []int16) error {
			wide = wide[:0]
			for _, x := range v {
				wide = append(wide, int32(x))
			}
			_, err := w.(*file.Int32ColumnChunkWriter).WriteBatch(wide, def, rep)
			return err
		}}
	case arrow.INT32:
		return &typed[int32]{depth: depth, put: func(w file.ColumnChunkWriter, v []int32, def, rep []int16) error {
			_, err := w.(*file.Int32ColumnChunkWriter).WriteBatch(v, def, rep)
			return err
		}}
	case arrow.INT64:
		return &typed[int64]{depth: depth, put: func(w file.ColumnChunkWriter, v []int64, def, rep []int16) error {
			_, err := w.(*file.Int64ColumnChunkWriter).WriteBatch(v, def, rep)
			return err
		}}
	case arrow.FLOAT32:
		return &typed[float32]{depth: depth, put: func(w file.ColumnChunkWriter, v []float32, def, rep []int16) error {
			_, err := w.(*file.Float32ColumnChunkWriter).WriteBatch(v, def, rep)
			return err
		}}
	}
	return nil
}

// typed is a column of T at a depth of 0, 1 or 2 lists.
type typed[T record.Value] struct {
	depth int
	put   func(w file.ColumnChunkWriter, v []T, def, rep []int16) error

	w        file.ColumnChunkWriter
	def, rep []int16 // of the values under construction
	values   []T
}

func (c *typed[T]) write(w file.ColumnChunkWriter, a arrow.Array) error {
	c.w = w
	// The views of package record know slices; they take a record.
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "c", Type: a.DataType()}}, nil), []arrow.Array{a}, int64(a.Len()))
	defer rec.Release()
	switch a.(type) {
	case *array.FixedSizeList:
		return c.fixed(rec)
	case *array.List:
		if c.depth == 2 {
			return c.nested(rec)
		}
		return c.lists(rec)
	}
	return c.flat(rec)
}

func (c *typed[T]) flat(rec arrow.Record) error {
	v, err := record.Values[T](rec, "c")
	for ; err == nil && len(v) > 0; v = v[min(len(v), batch):] {
		err = c.put(c.w, v[:min(len(v), batch)], nil, nil)
	}
	return err
}

// fixed writes whole rows, as many as fit a batch, from where they are. Their
// levels are always the same: 2 2 2 2 2 2 … and 0 1 1 0 1 1 ….
func (c *typed[T]) fixed(rec arrow.Record) error {
	v, width, err := record.FixedValues[T](rec, "c")
	if err != nil {
		return err
	}
	if width > batch {
		for row := range int(rec.NumRows()) {
			if err := c.reserve(width); err != nil {
				return err
			}
			c.list(v[row*width:(row+1)*width], 0, 1)
		}
		return c.flush()
	}
	n := min(batch/width*width, len(v))
	def, rep := slices.Grow(c.def, n)[:n], slices.Grow(c.rep, n)[:n]
	c.def, c.rep = def[:0], rep[:0]
	for i := range def {
		def[i], rep[i] = 2, 1
	}
	for i := 0; i < n; i += width {
		rep[i] = 0
	}
	for len(v) > 0 {
		n := min(n, len(v))
		if err := c.put(c.w, v[:n], def[:n], rep[:n]); err != nil {
			return err
		}
		v = v[n:]
	}
	return nil
}

func (c *typed[T]) lists(rec arrow.Record) error {
	v, err := record.ListsOf[T](rec, "c")
	if err != nil {
		return err
	}
	for row := range v.Len() {
		if err := c.reserve(max(1, len(v.Row(row)))); err != nil {
			return err
		}
		c.list(v.Row(row), 0, 1)
	}
	return c.flush()
}

func (c *typed[T]) nested(rec arrow.Record) error {
	v, err := record.NestedOf[T](rec, "c")
	if err != nil {
		return err
	}
	for row := range v.Len() {
		levels := 1
		for i := range v.RowLen(row) {
			levels += max(1, len(v.At(row, i)))
		}
		if err := c.reserve(levels); err != nil {
			return err
		}
		if v.RowLen(row) == 0 {
			c.nothing(0, 0)
		}
		for i := range v.RowLen(row) {
			c.list(v.At(row, i), int16(min(i, 1)), 2)
		}
	}
	return c.flush()
}
