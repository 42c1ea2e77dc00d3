// Package unpack decompresses buffers of files into memory of a known size, so that a file cannot make
// it allocate more.
package unpack

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is a compression.
type Codec int

// The codecs of Arrow IPC and Parquet. LZ4 is that of frames, LZ4Raw has none.
const (
	None Codec = iota
	Zstd
	Snappy
	Gzip
	LZ4
	LZ4Raw
)

var decoders = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
})

// Into decompresses src, which must fill dst exactly.
func Into(dst, src []byte, c Codec) error {
	n, err := 0, error(nil)
	switch c {
	case None:
		if len(src) != len(dst) {
			return fmt.Errorf("there are %d bytes, want %d", len(src), len(dst))
		}
		copy(dst, src)
		return nil
	case Zstd:
		d, err := decoders()
		if err != nil {
			return err
		}
		out, err := d.DecodeAll(src, dst[:0:len(dst)])
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		n = len(out)
	case Snappy:
		if n, err = snappy.DecodedLen(src); err != nil || n != len(dst) {
			break
		}
		_, err = snappy.Decode(dst, src)
	case Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(src)); err == nil {
			n, err = full(z, dst)
		}
	case LZ4:
		n, err = full(lz4.NewReader(bytes.NewReader(src)), dst)
	case LZ4Raw:
		n, err = lz4.UncompressBlock(src, dst)
	default:
		return fmt.Errorf("unknown codec %d", c)
	}
	if err != nil {
		return fmt.Errorf("cannot decompress: %w", err)
	}
	if n != len(dst) {
		return fmt.Errorf("decompressed there are %d bytes, want %d", n, len(dst))
	}
	return nil
}

// full fills dst, and returns an error if bytes are left.
func full(r io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err != nil {
		return n, err
	}
	var more [1]byte
	if k, err := io.ReadFull(r, more[:]); k > 0 || err != io.EOF {
		return n + k, err
	}
	return n, nil
}
