package parts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// directory is numbered parts and a manifest. Parts get names that nothing
// there has, and become part of the directory by one step, when its manifest
// gives way to one that names them; what only the old one named goes after that:
//
//	.unfinished-lock                one run at a time
//	.unfinished-part-00002.parquet  until it is published
//	.unfinished-manifest.json       from then on part-00002 may be there
//	.unfinished-replaced.json       the old manifest: part-00000 may still be there
//	part-00002.parquet
//	manifest.json
//
// So what is there is complete at any moment, and what is there beside it can be
// told from the files of others.
type directory struct {
	fs       file.FS
	dir, ext string
	adding   bool      // to what is there
	made     []string  // directories that were not there
	lock     io.Closer // of dir
	old, now *manifest.Manifest
	hidden   []string // parts of now that are complete and have no names yet
	next     int      // number of a part
	file     file.File
	// unsure tells that the new manifest has its name, but perhaps not on disk.
	unsure bool
}

func newDirectory(t Target, ext string, s *arrow.Schema) (*directory, error) {
	d := &directory{fs: file.Or(t.FS), dir: t.Dir, ext: ext, adding: t.Append, now: manifest.New(s)}
	made, err := file.MkdirAll(d.fs, d.dir)
	d.made = made
	if err == nil {
		d.lock, err = file.Lock(d.fs, d.dir)
	}
	if err == nil {
		err = d.begin()
	}
	if err != nil {
		d.discard()
		return nil, file.CannotWrite(d.dir, err)
	}
	return d, nil
}

func (d *directory) path(name string) string { return filepath.Join(d.dir, name) }

// begin looks at what is there. A reader of *.parquet would read a part that
// no manifest names together with ours. begin refuses it and does not remove it.
func (d *directory) begin() error {
	old, err := tidy(d.fs, d.dir)
	if err != nil {
		return err
	}
	entries, err := d.fs.List(d.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == manifest.Plan {
			return errors.New("it holds the parts of a plan: name another place, or remove it")
		}
		known := false
		if old != nil {
			_, known = old.Has(e.Name())
		}
		if ours, _ := filepath.Match("part-*", e.Name()); ours && !known {
			return fmt.Errorf("it holds %s, which no manifest names", e.Name())
		}
	}
	d.old = old
	if !d.adding || old == nil {
		return nil
	}
	return extend(d.now, old, d.ext)
}

// extend adds the files of an old manifest to a new one of the same columns.
func extend(now, old *manifest.Manifest, ext string) error {
	if old.Schema != now.Schema {
		return errors.New("the columns differ from the existing parts")
	}
	for _, f := range old.Files {
		if filepath.Ext(f.Name) != ext {
			return fmt.Errorf("there is %s, want files *%s", f.Name, ext)
		}
		now.Add(f)
	}
	return nil
}

// freeName returns the name of the next part: that of the next number from *next on which old does
// not have, so that names are in the order of rows, and numbers stay small.
func freeName(old *manifest.Manifest, next *int, ext string) string {
	for ; ; *next++ {
		name := fmt.Sprintf("part-%05d%s", *next, ext)
		if old == nil {
			return name
		}
		if _, taken := old.Has(name); !taken {
			return name
		}
	}
}

// name is that of the part in hand.
func (d *directory) name() string { return freeName(d.old, &d.next, d.ext) }

func (d *directory) create() (io.Writer, error) {
	path := d.path(d.name())
	f, err := d.fs.Create(file.Unfinished(path))
	if err != nil {
		return nil, file.CannotWrite(path, err)
	}
	d.file = f
	return namedWriter{path, f}, nil
}

func (d *directory) end(rows, bytes int64, sum string) error {
	f, name := d.file, d.name()
	d.file = nil
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return file.CannotWrite(d.path(name), err)
	}
	d.now.Add(manifest.File{Name: name, Rows: rows, Bytes: bytes, SHA256: sum})
	d.hidden = append(d.hidden, name)
	d.next++
	return nil
}

// put writes a hidden file.
func (d *directory) put(path string, m *manifest.Manifest) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := d.fs.Create(path)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(b, '\n')); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (d *directory) publish() error {
	list := d.path(manifest.Name)
	if err := d.put(file.Unfinished(list), d.now); err != nil {
		return file.CannotWrite(list, err)
	}
	if d.old != nil && !d.adding {
		if err := d.put(d.path(replaced), d.old); err != nil {
			return file.CannotWrite(list, err)
		}
	}
	// These names are on disk before there is anything that they tell of.
	if err := d.fs.SyncDir(d.dir); err != nil {
		return file.CannotWrite(d.dir, err)
	}
	for _, name := range d.hidden {
		if _, err := d.fs.Stat(d.path(name)); !errors.Is(err, fs.ErrNotExist) {
			return file.CannotWrite(d.path(name), errors.Join(err, fs.ErrExist))
		}
		if err := d.fs.Rename(file.Unfinished(d.path(name)), d.path(name)); err != nil {
			return file.CannotWrite(d.path(name), err)
		}
	}
	if err := d.fs.SyncDir(d.dir); err != nil {
		return file.CannotWrite(d.dir, err)
	}
	if err := d.fs.Rename(file.Unfinished(list), list); err != nil {
		return file.CannotWrite(list, err)
	}
	if err := d.fs.SyncDir(d.dir); err != nil {
		d.unsure = true
		return file.CannotWrite(list, err)
	}
	d.hidden, d.made = nil, nil
	if d.adding {
		old := *d.now
		d.old = &old
	}
	return nil
}

// discard removes what is not published, and what was replaced, and lets go of
// the directory. If it cannot, the next run does.
func (d *directory) discard() error {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
	if d.lock == nil {
		return nil
	}
	var err error
	if !d.unsure {
		_, err = tidy(d.fs, d.dir)
	}
	if unlocked := d.lock.Close(); err == nil {
		err = unlocked
	}
	for i := len(d.made) - 1; i >= 0; i-- {
		d.fs.Remove(d.made[i]) // fails where another process has put a file there
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
