// Package reading has what the readers of package sources and of the packages below it share: input,
// lines, memory that is charged, and records of graphs that come one by one.
package reading

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

// Input describes the input of a source of one file. Text compressed by gzip or zstd is recognized by its
// first bytes.
type Input struct {
	Kind     string // name of the source in errors
	Path     string
	Fsys     fs.FS
	Reader   io.Reader
	MaxBytes int64 // bound of the decompressed size; 0 = 1 GiB
	Memory   int64 // bound of the parsed data; 0 = 1 GiB
	PerByte  int64 // the default of MaxBytes is at least PerByte times the file size
}

func (in Input) String() string {
	switch {
	case in.Path != "":
		return in.Kind + "(" + in.Path + ")"
	case in.Reader != nil:
		return in.Kind + "(reader)"
	}
	return in.Kind + "()"
}

func (in Input) Lines(alive func() error) (*Lines, error) {
	l := &Lines{File: in.Path, Limit: in.MaxBytes, Alive: alive, Live: in.Reader != nil}
	switch {
	case in.MaxBytes < 0:
		return nil, fmt.Errorf("sources: %s: MaxBytes is %d, want at least 0", in.Kind, in.MaxBytes)
	case in.MaxBytes == 0:
		l.Limit = 1 << 30
	}
	var raw io.ReadCloser
	var err error
	if l.Budget, err = NewBudget(in.Kind, in.Memory, 1<<30); err != nil {
		return nil, err
	}
	switch {
	case in.Reader != nil:
		raw = io.NopCloser(in.Reader) // the caller closes it
	case in.Path == "":
		return nil, fmt.Errorf("sources: %s: no Path and no Reader", in.Kind)
	case in.Fsys != nil:
		raw, err = in.Fsys.Open(in.Path)
	default:
		raw, err = os.Open(in.Path)
	}
	if err != nil {
		return nil, InFile(l.File, err)
	}
	if f, ok := raw.(fs.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			l.size = info.Size()
		}
	}
	if in.MaxBytes == 0 {
		l.Limit = max(l.Limit, in.PerByte*l.size)
	}
	counted := &counting{r: raw}
	l.packed = &counted.n
	b := bufio.NewReader(counted)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		raw.Close()
		return nil, InFile(l.File, err)
	}
	text := &unpacked{raw: raw}
	switch {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		text.form = "gzip"
		text.ReadCloser, err = gzip.NewReader(b)
	case string(magic) == "\x28\xb5\x2f\xfd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20)); err == nil {
			text.form, text.ReadCloser = "zstd", z.IOReadCloser()
		}
	default:
		text.ReadCloser, err = io.NopCloser(b), nil
	}
	if err != nil {
		raw.Close()
		return nil, InFile(l.File, text.plain(err))
	}
	l.R = text
	return l, nil
}

type counting struct {
	r io.Reader
	n atomic.Int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// unpacked is the text of a file, which may be packed.
type unpacked struct {
	io.ReadCloser
	raw  io.Closer
	form string // gzip or zstd; "" = not packed
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	return n, u.plain(err)
}

func (u *unpacked) Close() error {
	u.ReadCloser.Close() // repeats the error of a damaged file
	return u.raw.Close()
}

// plain reports truncation in plain words. Errors of zstd do not name the format.
func (u *unpacked) plain(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && u.form != "":
		return fmt.Errorf("%s: the file is cut short: %w", u.form, err)
	case err != nil && err != io.EOF && u.form == "zstd":
		return fmt.Errorf("zstd: %w", err)
	}
	return err
}
