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

// Folder gives uniform access to the files of a zip, a directory or an fs.FS.
type Folder struct {
	Fsys   fs.FS
	Place  string // path for errors
	Prefix string // common prefix of the file names, with the folder
	Limit  int64
	Budget *Budget

	Ctx   context.Context // set by Nodes
	Alive func() error
	Close func() error
}

// OpenPlace opens a zip or a directory, or uses fsys if it is set.
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
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) }) // klauspost's flate is nearly twice as fast as that of the standard library
	f.Fsys, f.Close = z, z.Close
	return f, nil
}

// FindOnly sets Prefix to the path, without end, of the only file that matches pattern+end and whose prefix
// is wanted. It looks in the top folder and one level below.
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

// Open returns the lines of a file, or nil if the file does not exist.
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
	// The size in an archive's header may be wrong. The check here fails early; reading checks again.
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

// Must is Open for a required file.
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

// Path returns the path of a file for errors.
func (f *Folder) Path(what string) string { return path.Join(f.Place, f.Prefix+what+".txt") }

// Take charges bytes. Its error names the file.
func (f *Folder) Take(file string, bytes int64) error {
	return (&Lines{File: file, Budget: f.Budget}).Take(bytes)
}

// Scan calls do for every line of a file. It returns the path of the file, or "" if it does not exist.
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

// ColumnIn returns the index of the column with that name.
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
