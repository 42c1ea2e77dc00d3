package parquet

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// encoder writes one file. It retains records until they fill a row group.
type encoder struct {
	*settings
	out    pages
	groups []rowGroup

	held  []arrow.Record
	bytes int64
}

// settings are common to all files of a sink.
type settings struct {
	leaves   []leaf
	columns  []column
	codec    int
	compress compressor
	notes    [][2]string // keys and values of the footer
	limit    int64       // bytes of a row group
}

func newEncoder(w io.Writer, s *settings) (*encoder, error) {
	e := &encoder{settings: s, out: pages{w: w, compress: s.compress}}
	for _, c := range s.columns {
		c.begin(&e.out)
	}
	return e, e.out.put([]byte(magic))
}

func (e *encoder) Write(rec arrow.Record) error {
	rec.Retain()
	e.held = append(e.held, rec)
	e.bytes += size(rec)
	if e.bytes < e.limit {
		return nil
	}
	return e.flush()
}

// flush writes the retained records as a row group, column after column.
func (e *encoder) flush() error {
	defer e.Abandon()
	if len(e.held) == 0 {
		return nil
	}
	group := rowGroup{}
	for i, c := range e.columns {
		for _, rec := range e.held {
			if err := c.write(rec.Column(i)); err != nil {
				return fmt.Errorf("column %q: %w", rec.ColumnName(i), err)
			}
		}
		chunk, err := c.end()
		if err != nil {
			return err
		}
		group.chunks = append(group.chunks, chunk)
	}
	for _, rec := range e.held {
		group.rows += rec.NumRows()
	}
	e.groups = append(e.groups, group)
	return nil
}

func (e *encoder) Close() error {
	if err := e.flush(); err != nil {
		return err
	}
	return e.out.put(footer(e.leaves, e.groups, e.codec, e.notes))
}

func (e *encoder) Abandon() {
	for _, rec := range e.held {
		rec.Release()
	}
	e.held, e.bytes = nil, 0
}

// size returns the bytes of the rows of rec, without the rest of buffers that slices share.
func size(rec arrow.Record) (n int64) {
	for _, c := range rec.Columns() {
		n += arraySize(c)
	}
	return n
}

func arraySize(a arrow.Array) int64 {
	switch a := a.(type) {
	case *array.String:
		if a.Len() == 0 {
			return 0
		}
		return 4*int64(a.Len()) + int64(a.ValueOffset(a.Len())-a.ValueOffset(0))
	case *array.FixedSizeList:
		elem := a.DataType().(*arrow.FixedSizeListType)
		return int64(a.Len()) * int64(elem.Len()) * width(elem.Elem())
	case *array.List:
		if a.Len() == 0 {
			return 0
		}
		from, _ := a.ValueOffsets(0)
		_, to := a.ValueOffsets(a.Len() - 1)
		if s, ok := a.ListValues().(*array.String); ok {
			return 4*int64(a.Len()) + 4*(to-from) + int64(s.ValueOffset(int(to))-s.ValueOffset(int(from)))
		}
		inner, ok := a.ListValues().(*array.List)
		if !ok {
			return 4*int64(a.Len()) + (to-from)*width(a.ListValues().DataType())
		}
		s := array.NewSlice(inner, from, to)
		defer s.Release()
		return 4*int64(a.Len()) + arraySize(s)
	}
	return int64(a.Len()) * width(a.DataType())
}

func width(t arrow.DataType) int64 {
	if f, ok := t.(arrow.FixedWidthDataType); ok {
		return int64(f.Bytes())
	}
	return 8
}
