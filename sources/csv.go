package sources

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// CSV is a Table of comma-separated values (RFC 4180), plain or packed by gzip or zstd. Its
// first row has the names of the columns:
//
//	from,to,type,amount
//	ada,bob,card,12.50
//	"Smith, J.",ada,cash,3
//
// Rows end in \n or \r\n; a \r elsewhere is an error, except in quotes. Empty lines and a byte
// order mark are skipped. A value may be quoted; quotes in it are doubled. A quoted value may
// have line ends, where \r\n is read as \n. All rows have as many values as the first. Text is
// UTF-8. Package encoding/csv reads the same rows at half the speed or less.
type CSV struct {
	// Path is the file.
	Path string
	// FS, if set, is the file system of Path.
	FS fs.FS
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. The table can then be opened once. OpenTable reads 256 KiB of it, or to its end;
	// later rows are returned as they come.
	Reader io.Reader
	// Comma separates values: one byte. The default is the one of comma, semicolon, tab and bar
	// that the first row has most of, outside of quotes. Without one, or with a Header, it is a
	// tab where the name ends in .tsv, .tsv.gz, or .tsv.zst, else a comma.
	Comma byte
	// Header names the columns of a file whose first row has values. The default is to
	// read the names.
	Header []string
	// Ragged accepts a row with another number of values than the first: all its values are
	// missing, and TableBatch.Errors says why. SMILES passes that error to Refused. Other sources
	// do not read Errors: to them the row has empty values. A program that reads the table itself
	// has to check Errors. The default is to end the run with a FileError.
	Ragged bool
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of
	// the file if that is more.
	MaxBytes int64
}

// String names the file, for the plan of a pipeline.
func (s CSV) String() string { return input{kind: "CSV", path: s.Path, reader: s.Reader}.String() }

// OpenTable opens the file and reads the names of the columns.
func (s CSV) OpenTable(ctx context.Context) (TableReader, error) {
	l, err := input{"CSV", s.Path, s.FS, s.Reader, s.MaxBytes, 0, 64}.lines(ending(ctx))
	if err != nil {
		return nil, err
	}
	r := &csvReader{l: l, split: csvSplit{comma: s.Comma}, ragged: s.Ragged, given: s.Header != nil}
	if s.Comma == 0 {
		r.split.comma = ','
		if name := strings.TrimSuffix(strings.TrimSuffix(s.Path, ".gz"), ".zst"); strings.HasSuffix(name, ".tsv") {
			r.split.comma = '\t'
		}
	}
	if err := r.header(s.Header, s.Comma == 0); err != nil {
		l.close()
		return nil, err
	}
	return r, nil
}

type csvReader struct {
	l       *lines
	split   csvSplit
	columns []TableColumn
	chosen  []int
	ragged  bool
	given   bool // the names of the columns
	batch   TableBatch
	row     int64 // rows that were read
	err     error // behind them
}

// Notes returns a line where the names of the columns are numbers: the file may have no names.
func (r *csvReader) Notes() []string {
	for _, c := range r.columns {
		if _, err := number([]byte(c.Name)); r.given || err != nil {
			return nil
		}
	}
	return []string{fmt.Sprintf("guessed: the first row of %s has the names of columns, which are numbers; it is no row", r.l.file)}
}

func (r *csvReader) Name() string           { return r.l.file }
func (r *csvReader) Columns() []TableColumn { return r.columns }
func (r *csvReader) Close() error           { return r.l.close() }

func (r *csvReader) Choose(columns []int) {
	r.chosen, r.batch.Values = columns, make([]TableValues, len(columns))
}

// header reads the names of the columns, or takes those that were given.
func (r *csvReader) header(given []string, sniff bool) error {
	switch c := r.split.comma; {
	case c == '"' || c == '\r' || c == '\n' || c >= utf8.RuneSelf:
		return fmt.Errorf("sources: CSV: Comma is %q, want one that separates values", c)
	}
	if err := r.l.begin(); err != nil {
		return err
	}
	if given != nil {
		for _, name := range given {
			r.columns = append(r.columns, TableColumn{Name: name})
		}
		return nil
	}
	if sniff {
		r.split.comma = separator(r.l.buf[r.l.start:r.l.end], r.split.comma)
	}
	ok, err := r.record()
	if err == nil && !ok {
		err = &FileError{r.l.file, 0, fmt.Errorf("it is empty, want a row with the names of columns")}
	}
	if err != nil {
		return err
	}
	for _, f := range r.split.fields {
		name := r.l.buf[f.From:f.To]
		if !utf8.Valid(name) {
			return &FileError{r.l.file, 1, fmt.Errorf("the name %s of a column is no UTF-8", quote(name))}
		}
		r.columns = append(r.columns, TableColumn{Name: string(name)})
	}
	r.l.start = r.split.next
	r.l.line = r.split.line
	return nil
}

// separator returns what the first row of a text has most of, outside of quotes, or the usual one.
func separator(text []byte, usual byte) byte {
	best, most, quoted := usual, 0, false
	counts := map[byte]int{}
	for _, c := range bytes.TrimLeft(text, "\r\n") {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			if c == '\n' {
				break
			}
			counts[c]++
		}
	}
	for _, c := range []byte{usual, ',', ';', '\t', '|'} {
		if counts[c] > most {
			best, most = c, counts[c]
		}
	}
	return best
}

// record splits the next row, and is not ok at the end of the file. l.start is not moved.
func (r *csvReader) record() (ok bool, err error) {
	for {
		l := r.l
		eof := l.last == io.EOF
		r.split.line = l.line
		status := r.split.record(l.buf[:l.end], l.start, eof)
		switch status {
		case csvRow:
			return true, nil
		case csvEnd:
			return false, nil
		case csvBareQuote:
			return false, r.errorf(r.split.line+1, len(r.split.fields), "a quote within a value, want the value in quotes and the quote doubled")
		case csvAfterQuote:
			return false, r.errorf(r.split.line+1, len(r.split.fields), "text behind the quote that closes the value")
		case csvOpenQuote:
			return false, r.errorf(r.split.line+1, len(r.split.fields), "the quote that opens the value is never closed")
		case csvReturn:
			return false, r.errorf(r.split.line+1, len(r.split.fields), "%w", errReturns)
		}
		// csvShort
		if l.start == 0 && l.end > maxRow {
			if r.split.quoted {
				return false, r.errorf(r.split.line+1, len(r.split.fields), "the quote that opens the value is not closed within %d bytes", maxRow)
			}
			return false, r.errorf(r.split.line+1, len(r.split.fields), "a row of more than %d bytes", maxRow)
		}
		if err := r.l.full(); err != nil {
			return false, err
		}
	}
}

// errorf blames a value of the row that is being read.
func (r *csvReader) errorf(line, column int, format string, args ...any) error {
	what := fmt.Sprintf("row %d: ", r.row+1)
	if r.columns == nil {
		what = "the names of columns: "
	} else if column < len(r.columns) {
		what += fmt.Sprintf("column %s: ", quote([]byte(r.columns[column].Name)))
	}
	return &FileError{r.l.file, line, fmt.Errorf(what+format, args...)}
}

// Next returns the rows that are in the buffer.
func (r *csvReader) Next() (*TableBatch, error) {
	l, b := r.l, &r.batch
	b.clear()
	if r.err == nil && l.last == nil && !l.live && l.end-l.start < len(l.buf)/2 {
		r.err = r.l.full()
	}
	from := l.start
	for r.err == nil && b.Rows < maxBatch {
		if b.Rows > 0 { // what they are in is not to be moved
			r.split.line = l.line
			if r.split.record(l.buf[:l.end], l.start, l.last == io.EOF) != csvRow {
				break // the next call says what that is
			}
		} else if ok, err := r.record(); !ok {
			r.err = cmp.Or(err, io.EOF)
			break
		} else {
			from = l.start
		}
		fields := r.split.fields
		if len(fields) != len(r.columns) {
			err := &FileError{l.file, r.split.first, fmt.Errorf("row %d: %d values, want one for each of %d columns", r.row+1, len(fields), len(r.columns))}
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
		b.Lines = append(b.Lines, r.split.first)
		b.Rows++
		r.row++
		l.start, l.line = r.split.next, r.split.line
	}
	return r.batch.within(l, from, r.err, r.row, r.columns, r.chosen)
}

// csvSplit splits rows into values.
type csvSplit struct {
	comma  byte
	fields []Span
	dirty  []int // those fields that have doubled quotes, or line ends of two bytes
	first  int   // line on which the row begins
	line   int   // lines before the row, then up to its end
	next   int   // where the next row begins
	quoted bool  // the field that has not ended is in quotes
}

// What became of a row.
const (
	csvRow   = iota
	csvEnd   // there is none
	csvShort // it goes on behind the text
	csvBareQuote
	csvAfterQuote
	csvOpenQuote
	csvReturn
)

// record splits the row that begins at p of b, behind which nothing comes at eof.
func (s *csvSplit) record(b []byte, p int, eof bool) int {
	s.quoted = false
	for { // empty lines
		switch {
		case p == len(b) && eof, p+1 == len(b) && eof && b[p] == '\r':
			return csvEnd
		case p == len(b):
			return csvShort
		case b[p] == '\n':
			p++
			s.line++
			continue
		case b[p] == '\r' && p+1 == len(b):
			return csvShort
		case b[p] == '\r' && b[p+1] == '\n':
			p += 2
			s.line++
			continue
		}
		break
	}
	s.fields, s.dirty, s.first = s.fields[:0], s.dirty[:0], s.line+1
	comma := s.comma
	for {
		if p < len(b) && b[p] == '"' {
			end, status := s.quote(b, p+1, eof)
			if status != csvRow {
				return status
			}
			s.fields = append(s.fields, Span{int32(p + 1), int32(end)})
			p = end + 1
			if p < len(b) && b[p] == comma {
				p++
				continue
			}
			return s.end(b, p)
		}
		q := p
		for q < len(b) {
			if c := b[q]; c == comma || c <= '"' && (c == '\n' || c == '\r' || c == '"') {
				break
			}
			q++
		}
		switch {
		case q == len(b) && !eof:
			return csvShort
		case q == len(b) || b[q] == '\n':
		case b[q] == comma:
			s.fields = append(s.fields, Span{int32(p), int32(q)})
			p = q + 1
			continue
		case b[q] == '"':
			return csvBareQuote
		case q+1 == len(b) && !eof:
			return csvShort
		case q+1 < len(b) && b[q+1] != '\n':
			return csvReturn
		}
		s.fields = append(s.fields, Span{int32(p), int32(q)})
		return s.end(b, q)
	}
}

// end ends the row at a line end, or at that of the file.
func (s *csvSplit) end(b []byte, p int) int {
	if p < len(b) && b[p] == '\r' {
		p++
	}
	if s.next = len(b); p < len(b) {
		s.next = p + 1
		s.line++
	}
	for _, i := range s.dirty {
		f := &s.fields[i]
		f.To = f.From + int32(plainText(b[f.From:f.To]))
	}
	return csvRow
}

// quote finds the quote that closes a value.
func (s *csvSplit) quote(b []byte, p int, eof bool) (end, status int) {
	s.quoted = true
	from, doubled := p, false
	for {
		i := bytes.IndexByte(b[p:], '"')
		if i < 0 && eof {
			return 0, csvOpenQuote
		}
		if i < 0 || p+i+1 == len(b) && !eof {
			return 0, csvShort
		}
		p += i
		if p+1 < len(b) && b[p+1] == '"' {
			doubled = true
			p += 2
			continue
		}
		break
	}
	// A line end, a comma or the end of the file has to follow.
	switch rest := b[p+1:]; {
	case len(rest) == 0 || rest[0] == s.comma || rest[0] == '\n':
	case rest[0] == '\r' && len(rest) == 1 && !eof:
		return 0, csvShort
	case rest[0] == '\r' && (len(rest) == 1 || rest[1] == '\n'):
	case rest[0] == '\r':
		return 0, csvReturn
	default:
		return 0, csvAfterQuote
	}
	s.quoted = false
	if n := bytes.Count(b[from:p], []byte{'\n'}); n > 0 {
		s.line += n
		doubled = doubled || bytes.Contains(b[from:p], []byte("\r\n"))
	}
	if doubled {
		s.dirty = append(s.dirty, len(s.fields))
	}
	return p, csvRow
}

// plainText makes one quote of two, and one line end of two bytes, and returns how many bytes
// are left.
func plainText(b []byte) int {
	n := 0
	for i := 0; i < len(b); i++ {
		if i+1 < len(b) && (b[i] == '"' || b[i] == '\r' && b[i+1] == '\n') {
			i++
		}
		b[n] = b[i]
		n++
	}
	return n
}
