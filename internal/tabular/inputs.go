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
	"github.com/sanflow/sanflow/flow/manifest"
)

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// Files is a source that reads files of one format; its fields are those of the
// source.
type Files struct {
	Source   string // its name, for errors
	Path     string
	Exts     []string // of the files of a directory
	Rows     int
	MaxBytes int64
	Verify   bool // compare files with their manifest
	Options
	// Given, if set, decodes what is read instead of Path.
	Given func(*Budget) (Decoder, error)
	// Decode begins to read a file; size is -1 where it is a pipe.
	Decode func(f File, size int64, b *Budget) (Decoder, error)
	Wrap   func(file string, err error) error // of errors of a file
}

// Name is what the input is called.
func (s Files) Name() string {
	if s.Path == "" && s.Given != nil {
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
	case s.Path == "" && s.Given == nil:
		return nil, fmt.Errorf("sources: %s: no Path", s.Source)
	}
	most := cmp.Or(s.MaxBytes, 1<<30)
	budget := func() *Budget { return &Budget{Left: most, Most: most} }
	inputs := []Input{{Name: s.Name(), Rows: -1, Open: func() (Decoder, io.Closer, error) {
		d, err := s.Given(budget())
		return d, io.NopCloser(nil), err
	}}}
	if s.Given == nil {
		var err error
		inputs, err = list(s.Path, s.Exts, s.Verify, func(f File, size int64) (Decoder, error) { return s.Decode(f, size, budget()) })
		if err != nil {
			return nil, s.Wrap(s.Path, err)
		}
	}
	return inputs, nil
}

// list returns the files that a path stands for: itself, or those of a
// directory, in the order of its manifest, or else of their names. If there
// is a manifest and verify is set, each file is compared with it before it is
// parsed.
func list(path string, exts []string, verify bool, open func(f File, size int64) (Decoder, error)) ([]Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		in := input(path, open)
		if !verify {
			return []Input{in}, nil
		}
		f, schema, ok, err := manifest.Of(path)
		if err == nil && ok {
			in = verified(in, filepath.Dir(path), f, schema)
		}
		return []Input{in}, err
	}
	m, err := manifest.List(path, exts...)
	if err != nil {
		return nil, err
	}
	if len(m.Files) == 0 {
		return nil, fmt.Errorf("there is no file *%s", strings.Join(exts, ", *"))
	}
	var inputs []Input
	for _, f := range m.Files {
		if !slices.Contains(exts, filepath.Ext(f.Name)) {
			return nil, fmt.Errorf("the manifest names %s, want files *%s", f.Name, strings.Join(exts, ", *"))
		}
		in := input(filepath.Join(path, f.Name), open)
		if m.Version > 0 && verify {
			in = verified(in, path, f, m.Schema)
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func input(path string, open func(f File, size int64) (Decoder, error)) Input {
	return Input{Name: path, Rows: -1, Open: func() (Decoder, io.Closer, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		size := info.Size()
		if !info.Mode().IsRegular() {
			size = -1 // a pipe
		}
		d, err := open(f, size)
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		return d, f, nil
	}}
}

func verified(in Input, dir string, f manifest.File, schema string) Input {
	in.Verify = func(ctx context.Context) error { return f.Verify(ctx, dir) }
	in.Schema, in.Rows = schema, f.Rows
	return in
}
