package parts

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/sanflow/sanflow/flow/file"
)

// output counts and hashes the bytes, and keeps the first error, because Arrow's writers drop some errors.
type output struct {
	w   *bufio.Writer
	h   hash.Hash // nil without a checksum
	n   int64
	err error
}

func newOutput(w io.Writer, sum bool) *output {
	o := &output{w: bufio.NewWriterSize(w, 1<<16)}
	if sum {
		o.h = sha256.New()
	}
	return o
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.n += int64(n)
	if o.h != nil {
		o.h.Write(p[:n])
	}
	o.err = err
	return n, err
}

func (o *output) flush() error { return o.w.Flush() }

// first returns the first write error, or err.
func (o *output) first(err error) error {
	if o.err != nil {
		return o.err
	}
	return err
}

func (o *output) sum() string {
	if o.h == nil {
		return ""
	}
	return hex.EncodeToString(o.h.Sum(nil))
}

// plain is a writer of the caller, who closes it.
type plain struct{ w io.Writer }

func (p plain) create() (io.Writer, error)   { return p.w, nil }
func (plain) end(int64, int64, string) error { return nil }
func (plain) publish() error                 { return nil }
func (plain) discard() error                 { return nil }

// single is one file, which gets its name when it is complete and synced.
type single struct{ file *file.Pending }

func newSingle(fsys file.FS, path string) (single, error) {
	f, err := file.Create(fsys, path)
	return single{f}, err
}

func (s single) create() (io.Writer, error) { return s.file, nil }

func (s single) end(int64, int64, string) error { return nil }

func (s single) publish() error { return s.file.Publish() }

func (s single) discard() error { return s.file.Discard() }
