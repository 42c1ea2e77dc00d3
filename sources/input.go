package sources

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// input is where a source of one file reads from. Text that gzip or
// zstd has packed is unpacked, whatever the name of the file is.
type input struct {
	kind     string // of the source, for messages
	path     string
	fsys     fs.FS
	reader   io.Reader
	maxBytes int64 // unpacked; 0 stands for 1 GiB
	memory   int64 // of what it stands for; 0 stands for 1 GiB
	perByte  int64 // of a file: maxBytes is no less than so many times its size
}

func (in input) String() string {
	switch {
	case in.path != "":
		return in.kind + "(" + in.path + ")"
	case in.reader != nil:
		return in.kind + "(reader)"
	}
	return in.kind + "()"
}

// lines opens the input.
func (in input) lines(alive func() error) (*lines, error) {
	l := &lines{file: in.path, limit: in.maxBytes, alive: alive, live: in.reader != nil}
	switch {
	case in.maxBytes < 0:
		return nil, fmt.Errorf("sources: %s: MaxBytes is %d, want at least 0", in.kind, in.maxBytes)
	case in.maxBytes == 0:
		l.limit = 1 << 30
	}
	var raw io.ReadCloser
	var err error
	if l.budget, err = newBudget(in.kind, in.memory, 1<<30); err != nil {
		return nil, err
	}
	switch {
	case in.reader != nil:
		raw = io.NopCloser(in.reader) // it is the caller's to close
	case in.path == "":
		return nil, fmt.Errorf("sources: %s: no Path and no Reader", in.kind)
	case in.fsys != nil:
		raw, err = in.fsys.Open(in.path)
	default:
		raw, err = os.Open(in.path)
	}
	if err != nil {
		return nil, inFile(l.file, err)
	}
	if f, ok := raw.(fs.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			l.size = info.Size()
		}
	}
	if in.maxBytes == 0 {
		l.limit = max(l.limit, in.perByte*l.size)
	}
	counted := &counting{r: raw}
	l.packed = &counted.n
	b := bufio.NewReader(counted)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		raw.Close()
		return nil, inFile(l.file, err)
	}
	switch {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
	case string(magic) == "\x28\xb5\x2f\xfd":
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			raw.Close()
			return nil, inFile(l.file, err)
		}
		l.r = zstdReader{z, raw}
		return l, nil
	default:
		l.r = readCloser{b, raw}
		return l, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		raw.Close()
		return nil, inFile(l.file, cutShort(err))
	}
	l.r = readCloser{gzipReader{z}, raw}
	return l, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// counting counts what is read.
type counting struct {
	r io.Reader
	n atomic.Int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// zstdReader says what an unexpected end of its input means.
type zstdReader struct {
	z   *zstd.Decoder
	raw io.Closer
}

func (z zstdReader) Read(p []byte) (int, error) {
	n, err := z.z.Read(p)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("zstd: the file is cut short: %w", err)
	case err != nil && err != io.EOF:
		err = fmt.Errorf("zstd: %w", err)
	}
	return n, err
}

func (z zstdReader) Close() error {
	z.z.Close()
	return z.raw.Close()
}

// gzipReader says what an unexpected end of its input means.
type gzipReader struct{ z *gzip.Reader }

func (g gzipReader) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	return n, cutShort(err)
}

func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("gzip: the file is cut short: %w", err)
	}
	return err
}
