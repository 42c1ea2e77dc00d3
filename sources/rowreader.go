package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Readers of text tables keep many rows in the buffer of Lines, and return spans of it.

// maxBatch bounds the rows of a batch.
const maxBatch = 1 << 14

// maxRow bounds a row in bytes.
const maxRow = 1 << 20

// splitter splits rows of a text format.
type splitter interface {
	// split splits the row at offset p of b. eof means that b ends the file. The error is errShort if the row
	// continues beyond b, and io.EOF if no row follows. A *FileError is returned unchanged. Any other error
	// concerns the next value.
	split(r *splitRow, b []byte, p int, eof bool) error
}

var errShort = errors.New("the row goes on")

// splitRow is the current row and the position in the text.
type splitRow struct {
	fields   []Span
	dirty    []int // fields that contain doubled quotes
	begin    int   // offset of the row, after skipped lines
	next     int   // offset of the next row
	line     int   // number of lines before the row; after split, up to its end
	first    int   // line on which the row begins
	comments int64 // comment lines skipped before the row
	quoted   bool  // the row ended within quotes
}

// start empties s for a row that begins at offset p.
func (s *splitRow) start(p int) {
	s.fields, s.dirty, s.begin, s.first, s.quoted = s.fields[:0], s.dirty[:0], p, s.line+1, false
}

// nextLine returns the line at p and the offset of the next line. Errors are io.EOF and errShort.
func (s *splitRow) nextLine(b []byte, p int, eof bool) (line []byte, next int, err error) {
	s.start(p)
	end := bytes.IndexByte(b[p:], '\n')
	switch {
	case end < 0 && !eof:
		return nil, p, errShort
	case p == len(b):
		return nil, p, io.EOF
	case end < 0:
		end = len(b) - p
	}
	s.line++
	return b[p : p+end], min(p+end+1, len(b)), nil
}

// end ends the row before p, and unescapes its quoted values.
func (s *splitRow) end(b []byte, p int) {
	s.next = p
	for _, i := range s.dirty {
		f := &s.fields[i]
		f.To = f.From + int32(plainText(b[f.From:f.To]))
	}
}

// plainText unescapes doubled quotes in place, and returns the new length.
func plainText(b []byte) int {
	n := 0
	for i := 0; i < len(b); i++ {
		if i+1 < len(b) && b[i] == '"' {
			i++
		}
		b[n] = b[i]
		n++
	}
	return n
}

// textTable is what the TableReaders of text files share.
type textTable struct {
	l        *reading.Lines
	columns  []TableColumn
	chosen   []int
	batch    TableBatch
	row      int64 // rows returned so far
	comments int64 // comment lines after the first row
	err      error // error or io.EOF that follows the batch
}

func (r *textTable) Name() string           { return r.l.File }
func (r *textTable) Columns() []TableColumn { return r.columns }
func (r *textTable) Close() error           { return r.l.Close() }

func (r *textTable) Choose(columns []int) {
	r.chosen, r.batch.Values = columns, make([]TableValues, len(columns))
}

// rowReader is the TableReader of lines that a splitter splits.
type rowReader struct {
	textTable
	form   splitter
	split  splitRow
	ragged bool
}

// skip moves past the comment lines before a row.
func (r *rowReader) skip() {
	r.l.Start, r.l.Line = r.split.begin, r.split.first-1
	if r.row > 0 {
		r.comments += r.split.comments
	}
}

// record splits the next row, and moves l.Start to its beginning. It returns io.EOF at the end.
func (r *rowReader) record() error {
	l, s := r.l, &r.split
	for {
		s.line, s.comments = l.Line, 0
		err := r.form.split(s, l.Buf[:l.End], l.Start, l.Last == io.EOF)
		file := (*FileError)(nil)
		switch {
		case err == nil || err == io.EOF:
			r.skip()
			return err
		case errors.As(err, &file):
			return err
		case err != errShort:
			return r.blame(err)
		}
		r.skip()
		if l.End-l.Start > maxRow {
			if bytes.IndexByte(l.Buf[l.Start:l.End], '\r') >= 0 && bytes.IndexByte(l.Buf[l.Start:l.End], '\n') < 0 {
				return &FileError{File: l.File, Line: l.Line + 1, Err: reading.ErrReturns}
			}
			if s.quoted {
				return r.blame(fmt.Errorf("the quote that opens the value is not closed within %d bytes", maxRow))
			}
			return r.blame(fmt.Errorf("a row of more than %d bytes", maxRow))
		}
		if err := l.Full(); err != nil {
			return err
		}
	}
}

// blame adds row and column to an error about the next value.
func (r *rowReader) blame(err error) error {
	what, column := fmt.Sprintf("row %d: ", r.row+1), len(r.split.fields)
	if r.columns == nil {
		what = "the names of columns: "
	} else if column < len(r.columns) {
		what += fmt.Sprintf("column %s: ", reading.Quote([]byte(r.columns[column].Name)))
	}
	return &FileError{File: r.l.File, Line: r.split.line + 1, Err: fmt.Errorf("%s%w", what, err)}
}

// names converts the row to column names.
func (r *rowReader) names() (columns []TableColumn, err error) {
	for _, f := range r.split.fields {
		name := r.l.Buf[f.From:f.To]
		if !utf8.Valid(name) {
			return nil, &FileError{File: r.l.File, Line: r.split.first, Err: fmt.Errorf("the name %s of a column is no UTF-8", reading.Quote(name))}
		}
		columns = append(columns, TableColumn{Name: string(name)})
	}
	return columns, nil
}

// Next returns the rows that are in the buffer.
func (r *rowReader) Next() (*TableBatch, error) {
	l, b, s := r.l, &r.batch, &r.split
	b.clear()
	if r.err == nil && l.Last == nil && !l.Live && l.End-l.Start < len(l.Buf)/2 {
		r.err = l.Full()
	}
	from := l.Start
	for r.err == nil && b.Rows < maxBatch {
		if b.Rows > 0 { // the buffer must not move: earlier rows are spans of it
			s.line, s.comments = l.Line, 0
			if r.form.split(s, l.Buf[:l.End], l.Start, l.Last == io.EOF) != nil {
				break // the next call reports the error
			}
			r.skip()
		} else if r.err = r.record(); r.err != nil {
			break
		} else {
			from = l.Start
		}
		fields := s.fields
		if len(fields) != len(r.columns) {
			err := &FileError{File: l.File, Line: s.first, Err: fmt.Errorf("row %d: %d values, want one for each of %d columns", r.row+1, len(fields), len(r.columns))}
			if !r.ragged {
				r.err = err
				break
			}
			if b.Errors == nil {
				b.Errors = map[int]error{}
			}
			b.Errors[b.Rows] = err
			fields = make([]Span, len(r.columns))
		}
		for c, at := range r.chosen {
			b.Values[c].Spans = append(b.Values[c].Spans, fields[at])
		}
		b.Lines = append(b.Lines, s.first)
		b.Rows++
		r.row++
		l.Start, l.Line = s.next, s.line
	}
	if b.Rows == 0 {
		return nil, r.err
	}
	for c := range b.Values {
		b.Values[c].Text = l.Buf[:l.End]
	}
	if utf8.Valid(l.Buf[from:l.Start]) {
		return b, nil
	}
	return b, b.utf8(l.File, r.row-int64(b.Rows), r.columns, r.chosen)
}

func (b *TableBatch) clear() {
	b.Rows, b.Lines, b.Errors = 0, b.Lines[:0], nil
	for c := range b.Values {
		b.Values[c].Spans = b.Values[c].Spans[:0]
	}
}

// utf8 returns an error for the first value that is not valid UTF-8. rows is the number of rows before the
// batch.
func (b *TableBatch) utf8(file string, rows int64, columns []TableColumn, chosen []int) error {
	for c, v := range b.Values {
		for i, s := range v.Spans {
			if text := v.Text[s.From:s.To]; !utf8.Valid(text) {
				line := 0
				if i < len(b.Lines) {
					line = b.Lines[i]
				}
				return &FileError{File: file, Line: line, Err: fmt.Errorf("row %d: column %s: %s is no UTF-8", rows+int64(i)+1, reading.Quote([]byte(columns[chosen[c]].Name)), reading.Quote(text))}
			}
		}
	}
	return nil
}
