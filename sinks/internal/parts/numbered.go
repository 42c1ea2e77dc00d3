package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// numbered is numbered parts and a manifest in a bucket, which may be a directory:
//
//	_unfinished.json    exists while a run writes; parts without an entry in the manifest belong to it
//	part-00002.parquet  a complete part, with a number that the old manifest does not have
//	manifest.json       defines the output
//
// publish replaces the manifest in one step. Then the parts that the new manifest does not name are
// removed. A failed run removes its parts, and the next run removes those of a killed run. A part that
// neither a manifest nor a killed run explains belongs to another program: it is an error, and stays.
type numbered struct {
	to       file.Bucket
	ext      string
	ctx      context.Context
	cancel   context.CancelFunc
	old, now *manifest.Manifest // old has no files if there was none
	next     int                // number of the next part
	parts    []string           // parts of the old manifest and of this run
	upload   file.Upload
	begun    bool // the file manifest.Unfinished of this run exists
	unsure   bool // the new manifest may have been published, although an error came

	// The next fields are set for a directory only.
	lock io.Closer
	made []string // directories that this run made
	fs   file.FS
}

func newNumbered(t Target, ext string, s *arrow.Schema) (n *numbered, err error) {
	n = &numbered{to: t.Bucket, ext: ext, now: manifest.New(s)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if t.Dir != "" {
		n.to, n.fs = file.Dir{Path: t.Dir, FS: t.FS}, file.Or(t.FS)
		if n.made, err = file.MkdirAll(n.fs, t.Dir); err == nil {
			n.lock, err = file.Lock(n.fs, t.Dir)
		}
	}
	if err == nil {
		err = n.begin()
	}
	if err != nil {
		n.discard()
		return nil, file.CannotWrite(n.to.String(), err)
	}
	return n, nil
}

// begin checks the old output, and removes the parts of a killed run.
func (n *numbered) begin() (err error) {
	n.old, err = manifest.ReadBucket(n.ctx, n.to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.old = &manifest.Manifest{}
	case err != nil:
		return fmt.Errorf("the old output cannot be replaced: %w", err)
	}
	var plan, left, stray []string
	for _, of := range []struct {
		names  *[]string
		prefix string
	}{{&plan, manifest.Plan}, {&left, manifest.Unfinished}, {&stray, "part-"}} {
		if *of.names, err = n.list(of.prefix); err != nil {
			return err
		}
	}
	stray = slices.DeleteFunc(stray, n.named)
	switch {
	case len(plan) > 0:
		return errors.New("it holds the parts of a plan: name another place, or remove it")
	case len(left) == 0 && len(stray) > 0:
		return fmt.Errorf("it holds %s, which no manifest names", stray[0])
	}
	// In a directory, put also syncs the manifest, before parts that it does not name are removed.
	if err := n.put(manifest.Unfinished, struct{}{}); err != nil {
		return err
	}
	n.begun = true
	for _, f := range n.old.Files {
		n.parts = append(n.parts, f.Name)
	}
	for _, name := range stray {
		if err := n.to.Remove(n.ctx, name); err != nil {
			return err
		}
	}
	hidden, err := n.list(file.Unfinished("part-"))
	for _, name := range hidden {
		if n.fs != nil && err == nil {
			err = n.fs.Remove(filepath.Join(n.to.String(), name))
		}
	}
	return err
}

// list returns the names with a prefix, and none for a directory that does not exist.
func (n *numbered) list(prefix string) ([]string, error) {
	names, err := n.to.List(n.ctx, prefix)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

// named reports whether the old manifest has a file.
func (n *numbered) named(name string) bool {
	_, ok := n.old.Has(name)
	return ok
}

// put publishes a small JSON file.
func (n *numbered) put(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return file.Put(n.ctx, n.to, name, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// name returns the name of the current part, with the next number that the old manifest does not have. Names
// are in the order of rows, and numbers stay small.
func (n *numbered) name() string {
	for ; ; n.next++ {
		if name := fmt.Sprintf("part-%05d%s", n.next, n.ext); !n.named(name) {
			return name
		}
	}
}

func (n *numbered) create() (w io.Writer, err error) {
	n.upload, err = n.to.Create(n.ctx, n.name())
	return n.upload, err
}

func (n *numbered) end(rows, bytes int64, sum string) error {
	taken, err := n.list(n.name())
	if err == nil && slices.Contains(taken, n.name()) {
		err = file.CannotWrite(file.NameIn(n.to, n.name()), fs.ErrExist)
	}
	if err != nil {
		return err
	}
	n.parts = append(n.parts, n.name()) // the file can exist even if Publish fails
	if err := n.upload.Publish(); err != nil {
		return err
	}
	n.upload = nil
	n.now.Add(manifest.File{Name: n.name(), Rows: rows, Bytes: bytes, SHA256: sum})
	n.next++
	return nil
}

func (n *numbered) publish() error {
	if err := n.put(manifest.Name, n.now); err != nil {
		there, unread := manifest.ReadBucket(n.ctx, n.to)
		n.unsure = unread != nil && !errors.Is(unread, fs.ErrNotExist) || there != nil && (there.Rows != n.old.Rows || !sameFiles(there, n.old))
		return err
	}
	n.old, n.made = n.now, nil
	return nil
}

func sameFiles(a, b *manifest.Manifest) bool {
	for _, f := range a.Files {
		if g, ok := b.Has(f.Name); !ok || f != g {
			return false
		}
	}
	return len(a.Files) == len(b.Files)
}

// discard removes the parts that the manifest does not name. If it fails, the next run removes them.
func (n *numbered) discard() (err error) {
	defer n.cancel()
	if n.upload != nil {
		err = n.upload.Discard()
		n.upload = nil
	}
	if n.begun && !n.unsure {
		var failed error
		for _, name := range n.parts {
			if failed == nil && !n.named(name) {
				failed = n.to.Remove(n.ctx, name)
			}
		}
		if failed == nil {
			failed = n.to.Remove(n.ctx, manifest.Unfinished)
		}
		err = errors.Join(err, failed)
	}
	if n.lock != nil {
		err = errors.Join(err, n.lock.Close())
		n.lock = nil
	}
	for i := len(n.made) - 1; i >= 0; i-- {
		n.fs.Remove(n.made[i]) // fails if another process has put a file there
	}
	return file.CannotWrite(n.to.String(), err)
}
