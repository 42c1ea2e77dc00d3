package parts

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// replaced is the manifest whose files go once another has taken its place.
var replaced = file.Unfinished("replaced.json")

// leftover reports whether a run that writes directories left e behind. Other
// hidden files belong to runs that write a single file there, perhaps now.
func leftover(e fs.DirEntry) bool {
	if !file.IsUnfinished(e.Name()) {
		return false
	}
	part, _ := filepath.Match(file.Unfinished("part-*"), e.Name())
	return part || e.IsDir() || e.Name() == replaced || e.Name() == file.Unfinished(manifest.Name)
}

// tidy removes from a directory, which is locked, what a run that failed or was
// killed has left in it, and returns its manifest, or nil.
//
// First go the parts that such a run named in a hidden manifest and that the
// manifest does not name; then, when that is on disk, what is hidden. A tidy that
// is killed is gone on with by the next.
func tidy(fsys file.FS, dir string) (*manifest.Manifest, error) {
	m, err := manifest.ReadFile(fsys, filepath.Join(dir, manifest.Name))
	if errors.Is(err, fs.ErrNotExist) {
		m = nil
	} else if err != nil {
		return nil, fmt.Errorf("the old output cannot be replaced: %w", err)
	}
	entries, err := fsys.List(dir)
	if err != nil {
		return nil, err
	}
	var hidden, stale []string
	for _, e := range entries {
		if !leftover(e) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		hidden = append(hidden, path)
		if e.IsDir() { // of earlier versions, which had parts in a directory of their own
			inside, err := fsys.List(path)
			if err != nil {
				return nil, err
			}
			hidden = hidden[:len(hidden)-1]
			for _, e := range inside {
				hidden = append(hidden, filepath.Join(path, e.Name()))
			}
			hidden = append(hidden, path)
			continue
		}
		if filepath.Ext(path) != ".json" {
			continue
		}
		list, err := manifest.ReadFile(fsys, path)
		if p := new(fs.PathError); errors.As(err, &p) {
			return nil, err
		}
		if err != nil { // killed while it was written: it was not acted upon yet
			continue
		}
		more, err := unnamed(fsys, dir, list, m)
		if err != nil {
			return nil, err
		}
		stale = append(stale, more...)
	}
	for _, list := range [][]string{stale, hidden} {
		if len(list) == 0 {
			continue
		}
		// What was read is on disk before what it does not name goes.
		if err := fsys.SyncDir(dir); err != nil {
			return nil, err
		}
		for _, path := range list {
			if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return m, nil
}

// unnamed returns the files of list that are there and not of m. One that is
// still hidden, or of another size, was put there by another process.
func unnamed(fsys file.FS, dir string, list, m *manifest.Manifest) (paths []string, err error) {
	for _, f := range list.Files {
		if m != nil {
			if _, ok := m.Has(f.Name); ok {
				continue
			}
		}
		path := filepath.Join(dir, f.Name)
		_, hidden := fsys.Stat(file.Unfinished(path))
		if hidden == nil {
			continue
		}
		info, err := fsys.Stat(path)
		switch {
		case !errors.Is(hidden, fs.ErrNotExist):
			return nil, hidden
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case info.Mode().IsRegular() && info.Size() == f.Bytes:
			paths = append(paths, path)
		}
	}
	return paths, nil
}
