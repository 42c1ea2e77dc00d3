package sources

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// maxLine bounds the memory that one line may take: 65 000 attributes of 15
// digits. A binary file, which has few line ends, is refused here.
const maxLine = 1 << 20

// lines reads a text file line by line. It copies nothing: a line is valid
// until the next one is read.
type lines struct {
	file   string // for messages
	r      io.ReadCloser
	limit  int64        // most bytes to read
	widest int          // most bytes of a line; 0 stands for maxLine
	alive  func() error // asked before each read, so that a long scan can be stopped
	budget *budget      // of what the text stands for; nil: there is none
	live   bool         // rows are wanted as they come

	size   int64                // of the file, packed where it is packed; 0: not known
	packed *atomic.Int64        // bytes of it that were read
	note   func(read, of int64) // if set, told so now and then
	told   time.Time

	buf        []byte
	start, end int // what is read but not handed out is buf[start:end]
	taken      int64
	line       int // number of the line handed out last
	last       error
}

// next returns the next line without its end and the blanks around it, and
// io.EOF after the last. Lines end in \n or \r\n. Empty lines are allowed at
// the end of a file only: elsewhere they would shift what follows.
func (l *lines) next() ([]byte, error) {
	for blank := 0; ; {
		row, err := l.raw()
		if err != nil {
			return nil, err
		}
		l.line++
		if row = bytes.TrimSpace(row); len(row) == 0 {
			if blank == 0 {
				blank = l.line
			}
			continue
		}
		if blank > 0 {
			l.line = blank
			return nil, l.errorf("empty line")
		}
		return row, nil
	}
}

// raw returns the bytes up to the next line feed, or to the end of the file.
func (l *lines) raw() ([]byte, error) {
	for seen := 0; ; {
		if i := bytes.IndexByte(l.buf[l.start+seen:l.end], '\n'); i >= 0 {
			row := l.buf[l.start : l.start+seen+i]
			l.start += seen + i + 1
			return row, nil
		}
		seen = l.end - l.start
		if l.last != nil {
			if l.last == io.EOF && seen > 0 {
				row := l.buf[l.start:l.end]
				l.start = l.end
				return row, nil
			}
			return nil, l.last
		}
		if widest := cmp.Or(l.widest, maxLine); seen > widest {
			return nil, l.tooWide("line", widest)
		}
		l.fill()
	}
}

// ahead returns the line that begins so many bytes behind what was handed out, and how many it
// takes with its end. They are 0 at the end of the file, or beyond the width of a line.
func (l *lines) ahead(at int) (line []byte, size int) {
	for {
		text := l.buf[min(l.start+at, l.end):l.end]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			return text[:i], i + 1
		}
		if l.last != nil || l.end-l.start > maxLine {
			return text, len(text)
		}
		l.fill()
	}
}

// ending is the function alive of a reader that ends with ctx.
func ending(ctx context.Context) func() error { return func() error { return context.Cause(ctx) } }

// fill reads once into the free part of the buffer, and sets last when nothing
// comes after that.
func (l *lines) fill() {
	if l.start > 0 { // a long line comes in many reads, and must not be moved for each
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
	}
	if l.end == len(l.buf) {
		var buf []byte
		if buf, l.last = grow(l, l.buf, max(64<<10, len(l.buf))); l.last != nil {
			return
		}
		l.buf = buf[:cap(buf)]
	}
	n := 0
	n, l.last = l.more(l.buf[l.end:])
	l.end += n
}

// read reads what is not handed out, and then from the file.
func (l *lines) read(b []byte) (int, error) {
	if l.start < l.end {
		n := copy(b, l.buf[l.start:l.end])
		l.start += n
		return n, nil
	}
	if l.last != nil {
		return 0, l.last
	}
	return l.more(b)
}

// more reads once from the file.
func (l *lines) more(b []byte) (int, error) {
	if err := l.alive(); err != nil {
		return 0, err
	}
	n, err := l.r.Read(b)
	l.taken += int64(n)
	if l.note != nil && (err != nil || time.Since(l.told) > 50*time.Millisecond) {
		l.told = time.Now()
		l.note(l.packed.Load(), l.size)
	}
	switch {
	case l.taken > l.limit:
		return n, l.tooLong()
	case err == nil || err == io.EOF:
		return n, err
	}
	return n, inFile(l.file, err)
}

// errReturns is the error of a line with a \r that is not before its end.
var errReturns = errors.New(`lines end in \r alone; want \n or \r\n`)

// tooWide is the error of a line that has no end within so many bytes.
func (l *lines) tooWide(line string, most int) error {
	if bytes.IndexByte(l.buf[l.start:l.end], '\r') >= 0 {
		return &FileError{l.file, l.line + 1, errReturns}
	}
	return &FileError{l.file, l.line + 1, fmt.Errorf("%s of more than %d bytes", line, most)}
}

func (l *lines) tooLong() error {
	return &FileError{l.file, 0, fmt.Errorf("more than %d bytes unpacked; raise MaxBytes if that is right", l.limit)}
}

// errorf blames the line that was handed out last.
func (l *lines) errorf(format string, args ...any) error {
	return &FileError{l.file, l.line, fmt.Errorf(format, args...)}
}

func (l *lines) close() error { return l.r.Close() }
