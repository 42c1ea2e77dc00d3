package parts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// directory is numbered parts and a manifest. Parts are written to a hidden
// directory inside, and all moved when the last is complete, so that an export
// that was there before stays as it is until then:
//
//	fields/.unfinished-12345/part-00000.parquet   while the run lasts
//	fields/part-00000.parquet                     afterwards
//	fields/manifest.json                          last
type directory struct {
	dir, ext string
	temp     string // the hidden directory
	made     bool   // dir itself is new
	old      *manifest.Manifest
	now      manifest.Manifest
	file     *os.File // the part in hand
}

func newDirectory(dir, ext string, s *arrow.Schema) (*directory, error) {
	d := &directory{dir: dir, ext: ext, now: manifest.Manifest{Version: 1, Schema: manifest.Fingerprint(s), Files: []manifest.File{}}}
	_, err := os.Stat(dir)
	d.made = errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, file.CannotWrite(dir, err)
	}
	if err := d.begin(); err != nil {
		return nil, errors.Join(err, d.discard())
	}
	return d, nil
}

// begin looks at what is there. A part that no manifest names would be read
// together with ours by whoever reads *.parquet: it is not ours to remove.
func (d *directory) begin() (err error) {
	d.old, err = manifest.Read(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		d.old = &manifest.Manifest{}
	} else if err != nil {
		return fmt.Errorf("cannot write %s: what is there cannot be replaced: %w", d.dir, err)
	}
	there, err := filepath.Glob(filepath.Join(d.dir, "part-*"))
	if err != nil {
		return file.CannotWrite(d.dir, err)
	}
	for _, path := range there {
		name := filepath.Base(path)
		if !slices.ContainsFunc(d.old.Files, func(f manifest.File) bool { return f.Name == name }) {
			return fmt.Errorf("cannot write %s: it holds %s, which no manifest names", d.dir, name)
		}
	}
	d.temp, err = os.MkdirTemp(d.dir, ".unfinished-")
	return file.CannotWrite(d.dir, err)
}

func (d *directory) name() string { return fmt.Sprintf("part-%05d%s", len(d.now.Files), d.ext) }

func (d *directory) create() (io.Writer, error) {
	path := filepath.Join(d.dir, d.name())
	f, err := os.OpenFile(filepath.Join(d.temp, d.name()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, file.CannotWrite(path, err)
	}
	d.file = f
	return namedWriter{path, f}, nil
}

func (d *directory) end(rows, bytes int64, sum string) error {
	f, path := d.file, filepath.Join(d.dir, d.name())
	d.file = nil
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return file.CannotWrite(path, err)
	}
	d.now.Files = append(d.now.Files, manifest.File{Name: d.name(), Rows: rows, Bytes: bytes, SHA256: sum})
	d.now.Rows += rows
	d.now.Bytes += bytes
	return nil
}

// publish takes the old manifest away first: whatever happens between here and
// the new one, no manifest lies about the files.
func (d *directory) publish() error {
	list := filepath.Join(d.dir, manifest.Name)
	if err := os.Remove(list); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return file.CannotWrite(list, err)
	}
	for _, f := range d.old.Files {
		if err := os.Remove(filepath.Join(d.dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return file.CannotWrite(filepath.Join(d.dir, f.Name), err)
		}
	}
	for _, f := range d.now.Files {
		if err := os.Rename(filepath.Join(d.temp, f.Name), filepath.Join(d.dir, f.Name)); err != nil {
			return file.CannotWrite(filepath.Join(d.dir, f.Name), err)
		}
	}
	if err := (file.OS{}).SyncDir(d.dir); err != nil {
		return file.CannotWrite(d.dir, err)
	}
	b, err := json.MarshalIndent(d.now, "", "  ")
	if err != nil {
		return err
	}
	d.made = false
	return file.Write(nil, list, func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

func (d *directory) discard() error {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
	var err error
	if d.temp != "" {
		err = os.RemoveAll(d.temp)
	}
	if d.made {
		os.Remove(d.dir) // fails where somebody else has put something there
	}
	return file.CannotWrite(d.dir, err)
}

// namedWriter names the file that an error is about.
type namedWriter struct {
	path string
	w    io.Writer
}

func (n namedWriter) Write(p []byte) (int, error) {
	k, err := n.w.Write(p)
	return k, file.CannotWrite(n.path, err)
}
