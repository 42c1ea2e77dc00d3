package sources

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

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
func (s SMI) OpenTable(ctx context.Context) (TableReader, error) {
	l, err := reading.Input{Kind: "SMI", Path: s.Path, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}.Lines(reading.Ending(ctx))
	if err != nil {
		return nil, err
	}
	form := &smiSplit{l: l}
	r := &rowReader{l: l, form: form}
	if err = l.Begin(false); err == nil {
		err = r.record()
	}
	if text := func(i int) []byte { return l.Buf[r.split.fields[i].From:r.split.fields[i].To] }; err == nil && strings.EqualFold(string(text(0)), "smiles") {
		l.Start, l.Line = r.split.next, r.split.line
		err = r.record()
	}
	if err != nil && err != io.EOF {
		l.Close()
		return nil, err
	}
	r.columns = []TableColumn{{Name: "smiles", Type: String}, {Name: "id"}}
	if id := r.split.fields; len(id) == 0 || id[1].From == id[1].To {
		r.columns, form.alone = r.columns[:1], true
	}
	return r, nil
}

// smiSplit splits lines of SMILES and an id.
type smiSplit struct {
	l     *reading.Lines // for errors
	alone bool           // the first molecule has no id
}

func (s *smiSplit) split(r *splitRow, b []byte, p int, eof bool) error {
	for {
		line, next, err := r.nextLine(b, p, eof)
		if err != nil {
			return err
		}
		from := p + len(line) - len(bytes.TrimLeftFunc(line, unicode.IsSpace))
		line, p = bytes.TrimSpace(line), next
		if len(line) == 0 {
			continue
		}
		at := bytes.IndexAny(line, " \t")
		if at < 0 {
			at = len(line)
		}
		id := bytes.TrimSpace(line[at:])
		if len(id) > 0 && id[0] == '|' {
			end := bytes.IndexByte(id[1:], '|')
			if end < 0 {
				return &FileError{File: s.l.File, Line: r.line, Err: fmt.Errorf("the CXSMILES extension %s has no end", reading.Quote(id))}
			}
			id = bytes.TrimSpace(id[end+2:])
		}
		to := from + len(line)
		r.fields = append(r.fields, Span{int32(from), int32(from + at)}, Span{int32(to - len(id)), int32(to)})
		if s.alone {
			r.fields = r.fields[:1]
		}
		r.end(b, p)
		return nil
	}
}
