package reading

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
)

// Folder finds and opens the files of a collection, or of a set of nodes. A zip, a directory and an
// fs.FS are the same to the rest.
type Folder struct {
	Fsys   fs.FS
	Place  string // of fsys, for messages
	Prefix string // folder and NAME_ of the files
	Limit  int64
	Budget *Budget

	Ctx   context.Context // of a set of nodes
	Alive func() error
	Close func() error
}

// OpenPlace opens a zip or a directory, or takes fsys if that is set.
func OpenPlace(place string, fsys fs.FS, limit int64, memory *Budget) (*Folder, error) {
	f := &Folder{Fsys: fsys, Place: place, Limit: limit, Budget: memory, Close: func() error { return nil }}
	if f.Fsys != nil {
		return f, nil
	}
	info, err := os.Stat(place)
	switch {
	case err != nil:
		return nil, InFile(place, err)
	case info.IsDir():
		f.Fsys = os.DirFS(place)
		return f, nil
	}
	z, err := zip.OpenReader(place)
	if errors.Is(err, zip.ErrFormat) {
		err = fmt.Errorf("%w: damaged, cut short, or something else", err)
	}
	if err != nil {
		return nil, InFile(place, err)
	}
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) }) // nearly twice as fast
	f.Fsys, f.Close = z, z.Close
	return f, nil
}

// FindOnly sets the prefix to what stands before the end of the only file that a pattern
// and this end name, here or one folder down, and that is wanted.
func (f *Folder) FindOnly(pattern, end, several, missing string, wanted func(prefix string) bool) error {
	var found []string
	for _, folder := range []string{"", "*/"} {
		names, err := fs.Glob(f.Fsys, folder+pattern+end)
		if err != nil {
			return InFile(f.Place, err)
		}
		for _, n := range names {
			if prefix := strings.TrimSuffix(n, end); wanted(prefix) {
				found = append(found, prefix)
			}
		}
	}
	switch len(found) {
	case 0:
		return &FileError{File: f.Place, Line: 0, Err: fmt.Errorf("no file %s: %w", missing, fs.ErrNotExist)}
	case 1:
		f.Prefix = found[0]
		return nil
	}
	return &FileError{File: f.Place, Line: 0, Err: fmt.Errorf("several %s, %s and %s, want one", several, found[0]+end, found[1]+end)}
}

// Open returns the lines of one file, or nil where it does not exist.
func (f *Folder) Open(what string) (*Lines, error) {
	name := f.Prefix + what + ".txt"
	l := &Lines{File: path.Join(f.Place, name), Limit: f.Limit, Alive: f.Alive, Budget: f.Budget}
	file, err := f.Fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, InFile(l.File, err)
	}
	// What an archive says of the size may be a lie, so it is checked here to
	// fail early and again while reading.
	info, err := file.Stat()
	if err != nil || info.Size() > f.Limit {
		file.Close()
		if err == nil {
			err = fmt.Errorf("%d bytes unpacked, want at most %d; raise MaxBytes if that is right", info.Size(), f.Limit)
		}
		return nil, InFile(l.File, err)
	}
	l.R = file
	return l, nil
}

// Must is open for a file that a collection cannot be without.
func (f *Folder) Must(what string) (*Lines, error) {
	l, err := f.Open(what)
	if err == nil && l == nil {
		err = f.Missing(what)
	}
	return l, err
}

func (f *Folder) Missing(what string) error {
	return &FileError{File: f.Path(what), Line: 0, Err: fs.ErrNotExist}
}

// Path is that of a file, for messages.
func (f *Folder) Path(what string) string { return path.Join(f.Place, f.Prefix+what+".txt") }

// Take charges bytes for what a file stands for as a whole.
func (f *Folder) Take(file string, bytes int64) error {
	return (&Lines{File: file, Budget: f.Budget}).Take(bytes)
}

// Scan calls do with every line of a file. It returns the path of the file for
// messages, or "" if there is no such file.
func (f *Folder) Scan(what string, do func(l *Lines, line []byte) error) (file string, err error) {
	l, err := f.Open(what)
	if l == nil || err != nil {
		return "", err
	}
	defer l.Close()
	for {
		line, err := l.Next()
		if err == io.EOF {
			return l.File, nil
		}
		if err == nil {
			err = do(l, line)
		}
		if err != nil {
			return l.File, err
		}
	}
}

func CheckEnd(file string, count, rows int64, of string) error {
	if count < rows {
		return &FileError{File: file, Line: int(count), Err: fmt.Errorf("ends after %d of %d %s", count, rows, of)}
	}
	return nil
}

// ColumnIn returns the place of the column of that name.
func ColumnIn(file string, names []string, name string) (int, error) {
	at := slices.Index(names, name)
	if at < 0 {
		var there []string
		for _, name := range names[:min(len(names), 32)] {
			there = append(there, Quote([]byte(name)))
		}
		return 0, &FileError{File: file, Line: 0, Err: fmt.Errorf("there is no column %s; there are %s", Quote([]byte(name)), strings.Join(there, ", "))}
	}
	if slices.Contains(names[at+1:], name) {
		return 0, &FileError{File: file, Line: 0, Err: fmt.Errorf("there are several columns %s", Quote([]byte(name)))}
	}
	return at, nil
}
