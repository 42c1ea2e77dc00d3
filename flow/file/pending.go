package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// unfinished begins the name that a file has until it is complete.
const unfinished = ".unfinished-"

// Unfinished returns the name that a file has until it is complete: it is in the
// same directory, and hidden.
func Unfinished(path string) string {
	dir, base := filepath.Split(path)
	return dir + unfinished + base
}

var errIrregular = errors.New("it is no regular file")

// Pending is a file that appears under its name as a whole or not at all.
type Pending struct {
	fs   FS
	path string
	file File // nil once the file has its name, or was given up
}

// Create begins a file. It fails at once if the place cannot be written to,
// before any long work; with ErrHeld if another run writes the same name. A
// symbolic link of that name is replaced, not followed.
func Create(fsys FS, path string) (*Pending, error) {
	fsys = Or(fsys)
	info, err := fsys.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, CannotWrite(path, errIrregular)
	}
	f, err := fsys.Create(Unfinished(path))
	if err != nil {
		return nil, CannotWrite(path, err)
	}
	return &Pending{fsys, path, f}, nil
}

// Write appends to the file. Its errors name it.
func (p *Pending) Write(b []byte) (int, error) {
	if p.file == nil {
		return 0, CannotWrite(p.path, fs.ErrClosed)
	}
	n, err := p.file.Write(b)
	return n, CannotWrite(p.path, err)
}

// Publish brings the content to disk and gives the file its name, in place of
// the file that had it. When it returns nil both last. After an error the name
// has the old content or the new.
func (p *Pending) Publish() error {
	if p.file == nil {
		return CannotWrite(p.path, fs.ErrClosed)
	}
	if err := p.file.Sync(); err != nil {
		return errors.Join(CannotWrite(p.path, err), p.Discard())
	}
	f, hidden := p.file, Unfinished(p.path)
	p.file = nil
	var closed error
	if !movesOpen {
		closed = f.Close()
	}
	err := p.fs.Rename(hidden, p.path)
	if err != nil {
		p.fs.Remove(hidden) // the error of Rename is returned
	} else {
		err = p.fs.SyncDir(filepath.Dir(p.path))
	}
	if movesOpen { // the lock is held until the file has its name
		closed = f.Close()
	}
	return CannotWrite(p.path, errors.Join(err, closed))
}

// Discard removes a file that is not published. After Publish, and on a nil Pending, it does
// nothing.
func (p *Pending) Discard() error {
	if p == nil || p.file == nil {
		return nil
	}
	f := p.file
	p.file = nil
	return CannotWrite(p.path, removeHeld(p.fs, f, Unfinished(p.path)))
}

// removeHeld removes a locked file, before it is unlocked if the system permits that, so that the file of the
// next run stays.
func removeHeld(fsys FS, f File, name string) error {
	if !movesOpen {
		return errors.Join(f.Close(), fsys.Remove(name))
	}
	return errors.Join(fsys.Remove(name), f.Close())
}

// Write publishes a file with the output of write. It appears under its name at once or not at all.
func Write(fsys FS, path string, write func(io.Writer) error) error {
	p, err := Create(fsys, path)
	if err != nil {
		return err
	}
	if err := write(p); err != nil {
		return errors.Join(err, p.Discard())
	}
	return p.Publish()
}

// CannotWrite adds the final name of the file to an error, without its temporary name: "cannot
// write PATH: no space left on device". CannotWrite(nil) is nil, and an error that names the file
// already is unchanged.
func CannotWrite(path string, err error) error {
	var named *writeError
	if err == nil || errors.As(err, &named) {
		return err
	}
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	return &writeError{path, err}
}

type writeError struct {
	path string
	err  error
}

func (e *writeError) Error() string { return "cannot write " + e.path + ": " + e.err.Error() }

func (e *writeError) Unwrap() error { return e.err }

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

// lockName returns the path of the lock file of a directory.
func lockName(dir string) string { return Unfinished(filepath.Join(dir, "lock")) }

type lock struct {
	fs   FS
	file File
	dir  string
}

func (l lock) Close() error { return CannotWrite(l.dir, removeHeld(l.fs, l.file, lockName(l.dir))) }
