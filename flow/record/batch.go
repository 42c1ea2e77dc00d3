package record

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// batch is a record whose columns are known to be those of its schema. Arrow's own
// compares types by reflection, for each column of each record and of each slice of
// it, which takes longer than the work on a record of a few nodes.
type batch struct {
	refs   atomic.Int64
	schema *arrow.Schema
	cols   []arrow.Array
	rows   int64
}

var _ arrow.Record = (*batch)(nil)

// newRecord makes a record of columns of that schema, which it takes over.
func newRecord(s *arrow.Schema, cols []arrow.Array, rows int) arrow.Record {
	b := &batch{schema: s, cols: cols, rows: int64(rows)}
	b.refs.Store(1)
	return b
}

func (b *batch) Retain() { b.refs.Add(1) }

func (b *batch) Release() {
	if b.refs.Add(-1) == 0 {
		for _, c := range b.cols {
			c.Release()
		}
		b.cols = nil
	}
}

func (b *batch) Schema() *arrow.Schema    { return b.schema }
func (b *batch) NumRows() int64           { return b.rows }
func (b *batch) NumCols() int64           { return int64(len(b.cols)) }
func (b *batch) Columns() []arrow.Array   { return b.cols }
func (b *batch) Column(i int) arrow.Array { return b.cols[i] }
func (b *batch) ColumnName(i int) string  { return b.schema.Field(i).Name }

// NewSlice returns rows i to j, which the caller owns, and copies nothing.
func (b *batch) NewSlice(i, j int64) arrow.Record {
	if i < 0 || j < i || j > b.rows {
		panic(fmt.Sprintf("record: rows %d to %d of %d", i, j, b.rows))
	}
	if i == 0 && j == b.rows {
		b.Retain()
		return b
	}
	cols := make([]arrow.Array, len(b.cols))
	for n, c := range b.cols {
		cols[n] = array.NewSlice(c, i, j)
	}
	return newRecord(b.schema, cols, int(j-i))
}

// SetColumn returns the record, which the caller owns, with another column i.
func (b *batch) SetColumn(i int, col arrow.Array) (arrow.Record, error) {
	var set arrow.Record
	err := b.plain(func(r arrow.Record) (err error) {
		set, err = r.SetColumn(i, col)
		return err
	})
	return set, err
}

// MarshalJSON writes the JSON of Arrow's records.
func (b *batch) MarshalJSON() (text []byte, err error) {
	err = b.plain(func(r arrow.Record) error {
		text, err = r.MarshalJSON()
		return err
	})
	return text, err
}

// String returns the text of Arrow's records.
func (b *batch) String() (text string) {
	_ = b.plain(func(r arrow.Record) error {
		text = fmt.Sprint(r)
		return nil
	})
	return text
}

// plain lends f an equal record of Arrow's own kind.
func (b *batch) plain(f func(arrow.Record) error) error {
	r := array.NewRecord(b.schema, b.cols, b.rows)
	defer r.Release()
	return f(r)
}
