// Package manifest lists the files of a sink, with the content and the checksum of each, so that a
// reader can detect missing and damaged files before it parses them.
//
//	m, err := manifest.Read("fields")
//	if err != nil {
//		return err // fs.ErrNotExist: there is no manifest, or no directory
//	}
//	for _, f := range m.Files {
//		if err := f.Verify(ctx, file.Dir{Path: "fields"}); err != nil {
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

// Name is the file name of a manifest. Plan is the name of the plan of a bucket whose files many runs
// make (package part), and Unfinished that of a file which is there while one run writes a bucket, or
// after it was killed; before the manifest is there, the bucket is not complete.
const (
	Name       = "manifest.json"
	Plan       = "_plan.json"
	Unfinished = "_unfinished.json"
)

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

// New returns a manifest without files, for records of a schema.
func New(s *arrow.Schema) *Manifest {
	return &Manifest{Version: 1, Schema: Fingerprint(s), Shapes: record.Shapes(s), Channels: record.Channels(s), Files: []File{}}
}

// File is one file of a manifest.
type File struct {
	Name   string `json:"name"` // without a directory
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the whole file, in hexadecimal
}

// limit bounds the bytes of a manifest, for about 100 000 files.
const limit = 32 << 20

// Read reads the manifest of a directory. If there is none the error is
// fs.ErrNotExist.
func Read(dir string) (*Manifest, error) {
	return ReadBucket(context.Background(), file.Dir{Path: dir})
}

// ReadBucket reads the manifest of a bucket. If there is none the error is fs.ErrNotExist.
func ReadBucket(ctx context.Context, b file.Bucket) (*Manifest, error) {
	o, err := b.Get(ctx, Name)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	text, err := io.ReadAll(io.NewSectionReader(o, 0, min(o.Size(), limit+1)))
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	if len(text) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	} else if err = json.Unmarshal(text, m); err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, fmt.Errorf("manifest: %s: %w", file.NameIn(b, Name), err)
	}
	return m, nil
}

// List returns the files to read from a bucket, such as a directory: those of its manifest. If
// another program wrote the bucket, without a manifest, the files are all names with a suffix in
// exts, sorted; then only Name is set, and Version is 0. A bucket in which a run has begun to put
// files, and has not finished, is an error.
func List(ctx context.Context, b file.Bucket, exts ...string) (*Manifest, error) {
	m, err := ReadBucket(ctx, b)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	for _, begun := range []string{file.Unfinished(""), Plan, Unfinished} {
		names, err := b.List(ctx, begun)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			return nil, fmt.Errorf("manifest: %s: there is none yet: a run that writes there has not finished", file.NameIn(b, Name))
		}
	}
	names, err := b.List(ctx, "")
	if err != nil {
		return nil, err
	}
	m = &Manifest{}
	for _, name := range names {
		if slices.Contains(exts, filepath.Ext(name)) {
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
func Of(name string) (f File, schema string, ok bool, err error) {
	dir, base := filepath.Split(name)
	m, err := Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, "", false, nil
	}
	if err != nil {
		return f, "", false, err
	}
	if f, ok = m.Has(base); !ok {
		return f, "", false, nil
	}
	return f, m.Schema, true, nil
}

// Verify reads the file in a bucket and compares its size and its checksum. O(bytes).
func (f File) Verify(ctx context.Context, b file.Bucket) error {
	o, err := b.Get(ctx, f.Name)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := f.Check(ctx, o); err != nil && ctx.Err() == nil {
		return fmt.Errorf("manifest: %s %w", file.NameIn(b, f.Name), err)
	}
	return context.Cause(ctx)
}

// Check compares the size and the checksum of an open file. O(bytes).
func (f File) Check(ctx context.Context, o file.Object) error {
	if o.Size() != f.Bytes {
		return fmt.Errorf("has %d bytes, want %d", o.Size(), f.Bytes)
	}
	h, b := sha256.New(), make([]byte, min(piece, f.Bytes))
	for at := int64(0); at < f.Bytes; at += piece {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b = b[:min(piece, f.Bytes-at)]
		if _, err := io.ReadFull(io.NewSectionReader(o, at, int64(len(b))), b); err != nil {
			return fmt.Errorf("cannot be read at byte %d: %w", at, err)
		}
		h.Write(b)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("has the checksum %.8s…, want %.8s…: it was changed or damaged", got, f.SHA256)
	}
	return nil
}

// piece is the number of bytes that Check reads at once, in one request to an object store.
const piece = 4 << 20

// Sum is the SHA-256 of a file in hexadecimal, as File.SHA256 is. O(bytes).
func Sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
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
