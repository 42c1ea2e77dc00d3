package sources

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// tuFiles finds and opens the files of a collection, or of a set of nodes. A zip, a directory and an
// fs.FS are the same to the rest.
type tuFiles struct {
	fsys   fs.FS
	place  string // of fsys, for messages
	prefix string // folder and NAME_ of the files
	limit  int64
	budget *reading.Budget

	ctx   context.Context // of a set of nodes
	alive func() error
	close func() error
}

const (
	tuA              = "A"
	tuIndicator      = "graph_indicator"
	tuGraphLabels    = "graph_labels"
	tuGraphAttrs     = "graph_attributes"
	tuNodeLabels     = "node_labels"
	tuNodeAttributes = "node_attributes"
	tuEdgeLabels     = "edge_labels"
	tuEdgeAttributes = "edge_attributes"
)

func openFiles(t TU, memory *reading.Budget) (*tuFiles, error) {
	f, err := openPlace(t.Path, t.FS, t.MaxBytes, memory)
	if err != nil {
		return nil, err
	}
	if err := f.find(t.Name); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// openPlace opens a zip or a directory, or takes fsys if that is set.
func openPlace(place string, fsys fs.FS, limit int64, memory *reading.Budget) (*tuFiles, error) {
	f := &tuFiles{fsys: fsys, place: place, limit: limit, budget: memory, close: func() error { return nil }}
	if f.fsys != nil {
		return f, nil
	}
	info, err := os.Stat(place)
	switch {
	case err != nil:
		return nil, reading.InFile(place, err)
	case info.IsDir():
		f.fsys = os.DirFS(place)
		return f, nil
	}
	z, err := zip.OpenReader(place)
	if errors.Is(err, zip.ErrFormat) {
		err = fmt.Errorf("%w: damaged, cut short, or something else", err)
	}
	if err != nil {
		return nil, reading.InFile(place, err)
	}
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) }) // nearly twice as fast
	f.fsys, f.close = z, z.Close
	return f, nil
}

// find sets the prefix to that of the only edge file.
func (f *tuFiles) find(name string) error {
	missing := "NAME_A.txt, so no TU collection"
	if name != "" {
		missing = name + "_A.txt"
	}
	return f.findOnly("*_", tuA+".txt", "collections", missing, func(prefix string) bool {
		// macOS adds a "._NAME_A.txt" to archives.
		base := path.Base(prefix)
		return !strings.HasPrefix(base, ".") && (name == "" || base == name+"_")
	})
}

// findOnly sets the prefix to what stands before the end of the only file that a pattern
// and this end name, here or one folder down, and that is wanted.
func (f *tuFiles) findOnly(pattern, end, several, missing string, wanted func(prefix string) bool) error {
	var found []string
	for _, folder := range []string{"", "*/"} {
		names, err := fs.Glob(f.fsys, folder+pattern+end)
		if err != nil {
			return reading.InFile(f.place, err)
		}
		for _, n := range names {
			if prefix := strings.TrimSuffix(n, end); wanted(prefix) {
				found = append(found, prefix)
			}
		}
	}
	switch len(found) {
	case 0:
		return &FileError{File: f.place, Line: 0, Err: fmt.Errorf("no file %s: %w", missing, fs.ErrNotExist)}
	case 1:
		f.prefix = found[0]
		return nil
	}
	return &FileError{File: f.place, Line: 0, Err: fmt.Errorf("several %s, %s and %s: set Name", several, found[0]+end, found[1]+end)}
}

// open returns the lines of one file, or nil where it does not exist.
func (f *tuFiles) open(what string) (*reading.Lines, error) {
	name := f.prefix + what + ".txt"
	l := &reading.Lines{File: path.Join(f.place, name), Limit: f.limit, Alive: f.alive, Budget: f.budget}
	file, err := f.fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, reading.InFile(l.File, err)
	}
	// What an archive says of the size may be a lie, so it is checked here to
	// fail early and again while reading.
	info, err := file.Stat()
	if err != nil || info.Size() > f.limit {
		file.Close()
		if err == nil {
			err = fmt.Errorf("%d bytes unpacked, want at most %d; raise MaxBytes if that is right", info.Size(), f.limit)
		}
		return nil, reading.InFile(l.File, err)
	}
	l.R = file
	return l, nil
}

// must is open for a file that a collection cannot be without.
func (f *tuFiles) must(what string) (*reading.Lines, error) {
	l, err := f.open(what)
	if err == nil && l == nil {
		err = f.missing(what)
	}
	return l, err
}

func (f *tuFiles) missing(what string) error {
	return &FileError{File: f.path(what), Line: 0, Err: fs.ErrNotExist}
}

// path is that of a file, for messages.
func (f *tuFiles) path(what string) string { return path.Join(f.place, f.prefix+what+".txt") }

// take charges bytes for what a file stands for as a whole.
func (f *tuFiles) take(file string, bytes int64) error {
	return (&reading.Lines{File: file, Budget: f.budget}).Take(bytes)
}

// scan calls do with every line of a file. It returns the path of the file for
// messages, or "" if there is no such file.
func (f *tuFiles) scan(what string, do func(l *reading.Lines, line []byte) error) (file string, err error) {
	l, err := f.open(what)
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
