package arrowipc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A file that sinks.IPC wrote has a checksum between the mark of the end and the
// footer, where the format lets padding be and where no reader looks, since
// footers say where all else is:
//
//	magic    8 bytes  "SANFSUM1"
//	size     8 bytes  of the whole file
//	crc      4 bytes  CRC-32C of all bytes of the file but these 24
//	own      4 bytes  CRC-32C of the 20 bytes before
//
// with little-endian numbers. It covers the footer too, whatever comes first.
const (
	sumMagic = "SANFSUM1"
	sumBytes = 24
)

// endMark ends a stream, and what of a file is one.
var endMark = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// ErrSum is returned for a file that does not match its checksum.
var ErrSum = errors.New("it was damaged since it was written")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum of a file.
type sum struct {
	at   int64 // where it is
	size int64
	crc  uint32
}

func (s sum) bytes() []byte {
	b := append(make([]byte, 0, sumBytes), sumMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.size))
	b = binary.LittleEndian.AppendUint32(b, s.crc)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// gap looks for a checksum in what lies between the last block and the footer.
// Other writers leave less there than the mark and a checksum take; where there
// is as much, and no checksum, there was one.
func (f *File) gap(at, end int64) error {
	n := end - at
	if n < int64(len(endMark))+sumBytes {
		return nil
	}
	b := make([]byte, n)
	if err := readAt(f.r, b, at); err != nil {
		return err
	}
	tail := b[n-sumBytes:]
	s := sum{end - sumBytes, int64(binary.LittleEndian.Uint64(tail[8:])), binary.LittleEndian.Uint32(tail[16:])}
	switch {
	case bytes.Equal(tail, s.bytes()):
		f.sum = &s
	case !bytes.HasPrefix(b, endMark) || len(bytes.Trim(b[len(endMark):], "\x00")) > 0:
		return fmt.Errorf("there is no checksum where one was: %w", ErrSum)
	}
	return nil
}

// HasSum reports whether the file has a checksum.
func (f *File) HasSum() bool { return f.sum != nil }

// Verify compares the file with its checksum, if it has one: ErrSum. It reads all
// bytes, and ends with the context.
func (f *File) Verify(ctx context.Context) error {
	if f.sum == nil {
		return nil
	}
	if f.sum.size != f.size {
		return fmt.Errorf("it has %d bytes, want %d: %w", f.size, f.sum.size, ErrSum)
	}
	// A piece stays in the cache of a processor.
	b := make([]byte, min(64<<10, f.size))
	crc := uint32(0)
	for _, part := range [][2]int64{{0, f.sum.at}, {f.sum.at + sumBytes, f.size}} {
		for at := part[0]; at < part[1]; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			piece := b[:min(int64(len(b)), part[1]-at)]
			if err := readAt(f.r, piece, at); err != nil {
				return err
			}
			crc = crc32.Update(crc, castagnoli, piece)
			at += int64(len(piece))
		}
	}
	if crc != f.sum.crc {
		return fmt.Errorf("its checksum is %08x, want %08x: %w", crc, f.sum.crc, ErrSum)
	}
	return nil
}

// SumWriter gives the file that is written to it a checksum. A writer of Arrow IPC files writes to
// it. Call End before that writer is closed, and Close after it.
type SumWriter struct {
	w    io.Writer
	at   int64
	crc  uint32
	tail []byte // what came after End
	end  bool
}

// NewSumWriter returns one that writes to w.
func NewSumWriter(w io.Writer) *SumWriter { return &SumWriter{w: w} }

// Write writes p, or keeps bytes of the footer until Close.
func (s *SumWriter) Write(p []byte) (int, error) {
	if s.end {
		s.tail = append(s.tail, p...)
		return len(p), nil
	}
	n, err := s.w.Write(p)
	s.crc = crc32.Update(s.crc, castagnoli, p[:n])
	s.at += int64(n)
	return n, err
}

// Seek returns the current offset, the only use that writers of files make of it.
func (s *SumWriter) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("a stream cannot seek")
	}
	return s.at + int64(len(s.tail)), nil
}

// End declares that no further batch follows.
func (s *SumWriter) End() { s.end = true }

// Close writes the bytes since End, with the checksum in them. It does not close the underlying
// writer.
func (s *SumWriter) Close() error {
	foot := len(s.tail) - 4 - len(magic)
	if foot < 0 || !IsFile(s.tail[foot+4:]) {
		return errors.New("no footer was written")
	}
	n := int((&flat{b: s.tail[foot:]}).i32(0))
	if n < 0 || n > foot {
		return errors.New("no footer was written")
	}
	tail := s.tail
	before, footer := tail[:foot-n], tail[foot-n:]
	s.end, s.tail = false, nil
	before = append(bytes.Clone(before), endMark...) // which Arrow's writer leaves out
	if _, err := s.Write(before); err != nil {
		return err
	}
	own := sum{size: s.at + sumBytes + int64(len(footer)), crc: crc32.Update(s.crc, castagnoli, footer)}
	for _, b := range [][]byte{own.bytes(), footer} {
		if _, err := s.w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
