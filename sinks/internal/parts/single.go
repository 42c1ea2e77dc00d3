package parts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// single is one file, which gets its name when it is complete and on disk.
type single struct {
	path string
	file *renameio.PendingFile
}

func newSingle(path string) (*single, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot write %s: it is no regular file", path)
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return nil, named(path, err)
	}
	return &single{path, f}, nil
}

func (s *single) create() (io.Writer, error) { return namedWriter{s.path, s.file}, nil }

func (s *single) end(int64, int64, string) error { return nil }

func (s *single) publish() error { return named(s.path, s.file.CloseAtomicallyReplace()) }

func (s *single) discard() error { return named(s.path, s.file.Cleanup()) }

// named says which file an error is about, without a temporary name.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

type namedWriter struct {
	path string
	w    io.Writer
}

func (n namedWriter) Write(p []byte) (int, error) {
	k, err := n.w.Write(p)
	return k, named(n.path, err)
}
