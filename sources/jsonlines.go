package sources

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
)

// JSONLines is a [Table] of JSON objects, one a line, plain or packed by gzip or zstd:
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
	// FS, if set, is the file system of Path.
	FS fs.FS
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
	return input{kind: "JSONLines", path: s.Path, reader: s.Reader}.String()
}

// OpenTable reads the first rows.
func (s JSONLines) OpenTable(ctx context.Context) (TableReader, error) {
	l, err := input{"JSONLines", s.Path, s.FS, s.Reader, s.MaxBytes, 0, 64}.lines(ending(ctx))
	if err != nil {
		return nil, err
	}
	return jsonOf(l)
}

// jsonOf reads the first rows, and closes l where they are bad.
func jsonOf(l *lines) (TableReader, error) {
	r := &jsonReader{l: l, place: map[string]int{}}
	if err := r.header(); err != nil {
		l.close()
		return nil, err
	}
	return r, nil
}

type jsonReader struct {
	l       *lines
	columns []TableColumn
	place   map[string]int // of a column
	seen    []int64        // of each column, the row that had it last
	since   []typeSince    // of each column, the value that gave it its type
	chosen  []int
	value   []int // of each column, its place in chosen, or -1
	batch   TableBatch
	row     int64 // rows that were read
	err     error // behind them
}

// typeSince is the first value of a type, on a line and in a row, both from 1.
type typeSince struct {
	line  int
	row   int64
	text  string
	mixed bool // the column has strings and numbers
}

// blame blames the value that gave a column its type, where the table knows that.
func blame(r TableReader, column string, err error) error {
	if j, ok := r.(*jsonReader); ok {
		if at, ok := j.place[column]; ok && j.since[at].row > 0 {
			s := j.since[at]
			return &FileError{r.Name(), s.line, fmt.Errorf("row %d: column %s: %s, %w", s.row, quote([]byte(column)), quote([]byte(s.text)), err)}
		}
	}
	return &FileError{r.Name(), 0, fmt.Errorf("column %s: %w", quote([]byte(column)), err)}
}

func (r *jsonReader) Name() string           { return r.l.file }
func (r *jsonReader) Columns() []TableColumn { return r.columns }
func (r *jsonReader) Close() error           { return r.l.close() }

func (r *jsonReader) Choose(columns []int) {
	r.chosen, r.batch.Values = columns, make([]TableValues, len(columns))
	r.value = make([]int, len(r.columns))
	for i := range r.value {
		r.value[i] = -1
	}
	for i, c := range columns {
		r.value[c] = i
	}
}

// header finds the columns in the rows that are in the buffer, which are read again.
func (r *jsonReader) header() error {
	if err := r.l.begin(); err != nil {
		return err
	}
	_, ok, err := r.l.whole()
	for l := *r.l; ok && err == nil && r.row < maxBatch; {
		line, whole := l.inBuffer()
		if !whole {
			break
		}
		err = r.object(&l, line, true, func(at int, kind jsonKind, text []byte, _ bool) {
			c := &r.columns[at]
			before := c.Type
			word := kind == jsonString || kind == jsonBool
			r.since[at].mixed = r.since[at].mixed || word && (before == Integer || before == Float) || kind == jsonNumber && before == String
			switch _, integer := canonical(text); {
			case kind == jsonNumber && integer:
				c.Type = max(c.Type, Integer)
			case kind == jsonNumber:
				c.Type = max(c.Type, Float)
			case word:
				c.Type = max(c.Type, String)
			case kind == jsonObject || kind == jsonArray:
				c.Type = Unusable
			}
			if c.Type != before {
				r.since[at] = typeSince{l.line + 1, r.row + 1, string(text[:min(len(text), 80)]), r.since[at].mixed}
			}
		})
		l.skip(line)
		r.row++
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

// object reads a row, and calls do for each value.
func (r *jsonReader) object(l *lines, line []byte, first bool, do func(column int, kind jsonKind, text []byte, escaped bool)) error {
	s := &jsonScan{b: line}
	err := s.object(func(key []byte) error {
		at, ok := r.place[string(key)]
		switch {
		case !ok && !first:
			return fmt.Errorf("the key %s is in none of the first rows", quote(key))
		case !ok:
			at = len(r.columns)
			r.columns, r.seen, r.since = append(r.columns, TableColumn{Name: string(key)}), append(r.seen, 0), append(r.since, typeSince{})
			r.place[string(key)] = at
		}
		kind, text, escaped, err := s.value(0)
		if err != nil {
			return fmt.Errorf("column %s: %w", quote(key), err)
		}
		if r.seen[at] == r.row+1 {
			return fmt.Errorf("column %s: it is there twice", quote(key))
		}
		r.seen[at] = r.row + 1
		do(at, kind, text, escaped)
		return nil
	})
	end := s.p
	if s.space(); err == nil && s.p < len(line) {
		if err = s.fail("nothing behind the object"); bytes.IndexByte(line[end:s.p], '\r') >= 0 {
			err = errReturns
		}
	}
	if err != nil {
		return &FileError{l.file, l.line + 1, fmt.Errorf("row %d: %w", r.row+1, err)}
	}
	return nil
}

// Next returns the rows that are in the buffer.
func (r *jsonReader) Next() (*TableBatch, error) {
	l, b := r.l, &r.batch
	b.clear()
	if r.err == nil && l.last == nil && !l.live && l.end-l.start < len(l.buf)/2 {
		r.err = l.full()
	}
	from := l.start
	for r.err == nil && b.Rows < maxBatch {
		line, ok := l.inBuffer()
		if !ok {
			if b.Rows > 0 {
				break
			}
			if line, ok, r.err = l.whole(); !ok {
				r.err = cmp.Or(r.err, io.EOF)
				break
			}
			from = l.start
		}
		for c := range b.Values {
			b.Values[c].Spans = append(b.Values[c].Spans, Span{})
		}
		bad := -1
		if r.err = r.object(l, line, false, func(at int, kind jsonKind, text []byte, escaped bool) {
			if r.value[at] < 0 || kind == jsonNull || len(text) == 0 {
				return
			}
			if kind == jsonObject || kind == jsonArray {
				bad = at
			}
			n := len(text)
			if escaped {
				n = unescape(text)
			}
			start := l.start + cap(line) - cap(text) // in the same memory
			b.Values[r.value[at]].Spans[b.Rows] = Span{int32(start), int32(start + n)}
		}); r.err == nil && bad >= 0 {
			r.err = &FileError{l.file, l.line + 1, fmt.Errorf("row %d: column %s: an object or an array, want a number or a string", r.row+1, quote([]byte(r.columns[bad].Name)))}
		}
		if r.err != nil {
			break
		}
		b.Lines = append(b.Lines, l.line+1)
		b.Rows++
		r.row++
		l.skip(line)
	}
	return b.within(l, from, r.err, r.row, r.columns, r.chosen)
}
