package operators

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/record/mapped"
)

// spill is a temporary Arrow IPC file: written once, then mapped.
type spill struct {
	fs     file.FS
	file   file.File
	gone   bool // its name is removed already
	w      *ipc.FileWriter
	n      int
	mapped *mapped.File
}

func newSpill(fsys file.FS, dir string, schema *arrow.Schema) (*spill, error) {
	fsys = file.Or(fsys)
	f, err := fsys.Create(filepath.Join(cmp.Or(dir, os.TempDir()), fmt.Sprintf("sanflow-replay-%d-%08x.arrow", os.Getpid(), rand.Uint32())))
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	s := &spill{fs: fsys, file: f}
	// If the system lets go of the name of an open file, not even a process
	// that is killed leaves one behind.
	s.gone = fsys.Remove(f.Name()) == nil
	if s.w, err = ipc.NewFileWriter(f, ipc.WithSchema(schema)); err != nil {
		return nil, errors.Join(fmt.Errorf("spill: %w", err), s.close())
	}
	return s, nil
}

// write borrows rec.
func (s *spill) write(rec arrow.Record) error {
	s.n++
	return s.failed(s.w.Write(rec))
}

func (s *spill) failed(err error) error {
	if err != nil {
		return fmt.Errorf("spill to %s: %w", s.file.Name(), err)
	}
	return nil
}

// read ends the writing and returns the records, which the caller owns. They are
// views of the file: nothing is read before it is used.
func (s *spill) read() (recs []arrow.Record, err error) {
	if err := s.failed(s.w.Close()); err != nil {
		return nil, err
	}
	if s.mapped, err = mapped.OpenFile(file.System(s.file)); err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	for i := range s.n {
		rec, err := s.mapped.Record(i)
		if err != nil {
			return recs, fmt.Errorf("spill: %w", err)
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// close removes the file. The records of read are released before.
func (s *spill) close() error {
	var err error
	if s.mapped != nil {
		err = s.mapped.Close()
	}
	err = errors.Join(err, s.file.Close())
	if !s.gone {
		err = errors.Join(err, s.fs.Remove(s.file.Name()))
	}
	return err
}

// bufferBytes counts the memory behind records. A buffer that several of them
// share counts once.
type bufferBytes struct {
	seen  map[*memory.Buffer]struct{}
	total int64
}

// add adds a record and returns the bytes of all so far.
func (b *bufferBytes) add(rec arrow.Record) int64 {
	for _, col := range rec.Columns() {
		b.addData(col.Data())
	}
	return b.total
}

func (b *bufferBytes) addData(d arrow.ArrayData) {
	if b.seen == nil {
		b.seen = map[*memory.Buffer]struct{}{}
	}
	for _, buf := range d.Buffers() {
		if _, ok := b.seen[buf]; buf == nil || ok {
			continue
		}
		b.seen[buf] = struct{}{}
		b.total += int64(buf.Cap())
	}
	for _, c := range d.Children() {
		b.addData(c)
	}
}
