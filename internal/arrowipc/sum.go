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

// A file that sinks.IPC wrote has a checksum between the end marker and the footer. The format permits
// padding there, and other readers do not read it:
//
//	magic    8 bytes  "SANFSUM1"
//	size     8 bytes  of the whole file
//	crc      4 bytes  CRC-32C of all bytes of the file but these 24
//	own      4 bytes  CRC-32C of the 20 bytes before
//
// Numbers are little-endian. The checksum covers the footer too.
const (
	sumMagic = "SANFSUM1"
	sumBytes = 24
)

// endMark is the end marker of a stream, and of the stream inside a file.
var endMark = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// ErrSum is returned for a file that does not match its checksum.
var ErrSum = errors.New("it was damaged since it was written")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum of a file.
type sum struct {
	at   int64 // position in the file
	size int64
	crc  uint32
}

func (s sum) bytes() []byte {
	b := append(make([]byte, 0, sumBytes), sumMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.size))
	b = binary.LittleEndian.AppendUint32(b, s.crc)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// gap reads the checksum between the last block and the footer. Other writers leave less space there than a
// marker and a checksum need. Enough space without a checksum is a damaged one.
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

// Verify compares the file with its checksum, if it has one. The error is ErrSum. It reads all bytes, and
// ends with the context.
func (f *File) Verify(ctx context.Context) error {
	if f.sum == nil {
		return nil
	}
	if f.sum.size != f.size {
		return fmt.Errorf("it has %d bytes, want %d: %w", f.size, f.sum.size, ErrSum)
	}
	// 64 KiB stay in the cache of a processor.
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

// SumWriter adds a checksum to the file that a writer of Arrow IPC writes to it. Call End before that writer
// is closed, and Close after it.
type SumWriter struct {
	w    io.Writer
	at   int64
	crc  uint32
	tail []byte // bytes since End
	end  bool
}

// NewSumWriter returns a SumWriter that writes to w.
func NewSumWriter(w io.Writer) *SumWriter { return &SumWriter{w: w} }

// Write writes p, or keeps it until Close if End was called.
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

// Seek returns the current offset. Writers of files do not use it otherwise.
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
	before = append(bytes.Clone(before), endMark...) // Arrow's writer omits the marker
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
