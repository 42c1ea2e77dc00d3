// Package state writes and reads numbers with a checksum: the format of states that a
// program resumes from. A state is a name with a version, numbers, and the SHA-256 of all
// of that; numbers are little-endian, and slices have their length before them.
package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Number is what a state is made of.
type Number interface {
	~uint8 | ~int32 | ~int64 | ~float32 | ~float64 | ~uint32 | ~uint64
}

// writer writes a state. The first error is that of close.
type writer struct {
	w   *bufio.Writer
	sum hash.Hash
	buf []byte
	err error
}

// newWriter begins a state of that name, which includes its version.
func newWriter(w io.Writer, name string) *writer {
	s := &writer{w: bufio.NewWriterSize(w, 1<<16), sum: sha256.New()}
	s.put([]byte(name))
	return s
}

func (s *writer) put(b []byte) {
	if s.err == nil {
		s.sum.Write(b)
		_, s.err = s.w.Write(b)
	}
}

// putNumbers writes numbers.
func putNumbers[T Number](s *writer, x ...T) {
	for len(x) > 0 && s.err == nil {
		n := min(len(x), 1<<13)
		s.buf, s.err = binary.Append(s.buf[:0], binary.LittleEndian, x[:n])
		if s.err == nil {
			s.put(s.buf)
		}
		x = x[n:]
	}
}

// putSlice writes a slice with its length.
func putSlice[T Number](s *writer, x []T) {
	putNumbers(s, int64(len(x)))
	putNumbers(s, x...)
}

// close writes the checksum. It does not close the writer below.
func (s *writer) close() error {
	if s.err == nil {
		_, s.err = s.w.Write(s.sum.Sum(nil))
	}
	if s.err == nil {
		s.err = s.w.Flush()
	}
	return s.err
}

// reader reads a state. After an error, all that is read is zero.
type reader struct {
	r   io.Reader
	sum hash.Hash
	buf []byte
	err error
}

// newReader begins to read a state of that name from r, of which it reads nothing behind
// the state. r should have a buffer.
func newReader(r io.Reader, name string) *reader {
	s := &reader{r: r, sum: sha256.New()}
	if got := s.take(len(name)); s.err == nil && string(got) != name {
		s.err = fmt.Errorf("it begins with %q, want %q", got, name)
	}
	return s
}

// take reads n bytes, borrowed.
func (s *reader) take(n int) []byte {
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	b := s.buf[:n]
	if s.err == nil {
		if _, err := io.ReadFull(s.r, b); err != nil {
			s.err = errors.New("it ends too early")
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				s.err = err
			}
		}
	}
	if s.err != nil {
		clear(b)
	}
	s.sum.Write(b)
	return b
}

// getNumber reads a number.
func getNumber[T Number](s *reader) (x T) {
	one := [1]T{}
	get(s, one[:])
	return one[0]
}

func get[T Number](s *reader, x []T) {
	b := s.take(binary.Size(x))
	if _, err := binary.Decode(b, binary.LittleEndian, x); err != nil && s.err == nil {
		s.err = err
	}
}

// getSlice reads a slice of at most so many numbers; what says of what they are. Memory
// grows with what there is to read, not with the length that is claimed.
func getSlice[T Number](s *reader, what string, most int) (x []T) {
	n := getNumber[int64](s)
	if s.err == nil && (n < 0 || n > int64(most)) {
		s.err = fmt.Errorf("there are %d %s, want at most %d", n, what, most)
	}
	for s.err == nil && int64(len(x)) < n {
		more := min(int(n)-len(x), 1<<13)
		begin := len(x)
		x = append(x, make([]T, more)...)
		get(s, x[begin:])
	}
	if s.err != nil {
		return nil
	}
	return x
}

// fail makes the reader fail, unless it has failed before.
func (s *reader) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// close reads the checksum and compares.
func (s *reader) close() error {
	want := s.sum.Sum(nil)
	if got := s.take(sha256.Size); s.err == nil && !bytes.Equal(got, want) {
		s.err = errors.New("its checksum is wrong")
	}
	return s.err
}
