package reading

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// MaxLine bounds a line: 65 000 attributes of 15 digits. It also rejects binary files, which have few line
// ends.
const MaxLine = 1 << 20

// TableBuffer is the buffer size of table readers.
const TableBuffer = 256 << 10 // fits the level-2 cache, with the spans of its rows

// Lines reads a text file line by line without copying. A line is valid until the next read.
type Lines struct {
	File   string // path for errors
	R      io.ReadCloser
	Limit  int64        // bound of the decompressed size
	Widest int          // bound of a line; 0 = MaxLine
	Alive  func() error // called before each read; its error stops the reading
	Budget *Budget      // budget of the parsed data, or nil
	Live   bool         // rows are returned as they arrive

	size   int64                // file size, compressed if the file is; 0 = unknown
	packed *atomic.Int64        // bytes read of the file so far
	Note   func(read, of int64) // progress callback; optional
	told   time.Time

	Buf        []byte
	Start, End int // Buf[Start:End] is read but not returned yet
	taken      int64
	Line       int // number of the last line returned
	Last       error
}

// Next returns the next line without its end, which is \n or \r\n, and without surrounding blanks. It returns io.EOF after
// the last line. Empty lines are allowed only at the end of the file, since elsewhere they would shift the numbering of
// the items.
func (l *Lines) Next() ([]byte, error) {
	for blank := 0; ; {
		row, err := l.Raw()
		if err != nil {
			return nil, err
		}
		l.Line++
		if row = bytes.TrimSpace(row); len(row) == 0 {
			if blank == 0 {
				blank = l.Line
			}
			continue
		}
		if blank > 0 {
			l.Line = blank
			return nil, l.Errorf("empty line")
		}
		return row, nil
	}
}

// Raw returns the bytes up to the next \n or the end of the file.
func (l *Lines) Raw() ([]byte, error) {
	for seen := 0; ; {
		if i := bytes.IndexByte(l.Buf[l.Start+seen:l.End], '\n'); i >= 0 {
			row := l.Buf[l.Start : l.Start+seen+i]
			l.Start += seen + i + 1
			return row, nil
		}
		seen = l.End - l.Start
		if l.Last != nil {
			if l.Last == io.EOF && seen > 0 {
				row := l.Buf[l.Start:l.End]
				l.Start = l.End
				return row, nil
			}
			return nil, l.Last
		}
		if widest := cmp.Or(l.Widest, MaxLine); seen > widest {
			err := fmt.Errorf("line of more than %d bytes", widest)
			if bytes.IndexByte(l.Buf[l.Start:l.End], '\r') >= 0 {
				err = ErrReturns
			}
			return nil, &FileError{l.File, l.Line + 1, err}
		}
		l.Fill()
	}
}

// Ahead returns the line at offset at beyond the last line returned, without reading it, and its size with
// the line end. Both are empty at the end of the file, and for a line beyond MaxLine.
func (l *Lines) Ahead(at int) (line []byte, size int) {
	for {
		text := l.Buf[min(l.Start+at, l.End):l.End]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			return text[:i], i + 1
		}
		if l.Last != nil || l.End-l.Start > MaxLine {
			return text, len(text)
		}
		l.Fill()
	}
}

// Ending returns an Alive function that reports the end of ctx.
func Ending(ctx context.Context) func() error { return func() error { return context.Cause(ctx) } }

// Fill reads once into the free part of the buffer. It sets Last at the end of the file or an error.
func (l *Lines) Fill() {
	if l.Start > 0 { // move once: a long line takes many reads
		copy(l.Buf, l.Buf[l.Start:l.End])
		l.Start, l.End = 0, l.End-l.Start
	}
	if l.End == len(l.Buf) {
		var buf []byte
		if buf, l.Last = Grow(l, l.Buf, max(64<<10, len(l.Buf))); l.Last != nil {
			return
		}
		l.Buf = buf[:cap(buf)]
	}
	n := 0
	n, l.Last = l.more(l.Buf[l.End:])
	l.End += n
}

// Read implements io.Reader: it returns the buffered bytes first.
func (l *Lines) Read(b []byte) (int, error) {
	if l.Start < l.End {
		n := copy(b, l.Buf[l.Start:l.End])
		l.Start += n
		return n, nil
	}
	if l.Last != nil {
		return 0, l.Last
	}
	return l.more(b)
}

// Mark is the UTF-8 byte order mark, which is dropped at the beginning of a text.
const Mark = "\ufeff"

// more reads once from the file. At the beginning it drops a byte order mark.
func (l *Lines) more(b []byte) (int, error) {
	if err := l.Alive(); err != nil {
		return 0, err
	}
	n, err := l.R.Read(b)
	if l.taken == 0 {
		for n < len(Mark) && n < len(b) && err == nil && strings.HasPrefix(Mark, string(b[:n])) {
			m := 0
			m, err = l.R.Read(b[n:])
			n += m
		}
		if bytes.HasPrefix(b[:n], []byte(Mark)) {
			l.taken = int64(len(Mark))
			n = copy(b, b[len(Mark):n])
		}
	}
	l.taken += int64(n)
	if l.Note != nil && (err != nil || time.Since(l.told) > 50*time.Millisecond) {
		l.told = time.Now()
		l.Note(l.packed.Load(), l.size)
	}
	switch {
	case l.taken > l.Limit:
		return n, &FileError{l.File, 0, fmt.Errorf("more than %d bytes unpacked; raise MaxBytes if that is right", l.Limit)}
	case err == nil || err == io.EOF:
		return n, err
	}
	return n, InFile(l.File, err)
}

// ErrReturns is the error of a \r that does not precede a \n.
var ErrReturns = errors.New(`lines end in \r alone; want \n or \r\n`)

// Errorf returns an error at the last line returned.
func (l *Lines) Errorf(format string, args ...any) error {
	return &FileError{l.File, l.Line, fmt.Errorf(format, args...)}
}

func (l *Lines) Close() error { return l.R.Close() }

// Begin allocates the buffer. With fill it reads until the buffer is full, else once.
func (l *Lines) Begin(fill bool) error {
	buf := make([]byte, max(TableBuffer, l.End-l.Start))
	l.Start, l.End = 0, copy(buf, l.Buf[l.Start:l.End])
	l.Buf = buf
	for l.Last == nil && (l.End == 0 || fill && l.End < len(l.Buf)) {
		l.Fill()
	}
	if l.Last == io.EOF {
		return nil
	}
	return l.Last
}

// Full moves the unread bytes to the front and fills the buffer. With Live it reads once.
func (l *Lines) Full() error {
	for l.Last == nil {
		if l.Fill(); l.End == len(l.Buf) || l.Live {
			break
		}
	}
	if l.Last == io.EOF {
		return nil
	}
	return l.Last
}

// Objects reports whether the text is a sequence or an array of JSON objects, by its first two bytes that are
// not blank.
func (l *Lines) Objects() bool {
	var begin []byte
	for at := 0; l.Last == nil && len(begin) < 2 && l.End < MaxLine; {
		l.Fill()
		for ; at < l.End && len(begin) < 2; at++ {
			c := l.Buf[at]
			if blank := strings.IndexByte(" \t\r\n\v\f", c) >= 0; !blank {
				begin = append(begin, c)
			}
		}
	}
	return string(begin) == `{"` || string(begin) == "[{"
}
