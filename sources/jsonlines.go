package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// JSONLines is a [Table] of JSON objects, one behind the other, as one a line, or the elements of
// one array, as pandas' to_json(orient="records") writes it, plain or packed by gzip or zstd:
//
//	{"from":"ada","to":"bob","type":"card","amount":12.5}
//
// The columns are the keys of the first rows, up to 16 384 or 256 kB; a later key
// that is none of these is an error. A column is of strings if these rows have strings or
// truth values there, of floats if they have numbers one of which is no int64, else of integers.
// The type of a column with both strings and numbers is inferred from their text, as documented at
// [Tables]. A key that is missing, or null, is no value.
type JSONLines struct {
	// Path is the file.
	Path string
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. The table can then be opened once. OpenTable reads 256 KiB of it, or to its end;
	// later rows are returned as they come.
	Reader io.Reader
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of
	// the file if that is more.
	MaxBytes int64
}

// String names the file, for the plan of a pipeline.
func (s JSONLines) String() string {
	return reading.Input{Kind: "JSONLines", Path: s.Path, Reader: s.Reader}.String()
}

// OpenTable reads the first rows.
func (s JSONLines) OpenTable(ctx context.Context) (TableReader, error) {
	l, err := reading.Input{Kind: "JSONLines", Path: s.Path, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}.Lines(reading.Ending(ctx))
	if err != nil {
		return nil, err
	}
	return jsonOf(l)
}

// jsonOf returns a reader of l that has found the columns in the first rows. It closes l on an error.
func jsonOf(l *reading.Lines) (TableReader, error) {
	r := &jsonReader{textTable: textTable{l: l}, place: map[string]int{}}
	if err := r.header(); err != nil {
		l.Close()
		return nil, err
	}
	r.in = objectsOf(l)
	return r, nil
}

// objectsOf returns a parser of l. The parser allows duplicate names, since object reports them with row and column.
func objectsOf(l *reading.Lines) *reading.JsonText {
	return reading.NewJSON(l, maxRow, jsontext.AllowDuplicateNames(true))
}

type jsonReader struct {
	textTable
	in    *reading.JsonText
	place map[string]int // column index by name
	seen  []int64        // last row with a value, by column
	since []typeSince    // the value that determined the type, by column
	uses  [][]int        // by column: its places in the batch
	text  []byte         // text of the batch
}

// typeSince locates the value that determined the type of a column. line and row count from 1.
type typeSince struct {
	line  int
	row   int64
	text  string
	mixed bool // the column has strings and numbers
}

// blame adds the position of the value that determined the type of a column, if the table knows it.
func blame(r TableReader, column string, err error) error {
	if j, ok := r.(*jsonReader); ok {
		if at, ok := j.place[column]; ok && j.since[at].row > 0 {
			s := j.since[at]
			return &FileError{File: r.Name(), Line: s.line, Err: fmt.Errorf("row %d: column %s: %s, %w", s.row, reading.Quote([]byte(column)), reading.Quote([]byte(s.text)), err)}
		}
	}
	return &FileError{File: r.Name(), Line: 0, Err: fmt.Errorf("column %s: %w", reading.Quote([]byte(column)), err)}
}

// header finds the columns and their types in the first rows: maxBatch rows, or as many whole rows as the buffer has, but
// at least one. Next reads the rows again.
func (r *jsonReader) header() error {
	err := r.l.Begin(true)
	for err == nil {
		part := reading.Lines{File: r.l.File, Buf: r.l.Buf[r.l.Start:r.l.End], End: r.l.End - r.l.Start, Last: io.EOF}
		in := objectsOf(&part)
		for r.row = 0; err == nil && r.row < maxBatch; r.row++ {
			err = r.object(in, true, r.sample)
		}
		cut := in.Cut && r.l.Last != io.EOF // the last row goes on behind the buffer
		if err == io.EOF || cut && r.row > 1 {
			err = nil
		}
		if !cut || r.row > 1 {
			break
		}
		if part.End > maxRow {
			return &FileError{File: r.l.File, Line: r.l.Line + 1, Err: fmt.Errorf("row 1: more than %d bytes", maxRow)}
		}
		r.l.Fill()
		if err = r.l.Last; err == io.EOF {
			err = nil
		}
	}
	r.row = 0
	for i := range r.columns {
		if r.seen[i] = 0; !r.since[i].mixed || r.columns[i].Type != String {
			r.columns[i].Type = cmp.Or(r.columns[i].Type, String)
		} else {
			r.columns[i].Type = Untyped
		}
	}
	return err
}

// sample widens the type of a column to that of a value.
func (r *jsonReader) sample(at, line int, value jsontext.Value) {
	c := &r.columns[at]
	before := c.Type
	_, integer := reading.Canonical(value)
	kind := value.Kind()
	word := kind == '"' || kind == 't' || kind == 'f'
	r.since[at].mixed = r.since[at].mixed || word && (before == Integer || before == Float) || kind == '0' && before == String
	switch {
	case kind == '{' || kind == '[':
		c.Type = Unusable
	case kind == '0' && integer:
		c.Type = max(c.Type, Integer)
	case kind == '0':
		c.Type = max(c.Type, Float)
	case word:
		c.Type = max(c.Type, String)
	}
	if c.Type != before {
		text := reading.AppendText(nil, value)
		r.since[at] = typeSince{line, r.row + 1, string(text[:min(len(text), 80)]), r.since[at].mixed}
	}
}

// object parses a row, and calls do for each value. first allows new columns.
func (r *jsonReader) object(in *reading.JsonText, first bool, do func(column, line int, value jsontext.Value)) error {
	fail := func(err error) error {
		if file := (*FileError)(nil); errors.As(err, &file) {
			return &FileError{File: file.File, Line: file.Line, Err: fmt.Errorf("row %d: %w", r.row+1, file.Err)}
		}
		return err
	}
	if err := in.Begin(); err != nil {
		return fail(err)
	}
	row, line, err := in.Value()
	if err != nil {
		return fail(err)
	}
	if err := reading.MembersOf(row, func(key, value jsontext.Value) error {
		name := reading.NameOf(key)
		at, ok := r.place[string(name)]
		switch {
		case !ok && !first:
			return fmt.Errorf("the key %s is in none of the first rows", reading.Quote(name))
		case !ok:
			at = len(r.columns)
			r.columns, r.seen, r.since = append(r.columns, TableColumn{Name: string(name)}), append(r.seen, 0), append(r.since, typeSince{})
			r.place[string(name)] = at
		case r.seen[at] == r.row+1:
			return fmt.Errorf("column %s: it is there twice", reading.Quote(name))
		}
		r.seen[at] = r.row + 1
		do(at, line, value)
		return nil
	}); err != nil {
		return fail(&FileError{File: r.l.File, Line: line, Err: err})
	}
	return nil
}

// Choose selects the columns of the next batches. A column may be chosen twice.
func (r *jsonReader) Choose(columns []int) {
	r.textTable.Choose(columns)
	r.uses = make([][]int, len(r.columns))
	for i, c := range columns {
		r.uses[c] = append(r.uses[c], i)
	}
}

// Next returns up to 256 kB of rows.
func (r *jsonReader) Next() (*TableBatch, error) {
	b := &r.batch
	b.clear()
	r.text = r.text[:0]
	for r.err == nil && b.Rows < maxBatch && len(r.text) < reading.TableBuffer && (b.Rows == 0 || !r.l.Live || r.in.Ready()) {
		for c := range b.Values {
			b.Values[c].Spans = append(b.Values[c].Spans, Span{})
		}
		bad, line := -1, 0
		if r.err = r.object(r.in, false, func(at, of int, value jsontext.Value) {
			line = of
			kind := value.Kind()
			switch {
			case r.uses[at] == nil || kind == 'n':
			case kind == '{' || kind == '[':
				bad = at
			default:
				from := len(r.text)
				r.text = reading.AppendText(r.text, value)
				for _, i := range r.uses[at] {
					if len(r.text) > from {
						b.Values[i].Spans[b.Rows] = Span{int32(from), int32(len(r.text))}
					}
				}
			}
		}); r.err == nil && bad >= 0 {
			r.err = &FileError{File: r.l.File, Line: line, Err: fmt.Errorf("row %d: column %s: an object or an array, want a number or a string", r.row+1, reading.Quote([]byte(r.columns[bad].Name)))}
		}
		if r.err != nil {
			break
		}
		b.Lines = append(b.Lines, line)
		b.Rows++
		r.row++
	}
	if b.Rows == 0 {
		return nil, r.err
	}
	for c := range b.Values {
		b.Values[c].Text, b.Values[c].Spans = r.text, b.Values[c].Spans[:b.Rows]
	}
	return b, nil
}
