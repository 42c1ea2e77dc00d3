package mapped

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// The number of a record batch in Arrow's MessageHeader union (Message.fbs).
const headerRecordBatch = 3

// batch builds the arrays of one record batch. Nodes and buffers stand in the
// order of a walk through the columns, each before its children.
type batch struct {
	*flat
	m              *mapping
	body           []byte
	nodes, buffers int // positions of what comes next
	nodesLeft      int
	buffersLeft    int
}

// record returns the batch in a block of the file: meta is the message, body
// what its buffers point into.
func (m *mapping) record(schema *arrow.Schema, meta, body []byte) (arrow.Record, error) {
	// The message starts with a marker, in all but the oldest files, and its
	// length.
	f := &flat{b: meta}
	skip := 4
	if f.i32(0) == -1 {
		skip = 8
	}
	f.b = f.at(skip, len(meta)-skip)
	msg := f.root()
	t := f.tableField(msg, 2)
	switch {
	case f.bad || f.byteField(msg, 1) != headerRecordBatch || t == 0:
		return nil, errDamaged
	case f.tableField(t, 3) != 0:
		return nil, fmt.Errorf("it is compressed, which cannot be mapped")
	}
	rows := f.int64Field(t, 0)
	b := &batch{flat: f, m: m, body: body}
	b.nodes, b.nodesLeft = f.vector(t, 1, 16)
	b.buffers, b.buffersLeft = f.vector(t, 2, 16)
	if f.bad || rows < 0 || rows > math.MaxInt32 {
		return nil, errDamaged
	}
	cols := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for _, field := range schema.Fields() {
		data, err := b.column(field.Type)
		if err == nil && data.Len() != int(rows) {
			data.Release()
			err = fmt.Errorf("there are %d values, want %d rows", data.Len(), rows)
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", field.Name, err)
		}
		cols = append(cols, array.MakeFromData(data))
		data.Release()
	}
	return array.NewRecord(schema, cols, rows), nil
}

// column returns the next column.
func (b *batch) column(t arrow.DataType) (arrow.ArrayData, error) {
	if b.nodesLeft == 0 {
		return nil, errDamaged
	}
	n, nulls := b.i64(b.nodes), b.i64(b.nodes+8)
	b.nodes, b.nodesLeft = b.nodes+16, b.nodesLeft-1
	if n < 0 || n > math.MaxInt32 || nulls < 0 || nulls > n {
		return nil, fmt.Errorf("there are %d values and %d nulls", n, nulls)
	}
	var bufs []*memory.Buffer
	defer func() { memory.ReleaseBuffers(bufs) }()
	add := func(bytes int64) error {
		buf, err := b.buffer(bytes)
		if err == nil {
			bufs = append(bufs, buf)
		}
		return err
	}
	validity := int64(0)
	if nulls > 0 {
		validity = (n + 7) / 8
	}
	if err := add(validity); err != nil {
		return nil, err
	}
	if nulls == 0 && bufs[0] != nil { // some writers give one all the same
		bufs[0].Release()
		bufs[0] = nil
	}
	var children []arrow.ArrayData
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	child := func(t arrow.DataType, least int64) error {
		c, err := b.column(t)
		if err != nil {
			return err
		}
		children = append(children, c)
		if int64(c.Len()) < least {
			return fmt.Errorf("a list has %d values, want %d", c.Len(), least)
		}
		return nil
	}
	var err error
	switch t := t.(type) {
	case *arrow.ListType:
		if n > 0 {
			err = add(4 * (n + 1))
		} else {
			err = add(0)
		}
		if err == nil {
			err = child(t.Elem(), 0)
		}
	case *arrow.FixedSizeListType:
		err = child(t.Elem(), n*int64(t.Len()))
	case arrow.FixedWidthDataType:
		err = add(n * int64(t.BitWidth()/8))
	default:
		err = fmt.Errorf("%s cannot be mapped", t)
	}
	if err != nil {
		return nil, err
	}
	return array.NewData(t, int(n), bufs, children, int(nulls), 0), nil
}

// buffer returns the next buffer, which has at least that many bytes.
func (b *batch) buffer(least int64) (*memory.Buffer, error) {
	if b.buffersLeft == 0 {
		return nil, errDamaged
	}
	off, n := b.i64(b.buffers), b.i64(b.buffers+8)
	b.buffers, b.buffersLeft = b.buffers+16, b.buffersLeft-1
	switch size := int64(len(b.body)); {
	case off < 0 || n < 0 || off > size || n > size-off:
		return nil, fmt.Errorf("a buffer of %d bytes at %d leaves the %d bytes of its batch", n, off, size)
	case off%8 != 0:
		return nil, fmt.Errorf("a buffer is at %d, want a multiple of 8", off)
	case n < least:
		return nil, fmt.Errorf("a buffer has %d bytes, want %d", n, least)
	case n == 0:
		return nil, nil
	}
	return b.m.buffer(b.body[off : off+n]), nil
}
