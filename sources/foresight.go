package sources

import (
	"bytes"
	"fmt"
	"time"
)

// foresight looks at the first megabytes of a large file, so that one which cannot
// fit is refused before the work and not after it, and tells how far it is.
type foresight struct {
	bytes  int64 // that a line takes
	lines0 int64
	done   bool
	told   time.Time
}

const enoughToForesee = 16 << 20 // bytes of text

// lines takes note of a piece of text that was read.
func (f *foresight) lines(l *lines, b []byte) error {
	if l.note != nil && time.Since(f.told) > 50*time.Millisecond {
		f.told = time.Now()
		l.note(l.packed.Load(), l.size)
	}
	if f.done || l.size == 0 {
		return nil
	}
	f.lines0 += int64(bytes.Count(b, []byte{'\n'}))
	if l.read < enoughToForesee {
		return nil
	}
	f.done = true
	// What is to come may be longer lines: only what is far too much is refused.
	about := int64(float64(f.lines0) / float64(l.packed.Load()) * float64(l.size))
	most := int64(0)
	if l.budget != nil {
		most = l.budget.most
	}
	switch {
	case about/2 > maxEdges:
		return &FileError{l.file, 0, fmt.Errorf("about %d lines, want at most %d edges: rows have 32-bit offsets", about, maxEdges)}
	case most > 0 && about*f.bytes/2 > most:
		return &FileError{l.file, 0, fmt.Errorf("about %d lines, which take more than %d bytes of memory; raise Memory if that is right", about, most)}
	}
	return nil
}
