package sources

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/sanflow/sanflow/internal/decimal"
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
type Text struct {
	// Path is the file.
	Path string
	// FS, if set, is the file system of Path.
	FS fs.FS
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. The table can then be opened once. Rows are returned as they come.
	Reader io.Reader
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of
	// the file if that is more.
	MaxBytes int64
}

// String names the file, for the plan of a pipeline.
func (s Text) String() string { return input{kind: "Text", path: s.Path, reader: s.Reader}.String() }

// OpenTable reads the first line.
func (s Text) OpenTable(ctx context.Context) (TableReader, error) {
	if err := refuseMETIS(s.Path); err != nil {
		return nil, err
	}
	l, err := input{"Text", s.Path, s.FS, s.Reader, s.MaxBytes, 0, 64}.lines(ending(ctx))
	if err != nil {
		return nil, err
	}
	return textOf(l)
}

// textOf reads the first line, and closes l where that is bad.
func textOf(l *lines) (TableReader, error) {
	r := &textReader{l: l}
	if err := r.open(); err != nil {
		l.close()
		return nil, err
	}
	return r, nil
}

type textReader struct {
	l        *lines
	comma    byte // 0: blanks
	columns  []TableColumn
	chosen   []int
	batch    TableBatch
	text     []byte
	fields   []Span
	ahead    []byte // the first line, where it has values
	values   bool   // a row of values has come
	comments int64  // behind it
	bip      bool   // the first line says that the two ends are numbered apart, as KONECT has it
	err      error
}

// Notes returns a line about comments behind the first row.
func (r *textReader) Notes() []string {
	if r.comments == 0 {
		return nil
	}
	return []string{fmt.Sprintf("left out: %d lines of %s behind the first row that begin with # or %% and have not one value for each of %d columns", r.comments, r.l.file, len(r.columns))}
}

func (r *textReader) Name() string           { return r.l.file }
func (r *textReader) Columns() []TableColumn { return r.columns }
func (r *textReader) Close() error           { return r.l.close() }

func (r *textReader) Choose(columns []int) {
	r.chosen, r.batch.Values = columns, make([]TableValues, len(columns))
}

// line returns the next line with values. If it must not wait, it returns no line where none
// is whole in the buffer.
func (r *textReader) line(wait bool) ([]byte, error) {
	for {
		if !wait && bytes.IndexByte(r.l.buf[r.l.start:r.l.end], '\n') < 0 {
			return nil, nil
		}
		row, err := r.l.raw()
		if err != nil {
			return nil, err
		}
		r.l.line++
		if row = bytes.TrimRight(row, "\r"); r.l.line == 1 {
			row = bytes.TrimPrefix(row, []byte("\ufeff"))
		}
		if bytes.IndexByte(row, '\r') >= 0 {
			return nil, &FileError{r.l.file, r.l.line, errReturns}
		}
		t := bytes.TrimSpace(row)
		if len(bytes.Trim(t, "#% \t")) == 0 {
			continue
		}
		if t[0] == '#' || t[0] == '%' {
			if err := r.comment(t); err != nil {
				return nil, err
			} else if !r.isRow(row) {
				continue
			}
		}
		if r.values = r.values || r.columns != nil; r.comma == '\t' {
			return row, nil // a value may be missing at either end
		}
		return t, nil
	}
}

// comment reads a line that begins with # or %.
func (r *textReader) comment(line []byte) error {
	r.bip = r.bip || r.l.line == 1 && isBipartite(line)
	switch {
	case matrixMarket.Match(line):
		return r.l.errorf("%w", errMatrixMarket)
	case r.values && !r.isRow(line):
		r.comments++
	}
	return nil
}

// isRow reports whether a line that begins with # or % has a value for each column.
func (r *textReader) isRow(line []byte) bool {
	line = bytes.Clone(line) // quotes are taken away in place
	return r.columns != nil && r.split(line) == nil && len(r.fields) == len(r.columns) &&
		len(bytes.Trim(line[r.fields[0].From:r.fields[0].To], "#%")) > 0
}

func (r *textReader) open() error {
	row, err := r.line(true)
	if err == io.EOF {
		return &FileError{r.l.file, 0, fmt.Errorf("it is empty")}
	}
	if err != nil {
		return err
	}
	for _, c := range []byte("\t,;|") {
		if outside(row, c) {
			r.comma = c
			break
		}
	}
	ahead := bytes.Clone(row)
	if err := r.split(row); err != nil {
		return err
	}
	names := true
	for i, f := range r.fields {
		v := row[f.From:f.To]
		if !utf8.Valid(v) {
			return r.l.errorf("column %d: %s is no UTF-8", i+1, quote(v))
		}
		_, bad := decimal.Float(string(v), 64)
		if n := len(time.DateOnly); bad != nil && len(v) >= n {
			_, bad = time.Parse(time.DateOnly, string(v[:n]))
		}
		names = names && bad != nil
		r.columns = append(r.columns, TableColumn{Name: string(v)})
	}
	if !names {
		for i := range r.columns {
			r.columns[i].Name = strconv.Itoa(i + 1)
		}
		r.ahead, r.values = ahead, true
	}
	return nil
}

// outside reports whether c is in a line, and not in quotes.
func outside(row []byte, c byte) bool {
	quoted := false
	for _, b := range row {
		if b == '"' {
			quoted = !quoted
		} else if b == c && !quoted {
			return true
		}
	}
	return false
}

// split finds the values of a line, and unpacks those in quotes where they stand.
func (r *textReader) split(row []byte) error {
	r.fields = r.fields[:0]
	for from := 0; ; {
		if r.comma == 0 {
			for from < len(row) && (row[from] == ' ' || row[from] == '\t') {
				from++
			}
			if from == len(row) {
				return nil
			}
		} else if at := from + blanks(row[from:]); at < len(row) && row[at] == '"' {
			end, to := unpack(row, at)
			if end += blanks(row[min(end, len(row)):]); end > len(row) || end < len(row) && row[end] != r.comma {
				return r.l.errorf("value %d: %s begins with a quote that does not end it", len(r.fields)+1, quote(row[at:]))
			}
			r.fields = append(r.fields, Span{int32(at + 1), int32(to)})
			if from = end + 1; from > len(row) {
				return nil
			}
			continue
		}
		to := bytes.IndexByte(row[from:], r.comma)
		if r.comma == 0 {
			to = bytes.IndexAny(row[from:], " \t")
		}
		if to < 0 {
			to = len(row) - from
		}
		v := bytes.TrimSpace(row[from : from+to])
		at := from
		for at < from+to && len(v) > 0 && row[at] != v[0] {
			at++
		}
		r.fields = append(r.fields, Span{int32(at), int32(at + len(v))})
		if from += to + 1; from > len(row) || r.comma == 0 && from == len(row) {
			return nil
		}
	}
}

// blanks is how many blanks a text begins with.
func blanks(text []byte) (n int) {
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n
}

// unpack takes apart the value whose quote opens at a place, in the place behind it up to
// to, and returns where the line goes on behind the closing quote: beyond its end, where
// there is none.
func unpack(row []byte, at int) (end, to int) {
	to = at + 1
	for i := at + 1; i < len(row); i++ {
		if row[i] == '"' {
			if i+1 == len(row) || row[i+1] != '"' {
				return i + 1, to
			}
			i++
		}
		row[to] = row[i]
		to++
	}
	return len(row) + 1, to
}

func (r *textReader) Next() (*TableBatch, error) {
	b := &r.batch
	b.Rows, b.Lines, r.text = 0, b.Lines[:0], r.text[:0]
	for i := range b.Values {
		b.Values[i].Spans = b.Values[i].Spans[:0]
	}
	for r.err == nil && b.Rows < maxBatch && len(r.text) < 1<<20 {
		row := r.ahead
		if r.ahead = nil; row == nil {
			// Rows that are held do not wait for the next one.
			if row, r.err = r.line(b.Rows == 0 || !r.l.live); row == nil {
				break
			}
		}
		if r.err = r.split(row); r.err != nil {
			break
		}
		if len(r.fields) != len(r.columns) {
			r.err = r.l.errorf("%d values, want one for each of %d columns", len(r.fields), len(r.columns))
			break
		}
		for c, at := range r.chosen {
			f := r.fields[at]
			from := int32(len(r.text))
			v := row[f.From:f.To]
			if !utf8.Valid(v) {
				r.err = r.l.errorf("column %s: %s is no UTF-8", quote([]byte(r.columns[at].Name)), quote(v))
				break
			}
			r.text = append(r.text, v...)
			b.Values[c].Spans = append(b.Values[c].Spans, Span{from, int32(len(r.text))})
		}
		if r.err != nil {
			break
		}
		b.Lines = append(b.Lines, r.l.line)
		b.Rows++
	}
	for i := range b.Values {
		b.Values[i].Text = r.text
		b.Values[i].Spans = b.Values[i].Spans[:b.Rows]
	}
	if b.Rows == 0 {
		return nil, r.err
	}
	return b, nil
}
