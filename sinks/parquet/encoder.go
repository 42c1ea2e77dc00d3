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
		n += bytesOf(c, 0, int64(c.Len()))
	}
	return n
}

// bytesOf returns the bytes of the elements from from to to.
func bytesOf(a arrow.Array, from, to int64) int64 {
	if from == to {
		return 0
	}
	switch a := a.(type) {
	case *array.String:
		return 4*(to-from) + int64(a.ValueOffset(int(to))-a.ValueOffset(int(from)))
	case array.ListLike:
		first, _ := a.ValueOffsets(int(from))
		_, last := a.ValueOffsets(int(to - 1))
		n := bytesOf(a.ListValues(), first, last)
		if _, fixed := a.(*array.FixedSizeList); !fixed {
			n += 4 * (to - from)
		}
		return n
	}
	return (to - from) * int64(a.DataType().(arrow.FixedWidthDataType).Bytes())
}
