package tabular

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// Bytes are the bytes of an open input.
type Bytes struct {
	io.Reader
	At   io.ReaderAt // the same bytes; not used by the decoder of a stream
	Size int64       // -1 if it is unknown, as of a pipe
	io.Closer
}

// Files is a source that reads files of one format. The exported sources have its fields.
type Files struct {
	Source   string // name of the source, for errors
	Path     string
	Bucket   file.Bucket // in place of Path
	Exts     []string    // extensions of the files of a directory
	Rows     int
	MaxBytes int64
	Options
	Given  *Bytes // read in place of Path, and not closed
	Decode func(Bytes, *Budget) (Decoder, error)
	Wrap   func(file string, err error) error // wraps errors of a file
}

// Name returns the name of the input.
func (s Files) Name() string {
	switch {
	case s.Bucket != nil:
		return s.Bucket.String()
	case s.Path == "" && s.Given != nil:
		return "reader"
	}
	return s.Path
}

// Open checks the settings and reads the schema.
func (s Files) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	inputs, err := s.Inputs()
	if err != nil {
		return nil, err
	}
	return newReader(ctx, mem, inputs, cmp.Or(s.Rows, 256), s.Options, s.Wrap)
}

// Inputs checks the settings and lists the files.
func (s Files) Inputs() ([]Input, error) {
	switch {
	case s.Rows < 0:
		return nil, fmt.Errorf("sources: %s: Rows is %d, want at least 0", s.Source, s.Rows)
	case s.MaxBytes < 0:
		return nil, fmt.Errorf("sources: %s: MaxBytes is %d, want at least 0", s.Source, s.MaxBytes)
	case s.Path == "" && s.Given == nil && s.Bucket == nil:
		return nil, fmt.Errorf("sources: %s: no Path", s.Source)
	}
	if s.Given != nil {
		given := *s.Given
		given.Closer = io.NopCloser(nil)
		return []Input{{Name: s.Name(), Rows: -1, Open: func() (Decoder, io.Closer, error) { return s.decode(given) }}}, nil
	}
	inputs, err := s.list()
	if err != nil {
		return nil, s.Wrap(s.Name(), err)
	}
	return inputs, nil
}

// decode returns a decoder of an input, and the input. It closes the input on an error.
func (s Files) decode(b Bytes) (Decoder, io.Closer, error) {
	most := cmp.Or(s.MaxBytes, 1<<30)
	d, err := s.Decode(b, &Budget{Left: most, Most: most})
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return d, b, nil
}

// list returns the files of a path or a bucket: the path itself, or the files of the directory or bucket, in
// the order of the manifest, or else of their names. With a manifest, each file is compared with it before it is
// decoded.
func (s Files) list() ([]Input, error) {
	ctx := context.Background()
	if s.Bucket == nil {
		info, err := os.Stat(s.Path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			in := Input{Name: s.Path, Rows: -1, Open: s.openPath}
			f, schema, ok, err := manifest.Of(s.Path)
			if err == nil && ok {
				in = verified(in, file.Dir{Path: filepath.Dir(s.Path)}, f, schema)
			}
			return []Input{in}, err
		}
		s.Bucket = file.Dir{Path: s.Path}
	}
	m, err := manifest.List(ctx, s.Bucket, s.Exts...)
	if err != nil {
		return nil, err
	}
	if len(m.Files) == 0 {
		err := fmt.Errorf("there is no file *%s", strings.Join(s.Exts, ", *"))
		if hive, _ := filepath.Glob(filepath.Join(s.Path, "*=*")); s.Path != "" && len(hive) > 0 {
			err = fmt.Errorf("%w; folders such as %s, whose names have values of a column, are not read: write one file, as DuckDB does by COPY (FROM read_parquet('%s/**/*.parquet', hive_partitioning=true)) TO 'all.parquet'", err, filepath.Base(hive[0]), s.Path)
		}
		return nil, err
	}
	var inputs []Input
	for _, f := range m.Files {
		if !slices.Contains(s.Exts, filepath.Ext(f.Name)) {
			return nil, fmt.Errorf("the manifest names %s, want files *%s", f.Name, strings.Join(s.Exts, ", *"))
		}
		in := Input{Name: file.NameIn(s.Bucket, f.Name), Rows: -1, Open: func() (Decoder, io.Closer, error) {
			o, err := s.Bucket.Get(ctx, f.Name)
			if err != nil {
				return nil, nil, err
			}
			return s.decode(Bytes{io.NewSectionReader(o, 0, o.Size()), o, o.Size(), o})
		}}
		if m.Version > 0 {
			in = verified(in, s.Bucket, f, m.Schema)
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func (s Files) openPath() (Decoder, io.Closer, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, nil, err
	}
	b := Bytes{f, f, -1, f}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		b.Size = info.Size()
	}
	return s.decode(b)
}

func verified(in Input, b file.Bucket, f manifest.File, schema string) Input {
	in.Verify = func(ctx context.Context) error { return f.Verify(ctx, b) }
	in.Schema, in.Rows = schema, f.Rows
	return in
}
