package sources

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// Readers of tables of text have many rows in the buffer of lines, and hand out where in
// it values are.

const tableBuffer = 256 << 10 // in the second cache, with the spans of the rows in it

// maxBatch is the most rows of a batch.
const maxBatch = 1 << 14

// maxRow bounds the bytes of one row.
const maxRow = 1 << 20

// begin makes the buffer, fills it behind what is read already, and skips a byte order mark.
func (l *lines) begin() error {
	buf := make([]byte, max(tableBuffer, l.end-l.start))
	l.start, l.end = 0, copy(buf, l.buf[l.start:l.end])
	l.buf = buf
	for l.last == nil && l.end < len(l.buf) {
		l.fill()
	}
	if l.last != nil && l.last != io.EOF {
		return l.last
	}
	if bytes.HasPrefix(l.buf[:l.end], []byte("\ufeff")) {
		l.start = 3
	}
	return nil
}

// full moves what is left to the front of the buffer, and reads until that is full, or once where
// rows are wanted as they come.
func (l *lines) full() error {
	for l.last == nil {
		if l.fill(); l.end == len(l.buf) || l.live {
			break
		}
	}
	if l.last == io.EOF {
		return nil
	}
	return l.last
}

// clear makes a batch without rows.
func (b *TableBatch) clear() {
	b.Rows, b.Lines, b.Errors = 0, b.Lines[:0], nil
	for c := range b.Values {
		b.Values[c].Spans = b.Values[c].Spans[:0]
	}
}

// within returns a batch whose rows, up to number row, are in the buffer from some place on, or what
// comes instead of one without rows.
func (b *TableBatch) within(l *lines, from int, instead error, row int64, columns []TableColumn, chosen []int) (*TableBatch, error) {
	if b.Rows == 0 {
		return nil, instead
	}
	for c := range b.Values {
		b.Values[c].Text = l.buf[:l.end]
	}
	if utf8.Valid(l.buf[from:l.start]) {
		return b, nil
	}
	return b, b.utf8(l.file, row-int64(b.Rows), columns, chosen)
}

// utf8 is the error of the first value that is no UTF-8, behind so many rows.
func (b *TableBatch) utf8(file string, rows int64, columns []TableColumn, chosen []int) error {
	for c, v := range b.Values {
		for i, s := range v.Spans {
			if text := v.Text[s.From:s.To]; !utf8.Valid(text) {
				line := 0
				if i < len(b.Lines) {
					line = b.Lines[i]
				}
				return &FileError{file, line, fmt.Errorf("row %d: column %s: %s is no UTF-8", rows+int64(i)+1, quote([]byte(columns[chosen[c]].Name)), quote(text))}
			}
		}
	}
	return nil
}
