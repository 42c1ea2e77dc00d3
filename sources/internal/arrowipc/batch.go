package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/sources/internal/tabular"
	"github.com/sanflow/sanflow/sources/internal/unpack"
)

// loader hands out the nodes and buffers of a record batch in their order.
type loader struct {
	budget   *tabular.Budget
	body     []byte
	nodes    [][2]int64 // length and nulls
	buffers  [][2]int64 // offset and length
	variadic []int64
	codec    unpack.Codec
}

func (r *Reader) batch(h flat, body []byte) (b tabular.Batch, err error) {
	rows := h.int64(0)
	if rows < 0 || rows > math.MaxInt32 {
		return b, fmt.Errorf("a batch of %d rows", rows)
	}
	l := &loader{budget: r.budget, body: body, nodes: h.pairs(1), buffers: h.pairs(2)}
	if c, ok := h.table(3); ok {
		if l.codec = unpack.LZ4; c.int8(0) == 1 {
			l.codec = unpack.Zstd
		}
	}
	at, n := h.vector(4, 8)
	for i := range n {
		l.variadic = append(l.variadic, int64(binary.LittleEndian.Uint64(h.b[at+8*i:])))
	}
	b = tabular.Batch{Rows: int(rows), Data: make([]tabular.Data, len(r.nodes))}
	if err := r.budget.Take(rows, int64(8*len(r.nodes))); err != nil {
		return b, err
	}
	for i, n := range r.nodes {
		if r.use != nil && !r.use[i] {
			if err := l.skip(n); err != nil {
				return b, err
			}
			continue
		}
		if b.Data[i], err = l.column(n, int(rows)); err != nil {
			return b, fmt.Errorf("column %q: %w", r.columns[i].Name, err)
		}
	}
	return b, nil
}

var errShort = errors.New("a batch has fewer buffers than its schema says")

// skip passes over the nodes and buffers of a type.
func (l *loader) skip(n *node) error {
	buffers := n.buffers
	if buffers < 0 {
		if len(l.variadic) == 0 || l.variadic[0] < 0 || l.variadic[0] > int64(len(l.buffers)) {
			return errShort
		}
		buffers = 2 + int(l.variadic[0])
		l.variadic = l.variadic[1:]
	}
	if len(l.nodes) == 0 || len(l.buffers) < buffers {
		return errShort
	}
	l.nodes, l.buffers = l.nodes[1:], l.buffers[buffers:]
	for _, c := range n.children {
		if err := l.skip(c); err != nil {
			return err
		}
	}
	return nil
}

// column loads the lists and values of a column.
func (l *loader) column(n *node, rows int) (d tabular.Data, err error) {
	for depth := 0; isList(n); depth++ {
		if err := l.enter(rows); err != nil {
			return d, err
		}
		if n.kind == kindFixedList {
			if n.width < 0 {
				return d, fmt.Errorf("lists of %d values", n.width)
			}
			if rows, err = product(rows, n.width); err != nil {
				return d, err
			}
			n = n.children[0]
			continue
		}
		if d.Ends[depth], err = l.ends(n, rows); err != nil {
			return d, err
		}
		n = n.children[0]
		if len(l.nodes) == 0 {
			return d, errShort
		}
		rows = int(min(max(l.nodes[0][0], 0), math.MaxInt32))
		if err := tabular.Ends(d.Ends[depth], rows); err != nil {
			return d, err
		}
	}
	if err := l.enter(rows); err != nil {
		return d, err
	}
	d.Values, err = l.values(n.elem, rows)
	return d, err
}

func product(a, b int) (int, error) {
	if b > 0 && a > math.MaxInt32/b {
		return 0, fmt.Errorf("%d lists of %d values", a, b)
	}
	return a * b, nil
}

// enter takes a node of at least that many rows, without nulls, and its
// validity.
func (l *loader) enter(rows int) error {
	if len(l.nodes) == 0 || len(l.buffers) == 0 {
		return errShort
	}
	length, nulls := l.nodes[0][0], l.nodes[0][1]
	l.nodes, l.buffers = l.nodes[1:], l.buffers[1:]
	switch {
	case length < int64(rows):
		return fmt.Errorf("there are %d values, want %d", length, rows)
	case nulls != 0:
		return fmt.Errorf("there are %d nulls, want none", nulls)
	}
	return nil
}

// buffer returns the next buffer, of at least that many bytes.
func (l *loader) buffer(want int64) ([]byte, error) {
	if len(l.buffers) == 0 {
		return nil, errShort
	}
	at, n := l.buffers[0][0], l.buffers[0][1]
	l.buffers = l.buffers[1:]
	if at < 0 || n < 0 || at > int64(len(l.body)) || n > int64(len(l.body))-at {
		return nil, fmt.Errorf("a buffer of %d bytes at %d in a body of %d", n, at, len(l.body))
	}
	b := l.body[at : at+n]
	if l.codec != unpack.None && n > 0 {
		if n < 8 {
			return nil, fmt.Errorf("a compressed buffer of %d bytes", n)
		}
		size := int64(binary.LittleEndian.Uint64(b))
		if b = b[8:]; size != -1 {
			if err := l.budget.Take(size, 1); err != nil {
				return nil, err
			}
			out := make([]byte, size)
			if err := unpack.Into(out, b, l.codec); err != nil {
				return nil, err
			}
			b = out
		}
	}
	if int64(len(b)) < want {
		return nil, fmt.Errorf("a buffer of %d bytes, want %d", len(b), want)
	}
	return b[:want:want], nil
}

// ends returns the offsets of so many lists.
func (l *loader) ends(n *node, rows int) ([]int32, error) {
	if rows == 0 { // writers may leave them out
		_, err := l.buffer(0)
		return []int32{0}, err
	}
	if n.kind == kindList {
		b, err := l.buffer(4 * (int64(rows) + 1))
		return numbers[int32](b, rows+1), err
	}
	b, err := l.buffer(8 * (int64(rows) + 1))
	if err != nil {
		return nil, err
	}
	if err := l.budget.Take(int64(rows)+1, 4); err != nil {
		return nil, err
	}
	ends := make([]int32, rows+1)
	for i, end := range numbers[int64](b, rows+1) {
		if end < 0 || end > math.MaxInt32 {
			return nil, fmt.Errorf("list %d: offset %d, want 0 to %d", i, end, math.MaxInt32)
		}
		ends[i] = int32(end)
	}
	return ends, nil
}

func (l *loader) values(t arrow.Type, n int) (any, error) {
	width := map[arrow.Type]int64{
		arrow.INT8: 1, arrow.UINT8: 1, arrow.INT16: 2, arrow.UINT16: 2,
		arrow.INT32: 4, arrow.UINT32: 4, arrow.FLOAT32: 4, arrow.INT64: 8, arrow.UINT64: 8, arrow.FLOAT64: 8,
	}[t]
	b, err := l.buffer(int64(n) * width)
	if err != nil {
		return nil, err
	}
	switch t {
	case arrow.INT8:
		return numbers[int8](b, n), nil
	case arrow.UINT8:
		return b, nil
	case arrow.INT16:
		return numbers[int16](b, n), nil
	case arrow.UINT16:
		return numbers[uint16](b, n), nil
	case arrow.INT32:
		return numbers[int32](b, n), nil
	case arrow.UINT32:
		return numbers[uint32](b, n), nil
	case arrow.FLOAT32:
		return numbers[float32](b, n), nil
	case arrow.INT64:
		return numbers[int64](b, n), nil
	case arrow.UINT64:
		return numbers[uint64](b, n), nil
	case arrow.FLOAT64:
		return numbers[float64](b, n), nil
	}
	return nil, fmt.Errorf("values of type %s", t)
}

// numbers are the values in b, which is little-endian as our machines are. They
// are where they are unless that is no place for a T.
func numbers[T tabular.Number](b []byte, n int) []T {
	if n == 0 || b == nil {
		return nil
	}
	size := int(unsafe.Sizeof(*new(T)))
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	out := make([]T, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), n*size), b)
	return out
}
