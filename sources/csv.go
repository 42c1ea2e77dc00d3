package sources

import (
	"bytes"
	"context"
	"encoding/csv"
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
// UTF-8.
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
	r := &csvReader{rowReader{textTable: textTable{l: l}, form: form, ragged: s.Ragged}, s.Header != nil}
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

// header sets the columns to given, or reads them from the first row. sniff chooses the separator by that row.
func (r *csvReader) header(form *csvSplit, given []string, sniff bool) error {
	if c := form.comma; c == '"' || c == '\r' || c == '\n' || c >= utf8.RuneSelf {
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
		counts := separators(r.l.Buf[r.l.Start:r.l.End])
		for _, c := range []byte(",;\t|") {
			if counts[c] > counts[form.comma] {
				form.comma = c
			}
		}
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

// separators counts the bytes of the first line outside quotes.
func separators(text []byte) (counts [256]int) {
	quoted := false
	for _, c := range bytes.TrimLeft(text, "\r\n") {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			return counts
		case !quoted:
			counts[c]++
		}
	}
	return counts
}

var (
	errBareQuote  = errors.New("a quote within a value, want the value in quotes and the quote doubled")
	errAfterQuote = errors.New("text behind the quote that closes the value")
	errOpenQuote  = errors.New("the quote that opens the value is never closed")
)

// csvSplit splits rows by package encoding/csv.
type csvSplit struct {
	comma      byte
	csv        *csv.Reader // reader of the text of the buffer from begin to end; nil after an error
	begin, end int
	line       int // number of lines before begin
}

// split writes the values of the row over its text.
func (s *csvSplit) split(r *splitRow, b []byte, p int, eof bool) error {
	if s.csv == nil || p != s.begin+int(s.csv.InputOffset()) || len(b) != s.end { // the buffer has other text
		s.csv = csv.NewReader(bytes.NewReader(b[p:]))
		s.csv.Comma, s.csv.FieldsPerRecord, s.csv.ReuseRecord = rune(s.comma), -1, true
		s.begin, s.end, s.line = p, len(b), r.line
	}
	first := r.line - s.line + 1       // line of the row, as package csv counts lines
	at := func(line, column int) int { // offset in b of a position that package csv returns
		from := p
		for range line - first {
			from += bytes.IndexByte(b[from:], '\n') + 1
		}
		return from + column - 1
	}
	row, err := s.csv.Read()
	next, line, quote, open := s.begin+int(s.csv.InputOffset()), first, 0, false
	bad, _ := err.(*csv.ParseError)
	switch {
	case err == nil:
		line, _ = s.csv.FieldPos(0)
	case bad != nil:
		line = bad.StartLine
		quote = at(bad.Line, bad.Column) // offset of the quote that closes the value, or of the end of the text
		open = bad.Err == csv.ErrQuote && (quote >= next || b[quote] != '"')
	default: // the rest of the text has empty lines only
		line += bytes.Count(b[p:], []byte{'\n'})
	}
	r.line = s.line + line - 1
	r.start(at(line, 1))
	for i, value := range row {
		if strings.IndexByte(value, '\r') >= 0 && b[at(s.csv.FieldPos(i))] != '"' {
			err, bad, open, row = reading.ErrReturns, nil, false, row[:i]
			break
		}
	}
	switch {
	case eof:
	case err == nil && b[next-1] != '\n':
		err, row = errShort, row[:len(row)-1]
	case open || err == io.EOF:
		err, r.quoted = errShort, open
	}
	if err != nil {
		s.csv = nil
		for _, value := range row {
			r.fields = append(r.fields, Span{})
			r.line += strings.Count(value, "\n")
		}
		switch {
		case bad == nil || err == errShort:
			return err
		case open:
			return errOpenQuote
		case bad.Err == csv.ErrBareQuote:
			value := b[r.begin:quote]
			if value = value[bytes.LastIndexByte(value, s.comma)+1:]; bytes.IndexByte(value, '\r') < 0 {
				return errBareQuote
			}
		case b[quote+1] != '\r':
			return errAfterQuote
		}
		return reading.ErrReturns
	}
	r.next, r.line = next, r.line+bytes.Count(b[r.begin:next], []byte{'\n'})
	to := r.begin
	for _, value := range row {
		from := to
		to += copy(b[from:], value)
		r.fields = append(r.fields, Span{int32(from), int32(to)})
	}
	return nil
}
