// Package manifest lists the files of a sink, with the content and the checksum of each, so that a
// reader can detect missing and damaged files before it parses them.
//
//	m, err := manifest.Read("fields")
//	if err != nil {
//		return err // fs.ErrNotExist: there is no manifest, or no directory
//	}
//	for _, f := range m.Files {
//		if err := f.Verify(ctx, "fields"); err != nil {
//			return err
//		}
//	}
//
// A manifest is the file manifest.json of the directory. Other files do not belong to the output: a
// killed run may leave some, and the next run removes them. It is put there in one step, when all
// files that it names are on disk: a directory that has one is complete. The checksums are SHA-256,
// as sha256sum prints them.
package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/record"
)

// Name is the file name of a manifest.
const Name = "manifest.json"

// Manifest lists the files of a directory.
type Manifest struct {
	// Version is 1.
	Version int `json:"version"`
	// Schema is the Fingerprint of the records in all files.
	Schema string `json:"schema"`
	// Shapes are the shapes of one row of the tensor columns, for readers without Arrow's schema.
	Shapes map[string][]int `json:"shapes,omitempty"`
	// Channels are those of the columns of attributes, in the order of their values in a row, with
	// the words that the values of discrete ones stand for.
	Channels map[string][]record.Channel `json:"channels,omitempty"`
	Rows     int64                       `json:"rows"`
	Bytes    int64                       `json:"bytes"`
	// Files are in the order of their rows.
	Files []File `json:"files"`
}

// File is one file of a manifest.
type File struct {
	Name   string `json:"name"` // without a directory
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the whole file, in hexadecimal
}

// limit bounds the size of a manifest that is read: some 100 000 files.
const limit = 32 << 20

// Read reads the manifest of a directory. If there is none the error is
// fs.ErrNotExist.
func Read(dir string) (*Manifest, error) { return ReadFile(nil, filepath.Join(dir, Name)) }

// ReadFile reads a manifest from a file system; nil is the operating system.
func ReadFile(fsys file.FS, path string) (*Manifest, error) {
	f, err := file.Or(fsys).Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if len(b) > limit {
		return nil, fmt.Errorf("manifest: %s: more than %d bytes", path, limit)
	}
	m := &Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("manifest: %s: %w", path, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("manifest: %s: %w", path, err)
	}
	return m, nil
}

// List returns the files to read from a directory: those of its manifest. If another program wrote
// the directory, without a manifest, the files are all names with a suffix in exts, sorted; then
// only Name is set, and Version is 0. A directory in which a run has begun to put files, and has
// not finished, is an error.
func List(dir string, exts ...string) (*Manifest, error) {
	m, err := Read(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	m = &Manifest{}
	for _, e := range entries {
		name := e.Name()
		switch {
		case file.IsUnfinished(name):
			return nil, fmt.Errorf("manifest: %s: there is none yet: a run that writes the directory has not finished", filepath.Join(dir, Name))
		case !e.IsDir() && !strings.HasPrefix(name, ".") && slices.Contains(exts, filepath.Ext(name)):
			m.Files = append(m.Files, File{Name: name})
		}
	}
	return m, nil
}

// Has returns the file of that name, or false.
func (m *Manifest) Has(name string) (File, bool) {
	i := slices.IndexFunc(m.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return m.Files[i], true
}

// Add adds a file behind the others.
func (m *Manifest) Add(f File) {
	m.Files = append(m.Files, f)
	m.Rows += f.Rows
	m.Bytes += f.Bytes
}

func (m *Manifest) check() error {
	if m.Version != 1 {
		return fmt.Errorf("version is %d, want 1", m.Version)
	}
	var rows, bytes int64
	seen := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		if f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") || strings.ContainsAny(f.Name, "/"+string(filepath.Separator)) {
			return fmt.Errorf("%q is no name of a file in the directory", f.Name)
		}
		if seen[f.Name] {
			return fmt.Errorf("%q is named twice", f.Name)
		}
		seen[f.Name] = true
		if f.Rows < 0 || f.Bytes < 0 {
			return fmt.Errorf("%q: %d rows and %d bytes, want 0 or more", f.Name, f.Rows, f.Bytes)
		}
		if f.Rows > math.MaxInt64-rows || f.Bytes > math.MaxInt64-bytes {
			return fmt.Errorf("%q: %d rows and %d bytes, more than can be with the files before it", f.Name, f.Rows, f.Bytes)
		}
		rows += f.Rows
		bytes += f.Bytes
	}
	if rows != m.Rows || bytes != m.Bytes {
		return fmt.Errorf("%d rows and %d bytes, but its files have %d and %d", m.Rows, m.Bytes, rows, bytes)
	}
	return nil
}

// Of returns the entry of a file in the manifest beside it, and the schema. ok is false if there is
// no manifest or it does not name the file.
func Of(path string) (f File, schema string, ok bool, err error) {
	dir, name := filepath.Split(path)
	m, err := Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, "", false, nil
	}
	if err != nil {
		return f, "", false, err
	}
	if f, ok = m.Has(name); !ok {
		return f, "", false, nil
	}
	return f, m.Schema, true, nil
}

// Verify reads the file in dir and compares its size and its checksum. O(bytes).
func (f File) Verify(ctx context.Context, dir string) error {
	path := filepath.Join(dir, f.Name)
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	if info.Size() != f.Bytes {
		return fmt.Errorf("manifest: %s has %d bytes, want %d", path, info.Size(), f.Bytes)
	}
	h := sha256.New()
	if _, err := io.Copy(h, &interruptible{ctx, r}); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("manifest: %s has the checksum %.8s…, want %.8s…: it was changed or damaged", path, got, f.SHA256)
	}
	return nil
}

// interruptible is a reader that ends when its context does.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.r.Read(p)
}

// Fingerprint is a checksum over the names, types and metadata of the columns,
// in order. Two schemas that mean the same have the same one.
func Fingerprint(s *arrow.Schema) string {
	h := sha256.New()
	metadata := func(m arrow.Metadata) {
		keys := slices.Clone(m.Keys())
		slices.Sort(keys)
		for _, k := range keys {
			v, _ := m.GetValue(k)
			fmt.Fprintf(h, "\t%q=%q", k, v)
		}
		fmt.Fprintln(h)
	}
	for _, f := range s.Fields() {
		fmt.Fprintf(h, "%q %s", f.Name, f.Type)
		metadata(f.Metadata)
	}
	metadata(s.Metadata())
	return hex.EncodeToString(h.Sum(nil))
}
