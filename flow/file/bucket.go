// Package file writes files atomically: after a kill, a full disk or a loss of power, a file has
// its old or its new content.
//
//	f, err := file.Create(nil, "model.safetensors")
//	if err != nil {
//		return err // no place to write to, or another run writes it
//	}
//	defer f.Discard()
//	if err := net.Save(f); err != nil {
//		return err
//	}
//	return f.Publish()
//
// All code writes files through an [FS]: the operating system, or package filetest in a test.
//
// # What is promised
//
// A name of which [Pending.Publish] has returned nil has the new content, also
// after a loss of power, and one of which it has not returned has the old or
// the new. Only one run at a time writes a name: the others get [ErrHeld]. What
// a run that was killed leaves is called .unfinished-NAME, and the next one that
// writes NAME takes its place.
//
// On Windows a directory cannot be brought to disk, and a file cannot be renamed
// while it is open: there a loss of power may undo a Publish that has returned
// nil, and two runs that end at the same moment may both fail. Files are whole
// there too.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// Bucket is a flat set of whole files. A directory is one ([Dir]), and an object store can be one:
// a Bucket renames nothing and syncs no directory. Names have no slash and are not empty. All
// methods may be called by many goroutines and processes at once.
type Bucket interface {
	// Create begins a file, which appears under its name as a whole or not at all. ErrHeld: another
	// run is writing the same name now. ctx is that of the whole write.
	Create(ctx context.Context, name string) (Upload, error)
	// Get opens a file for reading. The error of an absent name is fs.ErrNotExist.
	Get(ctx context.Context, name string) (Object, error)
	// List returns the names of all files that begin with prefix, sorted. Names that begin with a dot
	// are listed only if prefix does. The error of a directory that is absent is fs.ErrNotExist.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove removes a file. An absent name is no error.
	Remove(ctx context.Context, name string) error
	// String names the bucket in errors: a path or a URL.
	String() string
}

// Upload is a file of a Bucket that has no name yet. A [Pending] is one.
type Upload interface {
	io.Writer
	// Publish gives the file its name, in place of an old file of that name. When Publish returns nil
	// the name has the new content, which survives a crash.
	Publish() error
	// Discard gives up a file that is not published. After Publish it does nothing.
	Discard() error
}

// Put publishes a file with the output of write. An error of write publishes nothing and is
// returned.
func Put(ctx context.Context, b Bucket, name string, write func(io.Writer) error) error {
	u, err := b.Create(ctx, name)
	if err != nil {
		return err
	}
	if err := write(u); err != nil {
		return errors.Join(err, u.Discard())
	}
	return u.Publish()
}

// Object is an open file of a Bucket. ReadAt may be called by many goroutines at once. A file that
// is replaced while it is open keeps its old content for the reader, or gives an error.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// NameIn names a file of a bucket in messages: by its path in a [Dir], else by what String returns
// and the name, such as s3://fields/manifest.json.
func NameIn(b Bucket, name string) string {
	if d, ok := b.(Dir); ok {
		return filepath.Join(d.Path, name)
	}
	if s := b.String(); strings.HasSuffix(s, "/") {
		return s + name
	}
	return b.String() + "/" + name
}

// Dir is the bucket of the files in one directory. Create makes the directory. Files that are not
// complete, and directories in it, do not belong to the bucket.
type Dir struct {
	Path string
	// FS replaces the file system of this machine.
	FS FS
}

var _ Bucket = Dir{}

// String returns the path.
func (d Dir) String() string { return d.Path }

func (d Dir) join(name string) (string, error) {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, "/"+string(filepath.Separator)) {
		return "", fmt.Errorf("%q is no name of a file in %s", name, d.Path)
	}
	return filepath.Join(d.Path, name), nil
}

// Create implements Bucket by [Create].
func (d Dir) Create(_ context.Context, name string) (Upload, error) {
	path, err := d.join(name)
	if err != nil {
		return nil, err
	}
	if _, err := MkdirAll(d.FS, d.Path); err != nil {
		return nil, CannotWrite(path, err)
	}
	p, err := Create(d.FS, path)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Get implements Bucket.
func (d Dir) Get(_ context.Context, name string) (Object, error) {
	path, err := d.join(name)
	if err != nil {
		return nil, err
	}
	f, err := Or(d.FS).Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return object{f, info.Size()}, nil
}

// List implements Bucket.
func (d Dir) List(_ context.Context, prefix string) (names []string, err error) {
	entries, err := Or(d.FS).List(d.Path)
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.HasPrefix(name, prefix) && (name[0] != '.' || strings.HasPrefix(prefix, ".")) {
			names = append(names, name)
		}
	}
	return names, err
}

// Remove implements Bucket.
func (d Dir) Remove(_ context.Context, name string) error {
	path, err := d.join(name)
	if err != nil {
		return err
	}
	err = Or(d.FS).Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return Or(d.FS).SyncDir(d.Path)
}

// object is a File with its size at Open.
type object struct {
	File
	size int64
}

func (o object) Size() int64 { return o.size }
