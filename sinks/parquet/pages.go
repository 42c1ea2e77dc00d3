package parquet

import (
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// page is a part of a column in a row group.
type page struct {
	rep, def levels
	values   []byte
	rows     int
	levels   int
	present  int // number of values; the other levels are those of empty lists
}

func (p *page) reset() {
	p.rep.reset()
	p.def.reset()
	p.values, p.rows, p.levels, p.present = p.values[:0], 0, 0, 0
}

// chunk is the metadata of a column in a row group.
type chunk struct {
	at                int64 // position of its first page
	levels            int64
	plain, compressed int64 // number of bytes before and after compression, headers of pages included
	low, top          []byte
}

// The format names compressions, encodings and kinds of pages by these numbers of parquet.thrift.
const (
	codecNone   = 0
	codecSnappy = 1
	codecZstd   = 6

	encodingPlain = 0
	encodingRLE   = 3
	pageV2        = 3
)

// compressor compresses the values of a page.
type compressor func(dst, src []byte) []byte

// codecOf returns the number and the function of a compression, or false.
func codecOf(name string) (codec int, c compressor, ok bool) {
	switch name {
	case DefaultCompression:
		return codecNone, nil, true
	case "snappy":
		return codecSnappy, func(dst, src []byte) []byte { return snappy.Encode(dst[:cap(dst)], src) }, true
	case "zstd":
		// One goroutine needs the least memory. The compressed bytes do not depend on the number of goroutines.
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic("parquet: " + err.Error()) // the options are constants
		}
		return codecZstd, func(dst, src []byte) []byte { return e.EncodeAll(src, dst[:0]) }, true
	}
	return 0, nil, false
}

// pages writes the pages of a file.
type pages struct {
	w        io.Writer
	at       int64
	compress compressor // nil: pages are not compressed
	packed   []byte
	head     compact
}

func (o *pages) put(b []byte) error {
	n, err := o.w.Write(b)
	o.at += int64(n)
	return err
}

// write writes a page of version 2 with its CRC-32, and empties it. Levels are never compressed.
func (o *pages) write(p *page, c *chunk) error {
	rep, def, values := p.rep.finish(), p.def.finish(), p.values
	packed := o.compress != nil && len(values) > 0
	if packed {
		o.packed = o.compress(o.packed, values)
		values = o.packed
	}
	size := len(rep) + len(def)
	if n := size + max(len(values), len(p.values)); n > math.MaxInt32 {
		return fmt.Errorf("a page has %d bytes, want at most %d", n, math.MaxInt32)
	}
	crc := crc32.ChecksumIEEE(rep)
	crc = crc32.Update(crc, crc32.IEEETable, def)
	crc = crc32.Update(crc, crc32.IEEETable, values)
	h := &o.head
	h.b = h.b[:0]
	h.open()
	h.int32(1, pageV2)
	h.int32(2, size+len(p.values))
	h.int32(3, size+len(values))
	h.int32(4, int(int32(crc)))
	h.group(8, func() {
		h.int32(1, p.levels)
		h.int32(2, p.levels-p.present)
		h.int32(3, p.rows)
		h.int32(4, encodingPlain)
		h.int32(5, len(def))
		h.int32(6, len(rep))
		h.bool(7, packed)
	})
	h.close()
	if c.levels == 0 {
		c.at = o.at
	}
	c.levels += int64(p.levels)
	c.plain += int64(len(h.b) + size + len(p.values))
	c.compressed += int64(len(h.b) + size + len(values))
	for _, b := range [][]byte{h.b, rep, def, values} {
		if err := o.put(b); err != nil {
			return err
		}
	}
	p.reset()
	return nil
}
