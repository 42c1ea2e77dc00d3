package tabular

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/manifest"
)

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// Inputs returns the files that a path stands for: itself, or those of a
// directory, in the order of its manifest, or else of their names. Where there
// is a manifest and verify is set, each file is compared with it before it is
// parsed.
func Inputs(path string, exts []string, verify bool, open func(f File, size int64) (Decoder, error)) ([]Input, error) {
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
