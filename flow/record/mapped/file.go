package mapped

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

var (
	magic      = []byte("ARROW1")
	errDamaged = errors.New("it is damaged")
)

// ErrNotArrow is returned for a file that is not, or not completely, an Arrow
// IPC file.
var ErrNotArrow = errors.New("not an Arrow IPC file, or a truncated one")

// File is an open file. Its methods may be called by several goroutines at a
// time.
type File struct {
	name   string
	schema *arrow.Schema
	m      *mapping
	blocks []block
}

// block is where a record batch is.
type block struct {
	offset, meta, body int64
}

// Open maps the file. It looks at the footer, whose size depends on the number
// of columns and batches only.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("mapped: %w", err)
	}
	defer f.Close() // the mapping does without it
	return OpenFile(f)
}

// OpenFile maps an open file, which may be closed, or removed, afterwards.
func OpenFile(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("mapped: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("mapped: %s: not a regular file", f.Name())
	}
	// A file that is shorter than any is not mapped, since mmap refuses size 0.
	if info.Size() < int64(2*len(magic)+4) {
		return nil, fmt.Errorf("mapped: %s: %w", f.Name(), ErrNotArrow)
	}
	data, err := mapFile(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("mapped: %s: %w", f.Name(), err)
	}
	return open(f.Name(), &mapping{data: data, unmap: unmapFile})
}

// open takes m over.
func open(name string, m *mapping) (*File, error) {
	f := &File{name: name, m: m}
	m.users.Store(1)
	if err := f.readFooter(); err != nil {
		m.release()
		return nil, fmt.Errorf("mapped: %s: %w", name, err)
	}
	return f, nil
}

// readFooter reads the end of the file: a flatbuffer, its length, and the magic
// word.
func (f *File) readFooter() error {
	data := f.m.data
	if !bytes.HasPrefix(data, magic) || !bytes.HasSuffix(data, magic) {
		return ErrNotArrow
	}
	end := &flat{b: data[:len(data)-len(magic)]}
	at := len(end.b) - 4
	size := end.i32(at)
	r := &flat{b: end.at(at-size, size)}
	if end.bad || r.b == nil {
		return fmt.Errorf("a footer of %d bytes in a file of %d: %w", size, len(data), errDamaged)
	}
	t := r.root()
	schema, err := (&schemaReader{flat: r}).schema(r.tableField(t, 1))
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	pos, n := r.vector(t, 3, 24)
	if r.bad {
		return fmt.Errorf("footer: %w", errDamaged)
	}
	f.schema = schema
	f.blocks = make([]block, n)
	for i := range f.blocks {
		b := block{r.i64(pos + 24*i), int64(r.i32(pos + 24*i + 8)), r.i64(pos + 24*i + 16)}
		limit := int64(len(data))
		if b.offset < 0 || b.meta < 0 || b.body < 0 || b.offset > limit || b.meta > limit-b.offset || b.body > limit-b.offset-b.meta {
			return fmt.Errorf("record %d: %d + %d bytes at %d leave the file of %d", i, b.meta, b.body, b.offset, limit)
		}
		if (b.offset+b.meta)%8 != 0 {
			return fmt.Errorf("record %d: its body is at %d, want a multiple of 8", i, b.offset+b.meta)
		}
		f.blocks[i] = b
	}
	return nil
}

// Schema returns the schema of all records.
func (f *File) Schema() *arrow.Schema { return f.schema }

// Len returns the number of records.
func (f *File) Len() int { return len(f.blocks) }

// Record returns record i, which the caller owns. Its cost depends on the number
// of columns only. It must not be called after Close.
func (f *File) Record(i int) (arrow.Record, error) {
	b := f.blocks[i]
	body := b.offset + b.meta
	rec, err := f.m.record(f.schema, f.m.data[b.offset:body], f.m.data[body:body+b.body])
	if err != nil {
		return nil, fmt.Errorf("mapped: %s: record %d: %w", f.name, i, err)
	}
	return rec, nil
}

// Close gives the file up. Records stay valid.
func (f *File) Close() error {
	if f.m == nil {
		return nil
	}
	err := f.m.release()
	f.m = nil
	return err
}

// mapping is a file in memory. It is the allocator of its buffers, which tell it
// by Free that they are no longer in use.
type mapping struct {
	data  []byte
	unmap func([]byte) error
	users atomic.Int64
}

var _ memory.Allocator = (*mapping)(nil)

// buffer returns a part of the mapping as a buffer.
func (m *mapping) buffer(b []byte) *memory.Buffer {
	m.users.Add(1)
	return memory.NewBufferWithAllocator(b, m)
}

func (m *mapping) release() error {
	if m.users.Add(-1) > 0 {
		return nil
	}
	data := m.data
	m.data = nil
	return m.unmap(data)
}

// Free is called when the last user of a buffer is gone.
func (m *mapping) Free([]byte) {
	// munmap of what mmap has returned does not fail.
	_ = m.release()
}

// Allocate and Reallocate serve mutable buffers; there are none.
func (m *mapping) Allocate(n int) []byte { return make([]byte, n) }

func (m *mapping) Reallocate(n int, b []byte) []byte {
	out := make([]byte, n)
	copy(out, b)
	return out
}
