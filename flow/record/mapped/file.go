package mapped

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/internal/arrowipc"
)

// ErrNotArrow is returned for a file that is not, or not completely, an Arrow
// IPC file.
var ErrNotArrow = arrowipc.ErrNotFile

// File is an open file. Its methods may be called by several goroutines at a
// time.
type File struct {
	name   string
	schema *arrow.Schema
	m      *mapping
	ipc    *arrowipc.File
}

// Open maps the file. It reads the schema and the footer, whose size depends on the number of
// columns and batches alone.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("mapped: %w", err)
	}
	defer f.Close() // the mapping stays valid
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("mapped: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("mapped: %s: not a regular file", f.Name())
	}
	if info.Size() == 0 { // mmap refuses length 0
		return nil, fmt.Errorf("mapped: %s: %w", f.Name(), ErrNotArrow)
	}
	data, err := mapFile(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("mapped: %s: %w", f.Name(), err)
	}
	return open(f.Name(), &mapping{data: data, unmap: unmapFile})
}

// open returns the File of a mapping, which it takes over. After an error the mapping is released.
func open(name string, m *mapping) (*File, error) {
	m.users.Store(1)
	ipc, err := arrowipc.OpenFile(bytes.NewReader(m.data), int64(len(m.data)), nil)
	var schema *arrow.Schema
	if err == nil {
		schema, err = ipc.Schema.Arrow()
	}
	if err != nil {
		_ = m.release()
		return nil, fmt.Errorf("mapped: %s: %w", name, err)
	}
	return &File{name: name, schema: schema, m: m, ipc: ipc}, nil
}

// Schema returns the schema of all records.
func (f *File) Schema() *arrow.Schema { return f.schema }

// Len returns the number of records.
func (f *File) Len() int { return f.ipc.Len() }

// Record returns record i, which the caller owns. Its cost depends on the number
// of columns only. It must not be called after Close.
func (f *File) Record(i int) (arrow.Record, error) {
	b := f.ipc.Blocks[i]
	meta := f.m.data[b.Offset:][:b.Meta]
	body := f.m.data[b.Offset+b.Meta:][:b.Body]
	cols, rows, err := f.ipc.Schema.Batch(meta, body, arrowipc.Options{Buffer: f.m.buffer})
	if err != nil {
		return nil, fmt.Errorf("mapped: %s: record %d: %w", f.name, i, err)
	}
	arrays := make([]arrow.Array, len(cols))
	for j, c := range cols {
		arrays[j] = array.MakeFromData(c)
		c.Release()
		defer arrays[j].Release()
	}
	return array.NewRecord(f.schema, arrays, int64(rows)), nil
}

// HasSum reports whether the file has a checksum, as those of sinks.IPC do.
func (f *File) HasSum() bool { return f.ipc.HasSum() }

// Verify reads the whole file and compares it with its checksum, if it has one.
// It must not be called after Close.
func (f *File) Verify(ctx context.Context) error {
	if err := f.ipc.Verify(ctx); err != nil {
		return fmt.Errorf("mapped: %s: %w", f.name, err)
	}
	return nil
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

// mapping is the memory of a file and the allocator of its buffers, which call Free when they are
// released.
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
	// munmap of an address of mmap does not fail.
	_ = m.release()
}

// Allocate and Reallocate serve mutable buffers, of which there are none.
func (m *mapping) Allocate(n int) []byte { return make([]byte, n) }

func (m *mapping) Reallocate(n int, b []byte) []byte {
	out := make([]byte, n)
	copy(out, b)
	return out
}
