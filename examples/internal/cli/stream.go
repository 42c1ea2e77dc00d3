package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/flow/file"
)

// Stream is a file that is written piece by piece. A regular file has its name when it is complete. A
// device or a pipe, such as /dev/stdout, is written directly.
type Stream struct {
	path string
	w    *bufio.Writer
	// publish ends a complete file, and discard one that is not; after publish discard does nothing.
	publish, discard func() error
	at               int64
}

// CreateStream begins a stream.
func CreateStream(path string) (*Stream, error) {
	if path == "/dev/stdout" { // a second descriptor has another offset
		stays := func() error { return nil }
		return &Stream{path, bufio.NewWriterSize(os.Stdout, 1<<16), stays, stays, 0}, nil
	}
	if special(path) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return nil, file.CannotWrite(path, err)
		}
		return &Stream{path, bufio.NewWriterSize(f, 1<<16), func() error { return file.CannotWrite(path, f.Close()) }, f.Close, 0}, nil
	}
	f, err := file.Create(nil, path)
	if err != nil {
		return nil, err
	}
	return &Stream{path, bufio.NewWriterSize(f, 1<<16), f.Publish, f.Discard, 0}, nil
}

// Regular refuses the path of a device or a pipe, for a file that is read again.
func Regular(path string) error {
	if special(path) {
		return fmt.Errorf("cannot write %s: it is no regular file", path)
	}
	return nil
}

// special reports whether a path must not be replaced by a file: a device, a pipe, or a link below /dev or
// /proc, such as /dev/stdout, which may lead to a regular file of another process.
func special(path string) bool {
	if link, err := os.Lstat(path); err == nil && link.Mode()&os.ModeSymlink != 0 {
		abs, err := filepath.Abs(path)
		if err == nil && (strings.HasPrefix(abs, "/dev/") || strings.HasPrefix(abs, "/proc/")) {
			return true
		}
	}
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.at += int64(n)
	return n, file.CannotWrite(s.path, err)
}

// Seek returns the number of written bytes. The file writer of Arrow needs no other position.
func (s *Stream) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return s.at, errors.New("a stream cannot seek")
	}
	return s.at, nil
}

// Finish flushes the stream and publishes the file.
func (s *Stream) Finish() error {
	if err := s.w.Flush(); err != nil {
		return file.CannotWrite(s.path, err)
	}
	return s.publish()
}

// Cleanup removes an unfinished file. After Finish it does nothing.
func (s *Stream) Cleanup() {
	_ = s.discard() // a second Close of a device returns an error alone
}
