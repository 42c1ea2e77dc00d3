package operators

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/internal/filetest"
)

// A spill of which any operation fails is an error, or plays what went in; and
// where the system can, there is never a file left.
func TestSpillFaults(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	want := flowtest.Rows(recs...)
	for n := 0; ; n++ {
		dir := t.TempDir()
		d := filetest.New(t, dir)
		d.FailAt(n, syscall.ENOSPC)
		rows, err := spilled(d, dir, recs)
		if err == nil && !slices.Equal(rows, want) {
			t.Errorf("operation %d fails: %d other rows", n, len(rows))
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("operation %d fails: %v is left, %v", n, left, err)
		}
		if n >= d.Count() {
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}

func spilled(d *filetest.Disk, dir string, recs []arrow.Record) ([]string, error) {
	s, err := newSpill(d, dir, recs[0].Schema())
	if err != nil {
		return nil, err
	}
	for _, rec := range recs {
		if err := s.write(rec); err != nil {
			s.close()
			return nil, err
		}
	}
	out, err := s.read()
	var rows []string
	if err == nil {
		rows = flowtest.Rows(out...)
	}
	for _, rec := range out {
		rec.Release()
	}
	if closed := s.close(); err == nil {
		err = closed
	}
	return rows, err
}
