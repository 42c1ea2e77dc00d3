package sources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/sanflow/sanflow/sources/internal/reading"
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
func (s CSV) String() string {
	return reading.Input{Kind: "CSV", Path: s.Path, Reader: s.Reader}.String()
}

// OpenTable opens the file and reads the names of the columns.
func (s CSV) OpenTable(ctx context.Context) (TableReader, error) {
	l, err := reading.Input{Kind: "CSV", Path: s.Path, Fsys: s.FS, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}.Lines(reading.Ending(ctx))
	if err != nil {
		return nil, err
	}
	form := &csvSplit{comma: s.Comma}
	if s.Comma == 0 {
		form.comma = ','
		if name := strings.TrimSuffix(strings.TrimSuffix(s.Path, ".gz"), ".zst"); strings.HasSuffix(name, ".tsv") {
			form.comma = '\t'
		}
	}
	r := &csvReader{rowReader{l: l, form: form, ragged: s.Ragged}, s.Header != nil}
	if err := r.header(form, s.Header, s.Comma == 0); err != nil {
		l.Close()
		return nil, err
	}
	return r, nil
}

type csvReader struct {
	rowReader
	given bool // the setting Header gave the names
}

// Notes returns a line where the names of the columns are numbers: the file may have no names.
func (r *csvReader) Notes() []string {
	for _, c := range r.columns {
		if _, err := reading.Number([]byte(c.Name)); r.given || err != nil {
			return nil
		}
	}
	return []string{fmt.Sprintf("guessed: the first row of %s has the names of columns, which are numbers; it is no row", r.l.File)}
}

// header reads the column names, or uses given.
func (r *csvReader) header(form *csvSplit, given []string, sniff bool) error {
	switch c := form.comma; {
	case c == '"' || c == '\r' || c == '\n' || c >= utf8.RuneSelf:
		return fmt.Errorf("sources: CSV: Comma is %q, want one that separates values", c)
	}
	if err := r.l.Begin(true); err != nil {
		return err
	}
	if given != nil {
		for _, name := range given {
			r.columns = append(r.columns, TableColumn{Name: name})
		}
		return nil
	}
	if sniff {
		form.comma = separator(r.l.Buf[r.l.Start:r.l.End], form.comma)
	}
	err := r.record()
	if err == io.EOF {
		err = &FileError{File: r.l.File, Line: 0, Err: fmt.Errorf("it is empty, want a row with the names of columns")}
	}
	if err == nil {
		r.columns, err = r.names()
	}
	r.l.Start, r.l.Line = r.split.next, r.split.line
	return err
}

// separator returns the most frequent separator of the first row outside quotes, or usual.
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

// csvSplit splits RFC 4180 rows.
type csvSplit struct{ comma byte }

var (
	errBareQuote  = errors.New("a quote within a value, want the value in quotes and the quote doubled")
	errAfterQuote = errors.New("text behind the quote that closes the value")
	errOpenQuote  = errors.New("the quote that opens the value is never closed")
)

func (s *csvSplit) split(r *splitRow, b []byte, p int, eof bool) error {
	for { // skip empty lines
		r.start(p)
		switch {
		case p == len(b) && eof, p+1 == len(b) && eof && b[p] == '\r':
			return io.EOF
		case p == len(b):
			return errShort
		case b[p] == '\n':
			p++
			r.line++
			continue
		case b[p] == '\r' && p+1 == len(b):
			return errShort
		case b[p] == '\r' && b[p+1] == '\n':
			p += 2
			r.line++
			continue
		}
		break
	}
	comma := s.comma
	for {
		if p < len(b) && b[p] == '"' {
			end, err := s.quote(r, b, p+1, eof)
			if err != nil {
				return err
			}
			r.fields = append(r.fields, Span{int32(p + 1), int32(end)})
			p = end + 1
			if p < len(b) && b[p] == comma {
				p++
				continue
			}
			s.end(r, b, p)
			return nil
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
			return errShort
		case q == len(b) || b[q] == '\n':
		case b[q] == comma:
			r.fields = append(r.fields, Span{int32(p), int32(q)})
			p = q + 1
			continue
		case b[q] == '"':
			return errBareQuote
		case q+1 == len(b) && !eof:
			return errShort
		case q+1 < len(b) && b[q+1] != '\n':
			return reading.ErrReturns
		}
		r.fields = append(r.fields, Span{int32(p), int32(q)})
		s.end(r, b, q)
		return nil
	}
}

// end reads the line end of the row.
func (s *csvSplit) end(r *splitRow, b []byte, p int) {
	if p < len(b) && b[p] == '\r' {
		p++
	}
	if p < len(b) {
		p++
		r.line++
	}
	r.end(b, p)
}

// quote returns the offset of the quote that closes a value.
func (s *csvSplit) quote(r *splitRow, b []byte, p int, eof bool) (end int, err error) {
	r.quoted = true
	from, doubled := p, false
	for {
		i := bytes.IndexByte(b[p:], '"')
		if i < 0 && eof {
			return 0, errOpenQuote
		}
		if i < 0 || p+i+1 == len(b) && !eof {
			return 0, errShort
		}
		p += i
		if p+1 < len(b) && b[p+1] == '"' {
			doubled = true
			p += 2
			continue
		}
		break
	}
	// A separator, a line end or the end of the file must follow.
	switch rest := b[p+1:]; {
	case len(rest) == 0 || rest[0] == s.comma || rest[0] == '\n':
	case rest[0] == '\r' && len(rest) == 1 && !eof:
		return 0, errShort
	case rest[0] == '\r' && (len(rest) == 1 || rest[1] == '\n'):
	case rest[0] == '\r':
		return 0, reading.ErrReturns
	default:
		return 0, errAfterQuote
	}
	r.quoted = false
	if n := bytes.Count(b[from:p], []byte{'\n'}); n > 0 {
		r.line += n
		doubled = doubled || bytes.Contains(b[from:p], []byte("\r\n"))
	}
	if doubled {
		r.dirty = append(r.dirty, len(r.fields))
	}
	return p, nil
}
