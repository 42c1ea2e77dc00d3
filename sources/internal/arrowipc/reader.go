package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/sources/internal/tabular"
)

// Reader reads the record batches of one file or stream.
type Reader struct {
	r       io.Reader
	left    int64 // bytes of the messages to come; -1 where nobody knows
	budget  *tabular.Budget
	columns []tabular.Column
	nodes   []*node
	meta    arrow.Metadata
	use     []bool
	file    bool // and not a stream
	batches int  // so far

	frame []byte   // metadata of the message in hand
	body  []uint64 // its body, aligned
}

// Headers of messages.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

var magic = []byte("ARROW1")

// NewReader reads the schema. size is that of the whole input, or -1. An IPC
// file is read from its beginning, like the stream that it holds; its footer
// tells the schema, and where that ends.
func NewReader(r io.Reader, at io.ReaderAt, size int64, budget *tabular.Budget) (_ *Reader, err error) {
	defer caught(&err)
	d := &Reader{r: r, left: size, budget: budget}
	start := make([]byte, 8)
	if n, err := io.ReadFull(r, start); err != nil {
		return nil, fmt.Errorf("%d bytes are no Arrow IPC", n)
	}
	if string(start[:6]) == string(magic) {
		if size < 0 {
			return nil, errors.New("this is an IPC file, not a stream: it has to be read from its end too")
		}
		return d, d.readFooter(at, size)
	}
	if size >= 0 {
		d.left -= 8
	}
	header, kind, _, err := d.message(start)
	if err != nil {
		return nil, unexpected(err)
	}
	if kind != headerSchema {
		return nil, fmt.Errorf("the first message is of kind %d, want a schema", kind)
	}
	return d, d.readSchema(header)
}

// readFooter reads the schema at the end of an IPC file: not every writer has it
// at the beginning too. What is between are the messages.
func (r *Reader) readFooter(at io.ReaderAt, size int64) error {
	end := make([]byte, 10)
	if size < 20 {
		return fmt.Errorf("%d bytes are no IPC file", size)
	}
	if _, err := at.ReadAt(end, size-10); err != nil {
		return err
	}
	if string(end[4:]) != string(magic) {
		return errors.New("the end of the IPC file is missing: it was truncated")
	}
	n := int64(int32(binary.LittleEndian.Uint32(end)))
	if n < 0 || n > size-18 {
		return fmt.Errorf("the IPC file has a footer of %d bytes, which do not fit its %d", n, size)
	}
	if err := r.budget.Take(n, 1); err != nil {
		return fmt.Errorf("the footer: %w", err)
	}
	footer := make([]byte, n)
	if _, err := at.ReadAt(footer, size-10-n); err != nil {
		return err
	}
	r.left = size - 18 - n
	schema, ok := root(footer).table(1)
	if !ok {
		return errors.New("the IPC file has no schema")
	}
	r.file = true
	return r.readSchema(schema)
}

// Columns returns what the file holds.
func (r *Reader) Columns() ([]tabular.Column, arrow.Metadata) { return r.columns, r.meta }

// Choose says which columns are wanted.
func (r *Reader) Choose(use []bool) { r.use = use }

// Next returns the next batch, or io.EOF. Its values are valid until the next
// call.
func (r *Reader) Next() (b tabular.Batch, err error) {
	defer caught(&err)
	for {
		r.budget.Reset()
		header, kind, body, err := r.message(nil)
		if err != nil {
			return b, err
		}
		switch kind {
		case headerDictionary: // of columns that are not read
		case headerSchema:
			if !r.file {
				return b, errors.New("there is a second schema")
			}
		case headerBatch:
			b, err := r.batch(header, body)
			if err != nil {
				err = fmt.Errorf("batch %d: %w", r.batches, err)
			}
			r.batches++
			return b, err
		default:
			return b, fmt.Errorf("a message of kind %d, want a record batch", kind)
		}
	}
}

// message reads a message; begin are bytes of it that were read already.
func (r *Reader) message(begin []byte) (header flat, kind int, body []byte, err error) {
	if begin == nil {
		if r.left >= 0 && r.left < 8 {
			return header, 0, nil, io.EOF
		}
		begin = make([]byte, 8)
		n, err := io.ReadFull(r.r, begin)
		switch {
		case n == 0 && err == io.EOF && r.left < 0:
			return header, 0, nil, io.EOF
		case n >= 4 && err != nil && binary.LittleEndian.Uint32(begin) == 0:
			return header, 0, nil, io.EOF // the end of a stream, as older writers mark it
		case err != nil:
			return header, 0, nil, unexpected(err)
		}
		if r.left >= 0 {
			r.left -= 8
		}
	}
	if binary.LittleEndian.Uint32(begin) != 0xffffffff {
		if binary.LittleEndian.Uint32(begin) == 0 {
			return header, 0, nil, io.EOF
		}
		return header, 0, nil, errors.New("there is no message where one should be")
	}
	n := int64(int32(binary.LittleEndian.Uint32(begin[4:])))
	if n == 0 {
		return header, 0, nil, io.EOF
	}
	if err := r.take(n); err != nil {
		return header, 0, nil, fmt.Errorf("the metadata of a message: %w", err)
	}
	if int64(cap(r.frame)) < n {
		r.frame = make([]byte, n)
	}
	r.frame = r.frame[:n]
	if _, err := io.ReadFull(r.r, r.frame); err != nil {
		return header, 0, nil, unexpected(err)
	}
	m := root(r.frame)
	n = m.int64(3)
	if err := r.take(n); err != nil {
		return header, 0, nil, fmt.Errorf("the body of a message: %w", err)
	}
	if int64(cap(r.body)) < (n+7)/8 {
		r.body = make([]uint64, (n+7)/8)
	}
	body = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(r.body))), n)
	if _, err := io.ReadFull(r.r, body); err != nil {
		return header, 0, nil, unexpected(err)
	}
	header, ok := m.table(2)
	if !ok {
		return header, 0, nil, errors.New("a message without a header")
	}
	return header, int(m.int8(1)), body, nil
}

// take accounts for n bytes of the input, before there is memory for them.
func (r *Reader) take(n int64) error {
	if r.left >= 0 {
		if n < 0 || n > r.left {
			return fmt.Errorf("%d bytes, where %d are left of the file: it is damaged or truncated", n, r.left)
		}
		r.left -= n
	}
	return r.budget.Take(n, 1)
}

func unexpected(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("the end is missing: it was truncated")
	}
	return err
}

// caught turns a position outside a message into an error.
func caught(err *error) {
	if r := recover(); r != nil {
		if _, ok := r.(runtime.Error); !ok {
			panic(r)
		}
		*err = errors.New("the metadata of a message is damaged")
	}
}
