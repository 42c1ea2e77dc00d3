package molecules

import (
	"bytes"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// SMI is a [Table] of a .smi file, plain or packed by gzip or zstd: each line is SMILES and, behind
// blanks or a tab, the id of the molecule, which may have blanks, and before it a CXSMILES extension
// between bars, which is dropped:
//
//	CCO ethanol
//	C1CC1 |$;;$| cyclopropane
//
// The columns are smiles and, if the first molecule has an id, id. Empty lines are no rows. A first
// line that begins with the word smiles has names of columns, and is no row.
type SMI struct {
	// Path is the file.
	Path string
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. The table can then be opened once.
	Reader io.Reader
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of
	// the file if that is more.
	MaxBytes int64
}

// String names the file, for the plan of a pipeline.
func (s SMI) String() string {
	return reading.Input{Kind: "SMI", Path: s.Path, Reader: s.Reader}.String()
}

// OpenTable reads the first molecule.
func (s SMI) OpenTable(ctx context.Context) (sources.TableReader, error) {
	l, err := reading.Input{Kind: "SMI", Path: s.Path, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}.Lines(reading.Ending(ctx))
	if err != nil {
		return nil, err
	}
	r := &smiReader{lineTable: lineTable{l: l}}
	if err = l.Begin(false); err == nil {
		err = r.read()
	}
	if err == nil && strings.EqualFold(string(r.next[0]), "smiles") {
		err = r.read()
	}
	if err != nil && err != io.EOF {
		l.Close()
		return nil, err
	}
	if r.columns = []sources.TableColumn{{Name: "smiles", Type: sources.String}, {Name: "id"}}; len(r.next[1]) == 0 {
		r.columns = r.columns[:1]
	}
	r.err = err
	return r, nil
}

type smiReader struct {
	lineTable
	row   int64
	next  [2][]byte // SMILES and id of the last line
	ahead bool      // next is not returned yet
	err   error     // error or io.EOF that follows the buffered rows
}

// read parses the next line that is not empty.
func (r *smiReader) read() error {
	for {
		line, err := r.l.Raw()
		if err != nil {
			return err
		}
		r.l.Line++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return r.l.Errorf("row %d: %s is no UTF-8", r.row+1, reading.Quote(line))
		}
		at := bytes.IndexAny(line, " \t")
		if at < 0 {
			at = len(line)
		}
		id := bytes.TrimSpace(line[at:])
		if len(id) > 0 && id[0] == '|' {
			end := bytes.IndexByte(id[1:], '|')
			if end < 0 {
				return r.l.Errorf("the CXSMILES extension %s has no end", reading.Quote(id))
			}
			id = bytes.TrimSpace(id[end+2:])
		}
		r.next, r.ahead = [2][]byte{line[:at], id}, true
		return nil
	}
}

// Next returns up to 256 kB of rows.
func (r *smiReader) Next() (*sources.TableBatch, error) {
	r.clear()
	for r.err == nil && len(r.text) < reading.TableBuffer {
		if !r.ahead {
			if r.batch.Rows > 0 && r.l.Live && bytes.IndexByte(r.l.Buf[r.l.Start:r.l.End], '\n') < 0 {
				break
			}
			if r.err = r.read(); r.err != nil {
				break
			}
		}
		r.ahead = false
		r.add(r.l.Line, r.next[0], r.next[1])
		r.row++
	}
	if r.batch.Rows == 0 {
		return nil, r.err
	}
	return r.whole(), nil
}

// lineTable builds batches from values of lines.
type lineTable struct {
	l       *reading.Lines
	columns []sources.TableColumn
	chosen  []int
	batch   sources.TableBatch
	text    []byte // text of the batch
}

func (t *lineTable) Name() string                   { return t.l.File }
func (t *lineTable) Columns() []sources.TableColumn { return t.columns }
func (t *lineTable) Close() error                   { return t.l.Close() }

func (t *lineTable) Choose(columns []int) {
	t.chosen, t.batch.Values = columns, make([]sources.TableValues, len(columns))
}

func (t *lineTable) clear() {
	t.text, t.batch.Rows, t.batch.Lines, t.batch.Errors = t.text[:0], 0, t.batch.Lines[:0], nil
	for c := range t.batch.Values {
		t.batch.Values[c].Spans = t.batch.Values[c].Spans[:0]
	}
}

// add appends a row that starts at line. values has one value per column.
func (t *lineTable) add(line int, values ...[]byte) {
	for c, at := range t.chosen {
		from := int32(len(t.text))
		t.text = append(t.text, values[at]...)
		t.batch.Values[c].Spans = append(t.batch.Values[c].Spans, sources.Span{From: from, To: int32(len(t.text))})
	}
	t.batch.Lines = append(t.batch.Lines, line)
	t.batch.Rows++
}

func (t *lineTable) whole() *sources.TableBatch {
	for c := range t.batch.Values {
		t.batch.Values[c].Text = t.text
	}
	return &t.batch
}
