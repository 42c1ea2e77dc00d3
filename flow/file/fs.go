package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is the part of a file system that this module needs. Names are paths of the operating system.
// Functions of this package take nil for the one of this machine.
type FS interface {
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Create opens an empty file for reading and writing, and deletes the content of an old one. It
	// is held until Close: meanwhile another Create of the same file, of this process or another,
	// is ErrHeld. A file that was renamed stays held.
	Create(name string) (File, error)
	// Rename gives a file another name in the same directory, in place of the file
	// that had it.
	Rename(from, to string) error
	// Remove removes a file, or a directory with nothing in it.
	Remove(name string) error
	// Mkdir makes a directory in one that is there.
	Mkdir(name string) error
	// SyncDir makes the creation, renaming and removal of files in a directory durable.
	SyncDir(dir string) error
	// List returns the names in a directory, sorted.
	List(dir string) ([]fs.DirEntry, error)
	// Stat describes a file; it follows symbolic links.
	Stat(name string) (fs.FileInfo, error)
}

// File is an open file. An *os.File is one.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync brings the content to disk.
	Sync() error
	Stat() (fs.FileInfo, error)
	Name() string
}

// ErrHeld is the error of a write to a file that another run is writing.
var ErrHeld = errors.New("another run is writing it")

// Or returns fsys, or the file system of this machine if it is nil.
func Or(fsys FS) FS {
	if fsys == nil {
		return osFS{}
	}
	return fsys
}

// osFS is the file system of the operating system.
type osFS struct{}

func (osFS) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err // f is a nil *os.File, which is not a nil File
	}
	return f, nil
}

// Create opens, locks and then empties a file, so that a file of another process is not emptied, and a file
// that was renamed meanwhile is not touched.
func (osFS) Create(name string) (File, error) {
	for range 100 {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		still, err := take(f, name)
		if err == nil && still {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, ErrHeld
}

// take locks f. If f still has the name, take empties f and returns true.
func take(f *os.File, name string) (bool, error) {
	if err := hold(f); err != nil {
		return false, err
	}
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !named.Mode().IsRegular():
		return false, errIrregular
	case !os.SameFile(opened, named):
		return false, nil
	}
	return true, f.Truncate(0)
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) Mkdir(name string) error { return os.Mkdir(name, 0o755) }

// SyncDir brings the names in a directory to disk. On Windows it does nothing.
func (osFS) SyncDir(dir string) error { return syncDir(dir) }

func (osFS) List(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// MkdirAll makes a directory and those above it that are missing, and brings
// their names to disk. It returns the directories that it made, the outermost
// first, also beside an error.
func MkdirAll(fsys FS, dir string) (made []string, err error) {
	fsys = Or(fsys)
	info, err := fsys.Stat(dir)
	if err == nil && !info.IsDir() {
		return nil, &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("it is no directory")}
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	above := filepath.Dir(dir)
	if above != dir {
		if made, err = MkdirAll(fsys, above); err != nil {
			return made, err
		}
	}
	err = fsys.Mkdir(dir)
	if errors.Is(err, fs.ErrExist) {
		return made, nil // another process made it first
	}
	if err == nil {
		made, err = append(made, dir), fsys.SyncDir(above)
	}
	return made, err
}
