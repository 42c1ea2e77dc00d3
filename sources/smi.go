package sources

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
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
	// FS, if set, is the file system of Path.
	FS fs.FS
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. The table can then be opened once.
	Reader io.Reader
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of
	// the file if that is more.
	MaxBytes int64
}

// String names the file, for the plan of a pipeline.
func (s SMI) String() string { return input{kind: "SMI", path: s.Path, reader: s.Reader}.String() }

// OpenTable reads the first molecule.
func (s SMI) OpenTable(ctx context.Context) (TableReader, error) {
	l, err := input{"SMI", s.Path, s.FS, s.Reader, s.MaxBytes, 0, 64}.lines(ending(ctx))
	if err != nil {
		return nil, err
	}
	r := &smiReader{l: l}
	if err := r.read(); err == nil && strings.EqualFold(string(r.row[0]), "smiles") {
		_ = r.read()
	}
	if r.err != nil && r.err != io.EOF {
		l.close()
		return nil, r.err
	}
	r.columns = []TableColumn{{Name: "smiles", Type: String}}
	if len(r.row[1]) > 0 {
		r.columns = append(r.columns, TableColumn{Name: "id"})
	}
	return r, nil
}

type smiReader struct {
	l       *lines
	columns []TableColumn
	chosen  []int
	row     [2][]byte // that was read last
	batch   TableBatch
	err     error // in place of the row
}

func (r *smiReader) Name() string           { return r.l.file }
func (r *smiReader) Columns() []TableColumn { return r.columns }
func (r *smiReader) Close() error           { return r.l.close() }

func (r *smiReader) Choose(columns []int) {
	r.chosen, r.batch.Values = columns, make([]TableValues, len(columns))
}

// read reads the next line that is not empty.
func (r *smiReader) read() error {
	var line []byte
	for len(line) == 0 {
		if line, r.err = r.l.raw(); r.err != nil {
			r.row = [2][]byte{}
			return r.err
		}
		if r.l.line++; r.l.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimSpace(line)
	}
	at := bytes.IndexAny(line, " \t")
	if at < 0 {
		at = len(line)
	}
	id := bytes.TrimSpace(line[at:])
	if len(id) > 0 && id[0] == '|' {
		end := bytes.IndexByte(id[1:], '|')
		if end < 0 {
			r.err = r.l.errorf("the CXSMILES extension %s has no end", quote(id))
			return r.err
		}
		id = bytes.TrimSpace(id[end+2:])
	}
	r.row = [2][]byte{line[:at], id}
	return nil
}

func (r *smiReader) Next() (*TableBatch, error) {
	b := &r.batch
	b.clear()
	var text []byte
	for ; r.err == nil && b.Rows < maxBatch && len(text) < 1<<20; _ = r.read() {
		for i, c := range r.chosen {
			from := int32(len(text))
			text = append(text, r.row[c]...)
			b.Values[i].Spans = append(b.Values[i].Spans, Span{from, int32(len(text))})
		}
		b.Lines = append(b.Lines, r.l.line)
		b.Rows++
	}
	if b.Rows == 0 {
		return nil, r.err
	}
	for i := range b.Values {
		b.Values[i].Text = text
	}
	return b, b.utf8(r.l.file, 0, r.columns, r.chosen)
}
