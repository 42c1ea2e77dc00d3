package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/tabular"
)

// Source reads Parquet. What columns of other programs become, and what is
// checked, is said at sources.IPC; a row group here is a batch there.
type Source struct {
	// Path is a file, or a directory of files *.parquet. Where the directory has
	// a manifest (package flow/manifest), each file is compared with that before
	// it is parsed.
	Path string
	// ReaderAt is read instead of Path, which then only names it in errors. Size
	// is the number of its bytes.
	ReaderAt io.ReaderAt
	Size     int64
	// Columns are those to read. The default is all.
	Columns []string
	// Layout says what the graphs are, for files whose metadata does not.
	Layout *record.Layout
	// Like gives columns the types, shapes and metadata that columns of the same
	// names have in this schema, for files that went through another program: it
	// keeps the values of fields as plain lists, which have no shape and no
	// metadata, and cannot be trained on. It is the schema of the records as they
	// were: of the Reader of the source that the other program read. Each row must
	// have as many values as its shape says. Other columns are read as they are.
	Like *arrow.Schema
	// Rows is the largest number of rows per record; larger row groups are cut.
	// The default is 256.
	Rows int
	// MaxBytes bounds the memory for one row group, beside the record that is
	// made of it. The default is 1 GiB.
	MaxBytes int64
	// Unverified leaves out the comparison with the manifest.
	Unverified bool
}

var _ flow.Source = Source{}

// String names the input, for the plan of a pipeline.
func (s Source) String() string { return "Parquet(" + s.name() + ")" }

func (s Source) name() string {
	if s.Path == "" && s.ReaderAt != nil {
		return "reader"
	}
	return s.Path
}

// Open reads the schema. Errors of files are *sources.FileError.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	switch {
	case s.Rows < 0:
		return nil, fmt.Errorf("sources: Parquet: Rows is %d, want at least 0", s.Rows)
	case s.MaxBytes < 0:
		return nil, fmt.Errorf("sources: Parquet: MaxBytes is %d, want at least 0", s.MaxBytes)
	case s.Path == "" && s.ReaderAt == nil:
		return nil, errors.New("sources: Parquet: no Path")
	}
	if s.Rows == 0 {
		s.Rows = 256
	}
	if s.MaxBytes == 0 {
		s.MaxBytes = 1 << 30
	}
	open := func(r io.ReaderAt, size int64) (tabular.Decoder, error) {
		if size < 0 {
			return nil, errors.New("it is no regular file, which Parquet has to be")
		}
		return newReader(r, size, &tabular.Budget{Left: s.MaxBytes, Most: s.MaxBytes})
	}
	inputs := []tabular.Input{{Name: s.name(), Rows: -1, Open: func() (tabular.Decoder, io.Closer, error) {
		d, err := open(s.ReaderAt, s.Size)
		return d, io.NopCloser(nil), err
	}}}
	if s.ReaderAt == nil {
		var err error
		inputs, err = tabular.Inputs(s.Path, []string{".parquet", ".parq", ".pq"}, !s.Unverified,
			func(f tabular.File, size int64) (tabular.Decoder, error) { return open(f, size) })
		if err != nil {
			return nil, inFile(s.Path, err)
		}
	}
	return tabular.NewReader(ctx, mem, inputs, s.Rows, tabular.Options{Columns: s.Columns, Layout: s.Layout, Like: s.Like}, inFile)
}

// inFile wraps an error of a file, which package os names in its errors too.
func inFile(file string, err error) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		err = p.Err
	}
	return &sources.FileError{File: file, Err: err}
}
