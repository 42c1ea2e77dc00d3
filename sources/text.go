package sources

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode"

	"github.com/sanflow/sanflow/internal/decimal"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Text is a [Table] of lines of values, as edge lists have them, plain or packed by gzip or zstd:
// the values stand between tabs, commas, semicolons or bars, whichever the first line has, or else
// between blanks. A value may be enclosed in double quotes, with quotes in it doubled; it ends on
// its line. Empty lines are skipped, and so are lines that begin with # or %; but behind the names of
// columns such a line is a row if it has one value for each column, and others behind the first row
// are counted in [TableSet.Notes]. All lines have as many values as the first. Lines end in \n or \r\n; a \r within a line is an error. A
// Matrix Market file is an error.
//
// Columns are called 1, 2, 3 …, or by the first line if it has no number and no date,
// such as 2006-01-02: then it is their names.
//
// Where the first line that is not empty begins with {" or [{, the file has JSON objects, and is read as [JSONLines] is.
type Text struct {
	// Path is the file.
	Path string
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. The table can then be opened once. Rows are returned as they come. Of objects, OpenTable
	// first reads 256 KiB, or to the end.
	Reader io.Reader
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of
	// the file if that is more.
	MaxBytes int64
}

// String names the file, for the plan of a pipeline.
func (s Text) String() string {
	return reading.Input{Kind: "Text", Path: s.Path, Reader: s.Reader}.String()
}

// OpenTable reads the first line, or of objects the first rows.
func (s Text) OpenTable(ctx context.Context) (TableReader, error) {
	if err := refuseMETIS(s.Path); err != nil {
		return nil, err
	}
	l, err := reading.Input{Kind: "Text", Path: s.Path, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}.Lines(reading.Ending(ctx))
	if err != nil {
		return nil, err
	}
	if l.Objects() {
		return jsonOf(l)
	}
	form := &textSplit{l: l}
	r := &textReader{rowReader{textTable: textTable{l: l}, form: form}, form}
	if err := r.open(); err != nil {
		l.Close()
		return nil, err
	}
	return r, nil
}

type textReader struct {
	rowReader
	form *textSplit
}

// Notes returns a line about comments behind the first row.
func (r *textReader) Notes() []string { return commentNotes(r.comments, r.l.File, len(r.columns)) }

// open sets the columns to the words of the first line. If one is a number or a date, the line is a row, and the names are 1, 2, …
func (r *textReader) open() error {
	if err := r.l.Begin(false); err != nil {
		return err
	}
	err := r.record()
	if err == io.EOF {
		return &FileError{File: r.l.File, Line: 0, Err: fmt.Errorf("it is empty")}
	}
	if err != nil {
		return err
	}
	columns, err := r.names()
	if err != nil {
		return err
	}
	r.columns, r.form.columns = columns, len(columns)
	for _, c := range columns {
		_, bad := decimal.Float(c.Name, 64)
		if n := len(time.DateOnly); bad != nil && len(c.Name) >= n {
			_, bad = time.Parse(time.DateOnly, c.Name[:n])
		}
		if bad == nil { // the first line has values, so restore it
			copy(r.l.Buf[r.split.begin:], r.form.line)
			for i := range columns {
				columns[i].Name = strconv.Itoa(i + 1)
			}
			return nil
		}
	}
	r.l.Start, r.l.Line = r.split.next, r.split.line
	return nil
}

// textSplit is the splitter of lines whose values are separated by blanks, or by one character.
type textSplit struct {
	l       *reading.Lines // input; errors name its file
	comma   byte           // separator; 0 = blanks
	columns int            // number of columns; 0 = first line not read yet
	line    []byte         // copy of the first line, since the values are unescaped in place
	bip     bool           // the first line is the KONECT header of a bipartite network
}

func (s *textSplit) split(r *splitRow, b []byte, p int, eof bool) error {
	for {
		row, next, err := r.nextLine(b, p, eof)
		if err != nil {
			return err
		}
		from := p
		row, p = bytes.TrimRight(row, "\r"), next
		if bytes.IndexByte(row, '\r') >= 0 {
			return &FileError{File: s.l.File, Line: r.line, Err: reading.ErrReturns}
		}
		text := bytes.TrimSpace(row)
		if len(bytes.Trim(text, "#% \t")) == 0 {
			continue
		}
		if s.columns == 0 && text[0] != '#' && text[0] != '%' {
			s.line = append([]byte{}, row...)
			counts := separators(text)
			for _, c := range []byte("\t,;|") {
				if counts[c] > 0 {
					s.comma = c
					break
				}
			}
		}
		if s.comma != '\t' { // with tabs, an outer value may be missing
			from += len(row) - len(bytes.TrimLeftFunc(row, unicode.IsSpace))
			row = text
		}
		if text[0] == '#' || text[0] == '%' {
			s.bip = s.bip || r.line == 1 && isBipartite(text)
			if matrixMarket.Match(text) {
				return &FileError{File: s.l.File, Line: r.line, Err: errMatrixMarket}
			}
			if s.columns == 0 || s.values(r, row, from) != nil || len(r.fields) != s.columns || len(bytes.Trim(b[r.fields[0].From:r.fields[0].To], "#%")) == 0 {
				r.comments++
				continue
			}
		} else if err := s.values(r, row, from); err != nil {
			return &FileError{File: s.l.File, Line: r.line, Err: err}
		}
		r.end(b, p)
		return nil
	}
}

// values splits a line, whose offset in the buffer is place.
func (s *textSplit) values(r *splitRow, row []byte, place int) error {
	r.fields, r.dirty = r.fields[:0], r.dirty[:0]
	for from := 0; ; {
		if s.comma == 0 {
			for from < len(row) && reading.IsBlank(row[from]) {
				from++
			}
			if from == len(row) {
				return nil
			}
		} else if at := from + blanks(row[from:]); at < len(row) && row[at] == '"' {
			end := at + 1
			for end < len(row) && (row[end] != '"' || end+1 < len(row) && row[end+1] == '"') {
				if row[end] == '"' {
					end++
				}
				end++
			}
			behind := end + 1 + blanks(row[min(end+1, len(row)):])
			if end >= len(row) || behind < len(row) && row[behind] != s.comma {
				return fmt.Errorf("value %d: %s begins with a quote that does not end it", len(r.fields)+1, reading.Quote(row[at:]))
			}
			if bytes.IndexByte(row[at+1:end], '"') >= 0 {
				r.dirty = append(r.dirty, len(r.fields))
			}
			r.fields = append(r.fields, Span{int32(place + at + 1), int32(place + end)})
			if from = behind + 1; from > len(row) {
				return nil
			}
			continue
		}
		to := bytes.IndexByte(row[from:], s.comma)
		if s.comma == 0 {
			to = bytes.IndexAny(row[from:], " \t")
		}
		if to < 0 {
			to = len(row) - from
		}
		value := bytes.TrimLeftFunc(row[from:from+to], unicode.IsSpace)
		at := place + from + to - len(value)
		r.fields = append(r.fields, Span{int32(at), int32(at + len(bytes.TrimSpace(value)))})
		if from += to + 1; from > len(row) || s.comma == 0 && from == len(row) {
			return nil
		}
	}
}

// blanks returns the number of leading blanks.
func blanks(text []byte) (n int) {
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n
}
