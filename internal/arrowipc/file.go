package arrowipc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unsafe"
)

const magic = "ARROW1"

// ErrNotFile is returned for data that are not a complete Arrow IPC file.
var ErrNotFile = errors.New("not an Arrow IPC file, or a truncated one")

var errTruncated = errors.New("the end is missing: it was truncated")

// Block is the position of a record batch in a file: its message, followed by its body.
type Block struct{ Offset, Meta, Body int64 }

func (b Block) end() int64 { return b.Offset + b.Meta + b.Body }

// File is an IPC file, read by its footer.
type File struct {
	Schema *Schema
	Blocks []Block

	r     io.ReaderAt
	size  int64
	sum   *sum // nil without a checksum
	take  Take
	space space
}

// Take is called before n values of size bytes each are allocated, and, with n = 0, regularly in between. An
// error ends the reading. nil permits everything.
type Take func(n, size int64) error

func (t Take) ask(n, size int64) error {
	if t == nil {
		return nil
	}
	return t(n, size)
}

// IsFile reports whether an input with this beginning is an IPC file, not a stream.
func IsFile(begin []byte) bool {
	return len(begin) >= len(magic) && string(begin[:len(magic)]) == magic
}

// OpenFile reads the schema and the blocks of an IPC file of that size. O(columns + batches).
func OpenFile(r io.ReaderAt, size int64, take Take) (*File, error) {
	const least = 8 + 4 + int64(len(magic))
	if size < least {
		return nil, ErrNotFile
	}
	begin, end := make([]byte, 8), make([]byte, 4+len(magic))
	err := readAt(r, begin, 0)
	if err == nil {
		err = readAt(r, end, size-int64(len(end)))
	}
	switch {
	case err != nil:
		return nil, err
	case !IsFile(begin) || !IsFile(end[4:]):
		return nil, ErrNotFile
	}
	n := int64((&flat{b: end}).i32(0))
	if n < 0 || n > size-least {
		return nil, fmt.Errorf("a footer of %d bytes in a file of %d: %w", n, size, errDamaged)
	}
	// Decoded metadata take about 20 bytes for each byte.
	if err := take.ask(n, 20); err != nil {
		return nil, fmt.Errorf("the footer: %w", err)
	}
	f := &File{r: r, size: size, take: take}
	footer := &flat{b: make([]byte, n)}
	at := size - int64(len(end)) - n
	if err := readAt(r, footer.b, at); err != nil {
		return nil, err
	}
	t := footer.follow(0)
	if f.Schema, err = footer.schema(footer.tableField(t, 1)); err != nil {
		return nil, fmt.Errorf("the schema: %w", err)
	}
	f.Blocks = footer.blocks(t, 3)
	dictionaries := footer.blocks(t, 2)
	if footer.bad {
		return nil, fmt.Errorf("the footer: %w", errDamaged)
	}
	return f, f.cover(dictionaries, at)
}

func (f *flat) blocks(t table, i int) []Block {
	pos, n := f.vector(t, i, 24)
	out := make([]Block, n)
	for i := range out {
		out[i] = Block{f.i64(pos + 24*i), int64(f.i32(pos + 24*i + 8)), f.i64(pos + 24*i + 16)}
	}
	return out
}

// piece is the number of bytes of one read.
const piece = 16 << 20

// slack bounds the padding between two parts of a file. Writers align to at most 64 bytes.
const slack = 64

// cover checks that the footer names everything in the file. A block that the footer omits would otherwise be
// lost without an error.
func (f *File) cover(dictionaries []Block, end int64) error {
	at, err := f.begin(end)
	if err != nil {
		return err
	}
	if !slices.IsSortedFunc(f.Blocks, byOffset) {
		return fmt.Errorf("the footer: its blocks are not in order: %w", errDamaged)
	}
	all := append(dictionaries, f.Blocks...)
	slices.SortStableFunc(all, byOffset)
	for i, b := range all {
		switch {
		case b.Meta < 0 || b.Body < 0 || b.Offset < 0 || b.Offset > end || b.Meta > end-b.Offset || b.Body > end-b.Offset-b.Meta:
			return fmt.Errorf("block %d: %d + %d bytes at %d leave the %d of the file", i, b.Meta, b.Body, b.Offset, end)
		case b.Offset%8 != 0 || b.Meta%8 != 0:
			return fmt.Errorf("block %d: it is at %d, its body at %d, want multiples of 8", i, b.Offset, b.Offset+b.Meta)
		case b.Offset < at || b.Offset-at >= slack:
			return fmt.Errorf("block %d begins at %d, want %d: the footer does not match the file", i, b.Offset, at)
		}
		at = b.end()
	}
	if end-at >= slack+8 { // 8 for the end marker
		return fmt.Errorf("%d bytes at %d belong to no block: the footer does not match the file", end-at, at)
	}
	return f.gap(at, end)
}

func byOffset(a, b Block) int { return cmp.Compare(a.Offset, b.Offset) }

// begin compares the schema at the beginning, which some writers omit, with that of the footer, and returns
// its end.
func (f *File) begin(end int64) (int64, error) {
	const at = 8
	head := make([]byte, 8)
	if at+8 > end || len(f.Blocks) > 0 && f.Blocks[0].Offset == at {
		return at, nil
	}
	if err := readAt(f.r, head, at); err != nil {
		return 0, err
	}
	h := &flat{b: head}
	n := int64(h.i32(0)) + 4
	if n == 3 {
		n = int64(h.i32(4)) + 8
	}
	switch {
	case n < 16 || n > end-at:
		return at, nil // cover returns the error, if there is one
	case n > 0:
		if err := f.take.ask(n, 20); err != nil {
			return 0, fmt.Errorf("the schema at the beginning: %w", err)
		}
	}
	b := make([]byte, n)
	if err := readAt(f.r, b, at); err != nil {
		return 0, err
	}
	s, err := DecodeSchema(b)
	if err == nil && !reflect.DeepEqual(s, f.Schema) {
		err = errors.New("it is not that of the footer")
	}
	if err != nil {
		return 0, fmt.Errorf("the schema at the beginning: %w", err)
	}
	return at + n, nil
}

// Len returns the number of batches.
func (f *File) Len() int { return len(f.Blocks) }

// Read returns the message and the body of batch i. They are valid until the next call.
func (f *File) Read(i int) (meta, body []byte, err error) {
	b := f.Blocks[i]
	if err := f.take.ask(b.Meta+b.Body, 1); err != nil {
		return nil, nil, err
	}
	all := f.space.bytes(b.Meta + b.Body)
	for at := 0; at < len(all); at += piece {
		if err := f.take.ask(0, 1); err != nil {
			return nil, nil, err
		}
		if err := readAt(f.r, all[at:min(at+piece, len(all))], b.Offset+int64(at)); err != nil {
			return nil, nil, err
		}
	}
	return all[:b.Meta], all[b.Meta:], nil
}

// space is reusable memory with the alignment of uint64.
type space []uint64

func (s *space) bytes(n int64) []byte {
	if int64(cap(*s)) < (n+7)/8 {
		*s = make(space, (n+7)/8)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(*s))), n)
}

// readAt fills b. The end of the input is errTruncated, not io.EOF.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	_, err := io.ReadFull(io.NewSectionReader(r, at, int64(len(b))), b)
	return truncated(err)
}
