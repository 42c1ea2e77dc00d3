package parts

import (
	"io"

	"github.com/sanflow/sanflow/flow/file"
)

// single is one file, which gets its name when it is complete and on disk.
type single struct{ file *file.Pending }

func newSingle(fsys file.FS, path string) (single, error) {
	f, err := file.Create(fsys, path)
	return single{f}, err
}

func (s single) create() (io.Writer, error) { return s.file, nil }

func (s single) end(int64, int64, string) error { return nil }

func (s single) publish() error { return s.file.Publish() }

func (s single) discard() error { return s.file.Discard() }
