package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Codec is a compression of buffers.
type Codec int

// The codecs of the format.
const (
	LZ4 Codec = iota
	Zstd
)

// Options say how a batch is decoded.
type Options struct {
	// Use selects columns. The default is all.
	Use []bool
	// Buffer makes a buffer of a part of the body, which has the alignment of the body up to 8. The default
	// is a buffer without reference counting.
	Buffer func([]byte) *memory.Buffer
	// Take is called before memory is allocated.
	Take Take
	// Unpack decompresses src into dst. Without Unpack, compressed batches are an error.
	Unpack func(dst, src []byte, codec Codec) error
}

// batch decodes the arrays of a record batch. Nodes and buffers are in depth-first order of the columns,
// parents first.
type batch struct {
	message
	Options
	data           []byte
	nodes, buffers int // positions of the next node and buffer
	nodesLeft      int
	buffersLeft    int
	variadic, more int   // position and number of the remaining counts of buffers
	end            int64 // end of the last buffer in the body
	packed         bool  // buffers are compressed
	codec          Codec
}

var errCounts = errors.New("it has not the nodes and buffers that its schema says")

// Batch decodes a record batch with the message meta and the buffers in body. The selected columns have rows
// values each, and belong to the caller; others are nil. Offsets of lists are not checked.
func (s *Schema) Batch(meta, body []byte, o Options) (cols []arrow.ArrayData, rows int, err error) {
	m, err := open(meta)
	if err != nil {
		return nil, 0, err
	}
	b := &batch{message: m, Options: o, data: body}
	t := m.header
	n := m.int64Field(t, 0)
	b.nodes, b.nodesLeft = m.vector(t, 1, 16)
	b.buffers, b.buffersLeft = m.vector(t, 2, 16)
	b.variadic, b.more = m.vector(t, 4, 8)
	if c := m.tableField(t, 3); c != 0 {
		b.packed, b.codec = true, Codec(m.byteField(c, 0))
	}
	switch {
	case m.bad || m.kind != headerBatch:
		return nil, 0, errDamaged
	case n < 0 || n > math.MaxInt32:
		return nil, 0, fmt.Errorf("it has %d rows, want 0 to %d", n, math.MaxInt32)
	case m.body > int64(len(body)):
		return nil, 0, fmt.Errorf("it has a body of %d bytes, where %d are", m.body, len(body))
	case b.packed && o.Unpack == nil:
		return nil, 0, errors.New("it is compressed, and cannot be used in place")
	}
	cols = make([]arrow.ArrayData, len(s.Columns))
	for i := range s.Columns {
		if err := b.top(&s.Columns[i], i, int(n), cols); err != nil {
			release(cols)
			return nil, 0, fmt.Errorf("column %q: %w", s.Columns[i].Name, err)
		}
	}
	if b.bad || b.nodesLeft+b.buffersLeft+b.more > 0 || int64(len(body))-b.end >= slack {
		release(cols)
		return nil, 0, errCounts
	}
	return cols, int(n), nil
}

func release(cols []arrow.ArrayData) {
	for _, c := range cols {
		if c != nil {
			c.Release()
		}
	}
}

// top decodes or skips column i.
func (b *batch) top(f *Field, i, rows int, cols []arrow.ArrayData) (err error) {
	if b.Use != nil && !b.Use[i] {
		return b.skip(f, rows)
	}
	if f.Type == nil {
		return fmt.Errorf("it is %s, which is not read", f.Kind)
	}
	if cols[i], err = b.column(f); err == nil && cols[i].Len() != rows {
		err = fmt.Errorf("there are %d values, want %d rows", cols[i].Len(), rows)
	}
	return err
}

// skip skips the nodes and buffers of a type. rows is -1 for a child, whose length is unknown.
func (b *batch) skip(f *Field, rows int) error {
	buffers := f.buffers
	if buffers < 0 {
		n := b.i64(b.variadic)
		if b.more == 0 || n < 0 || n > int64(b.buffersLeft) {
			return errCounts
		}
		buffers = 2 + int(n)
		b.variadic, b.more = b.variadic+8, b.more-1
	}
	if f.Kind == kinds[kindUnion].name && b.version < versionV5 {
		buffers++
	}
	n, _, err := b.node()
	if err == nil && rows >= 0 && n != int64(rows) {
		err = fmt.Errorf("there are %d values, want %d rows", n, rows)
	}
	for range buffers {
		if err == nil {
			_, err = b.piece()
		}
	}
	for i := range f.children {
		if err == nil {
			err = b.skip(&f.children[i], -1)
		}
	}
	return err
}

func (b *batch) node() (n, nulls int64, err error) {
	if b.nodesLeft == 0 {
		return 0, 0, errCounts
	}
	n, nulls = b.pair(b.nodes)
	b.nodes, b.nodesLeft = b.nodes+16, b.nodesLeft-1
	if n < 0 || n > math.MaxInt32 || nulls < 0 || nulls > n {
		return 0, 0, fmt.Errorf("there are %d values and %d nulls", n, nulls)
	}
	return n, nulls, nil
}

// column returns the next column.
func (b *batch) column(f *Field) (arrow.ArrayData, error) {
	n, nulls, err := b.node()
	if err != nil {
		return nil, err
	}
	valid, err := b.validity(n, nulls)
	if err != nil {
		return nil, err
	}
	bufs := []*memory.Buffer{valid}
	var children []arrow.ArrayData
	defer func() {
		memory.ReleaseBuffers(bufs)
		release(children)
	}()
	values := func(bytes int64) error {
		buf, err := b.buffer(bytes)
		bufs = append(bufs, buf)
		return err
	}
	child := func(least int64) error {
		c, err := b.column(&f.children[0])
		if err != nil {
			return err
		}
		children = append(children, c)
		if int64(c.Len()) < least {
			return fmt.Errorf("lists have %d values, want %d", c.Len(), least)
		}
		return nil
	}
	ends := n + 1
	if n == 0 { // writers may omit the offsets of no values
		ends = 0
	}
	switch t := f.Type.(type) {
	case *arrow.ListType:
		if err = values(4 * ends); err == nil {
			err = child(0)
		}
	case *arrow.LargeListType:
		if err = values(8 * ends); err == nil {
			err = child(0)
		}
	case *arrow.FixedSizeListType:
		err = child(n * int64(t.Len()))
	case *arrow.StringType:
		if err = values(4 * ends); err == nil {
			err = values(b.textEnd(bufs[1], n))
		}
	case arrow.FixedWidthDataType:
		err = values(n * int64(t.BitWidth()/8))
	}
	if err != nil {
		return nil, err
	}
	return array.NewData(f.Type, int(n), bufs, children, int(nulls), 0), nil
}

// textEnd returns the end of the last of n strings, with 0 for a negative offset. The reader of the strings
// returns the error.
func (b *batch) textEnd(ends *memory.Buffer, n int64) int64 {
	if n == 0 {
		return 0
	}
	return max(0, int64(int32(binary.LittleEndian.Uint32(ends.Bytes()[4*n:]))))
}

// validity returns the validity bits of n values, or nil if no value is null. Some writers write the bits of
// columns without nulls. Then the bits are counted too.
func (b *batch) validity(n, nulls int64) (*memory.Buffer, error) {
	least := int64(0)
	if nulls > 0 {
		least = (n + 7) / 8
	}
	buf, err := b.buffer(least)
	if err != nil || buf == nil {
		return nil, err
	}
	set := int64(0)
	for i, x := range buf.Bytes()[:min(int64(buf.Len()), (n+7)/8)] {
		if last := n - 8*int64(i); last < 8 {
			x &= 1<<last - 1
		}
		set += int64(bits.OnesCount8(x))
	}
	switch {
	case int64(buf.Len()) >= (n+7)/8 && n-set != nulls:
		buf.Release()
		return nil, fmt.Errorf("there are %d nulls, want %d", n-set, nulls)
	case nulls == 0:
		buf.Release()
		return nil, nil
	}
	return buf, nil
}

// piece returns the bytes of the next buffer. Buffers must be in order, with only padding between them.
func (b *batch) piece() ([]byte, error) {
	if b.buffersLeft == 0 {
		return nil, errCounts
	}
	at, n := b.pair(b.buffers)
	b.buffers, b.buffersLeft = b.buffers+16, b.buffersLeft-1
	switch size := int64(len(b.data)); {
	case at < 0 || n < 0 || at > size || n > size-at:
		return nil, fmt.Errorf("a buffer of %d bytes at %d leaves the %d bytes of its batch", n, at, size)
	case n == 0:
		return nil, nil
	case at < b.end || at-b.end >= slack:
		return nil, fmt.Errorf("a buffer is at %d, want it after the one that ends at %d", at, b.end)
	}
	b.end = at + n
	return b.data[at : at+n : at+n], nil
}

// buffer returns the next buffer, of at least least bytes.
func (b *batch) buffer(least int64) (*memory.Buffer, error) {
	p, err := b.piece()
	if err != nil {
		return nil, err
	}
	fresh := false
	if b.packed && len(p) > 0 {
		if p, fresh, err = b.unpack(p); err != nil {
			return nil, err
		}
	}
	switch {
	case int64(len(p)) < least:
		return nil, fmt.Errorf("a buffer has %d bytes, want %d", len(p), least)
	case len(p) == 0:
		return nil, nil
	case uintptr(unsafe.Pointer(unsafe.SliceData(p)))%8 == 0:
	case b.Buffer != nil:
		return nil, errors.New("a buffer does not begin at a multiple of 8")
	default:
		if err := b.Take.ask(int64(len(p)), 1); err != nil {
			return nil, err
		}
		q := (&space{}).bytes(int64(len(p)))
		copy(q, p)
		p = q
	}
	if b.Buffer != nil && !fresh {
		return b.Buffer(p), nil
	}
	return memory.NewBufferBytes(p), nil
}

// unpack returns the decompressed bytes of a buffer. The buffer begins with its size, or with -1 if it is not
// compressed.
func (b *batch) unpack(p []byte) (out []byte, fresh bool, err error) {
	if len(p) < 8 {
		return nil, false, fmt.Errorf("a compressed buffer of %d bytes", len(p))
	}
	size := int64(binary.LittleEndian.Uint64(p))
	if p = p[8:]; size == -1 {
		return p, false, nil
	}
	if size < 0 {
		return nil, false, fmt.Errorf("a buffer of %d bytes", size)
	}
	if err := b.Take.ask(size, 1); err != nil {
		return nil, false, err
	}
	out = (&space{}).bytes(size)
	return out, true, b.Unpack(out, p, b.codec)
}
