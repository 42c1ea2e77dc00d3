package file

import (
	"io"
	"path/filepath"
)

// Lock keeps other runs off a directory: their Lock is [ErrHeld]. It is given
// back by Close, and by the end of the process, however that ends. It is the file
// lockName. A process that was killed leaves that file behind; the file then
// excludes no other process.
func Lock(fsys FS, dir string) (io.Closer, error) {
	fsys = Or(fsys)
	f, err := fsys.Create(lockName(dir))
	if err != nil {
		return nil, CannotWrite(dir, err)
	}
	return lock{fsys, f, dir}, nil
}

// lockName is the file by which a directory is locked.
func lockName(dir string) string { return Unfinished(filepath.Join(dir, "lock")) }

type lock struct {
	fs   FS
	file File
	dir  string
}

func (l lock) Close() error { return CannotWrite(l.dir, removeHeld(l.fs, l.file, lockName(l.dir))) }
