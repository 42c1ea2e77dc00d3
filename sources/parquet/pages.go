package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/internal/unpack"
)

// Types of pages, as numbered in parquet.thrift.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageData2      = 3
)

// page has the fields of a page header, for all types of pages.
type page struct {
	kind               int
	plain, packed      int  // decompressed and stored sizes in bytes
	crc                *int // nil without a checksum
	values, encoding   int
	defEncoding        int
	repEncoding        int
	defBytes, repBytes int  // sizes in bytes of the levels of a version 2 page
	compressed         bool // the values of a version 2 page are compressed
	hasInner           bool // the header of the kind of page is there
}

// codecNames names the unsupported codecs for errors.
var codecNames = map[int]string{3: "LZO", 4: "BROTLI", 5: "LZ4 (that of Hadoop)"}

var codecs = map[int]unpack.Codec{0: unpack.None, 1: unpack.Snappy, 2: unpack.Gzip, 6: unpack.Zstd, 7: unpack.LZ4Raw}

func (c *compact) header() (p page) {
	p.kind, p.compressed = -1, true
	// inner reads the header struct of a kind of page. Structs of other kinds are skipped.
	inner := func(kind int, to map[int]any) func() {
		return func() {
			if p.kind != kind {
				to = nil
			} else {
				p.hasInner = true
			}
			c.fields(to)
		}
	}
	c.fields(map[int]any{
		1: &p.kind, 2: &p.plain, 3: &p.packed, 4: &p.crc,
		5: inner(pageData, map[int]any{1: &p.values, 2: &p.encoding, 3: &p.defEncoding, 4: &p.repEncoding}),
		7: inner(pageDictionary, map[int]any{1: &p.values, 2: &p.encoding}),
		8: inner(pageData2, map[int]any{1: &p.values, 4: &p.encoding, 5: &p.defBytes, 6: &p.repBytes, 7: &p.compressed}),
	})
	return p
}

// pages iterates over the pages of a column chunk.
type pages struct {
	column    column
	codec     unpack.Codec
	encodings uint64 // bit set of the encodings that the chunk declares
	budget    *tabular.Budget
	b         []byte // unread bytes of the chunk
	left      int64  // values not read yet
	mem       *scratch
	rep, def  []uint8 // levels of the current page; nil if all are 0
}

// next reads the next dictionary or data page. A data page sets rep and def. ok is false at the end.
func (r *pages) next() (p page, values []byte, ok bool, err error) {
	defer caught(&err)
	for {
		if r.left == 0 {
			return p, nil, false, nil
		}
		if err := r.budget.Take(0, 1); err != nil { // reports the end of the context
			return p, nil, false, err
		}
		c := &compact{b: r.b}
		p = c.header()
		r.b = r.b[c.at:]
		if p.plain < 0 || p.packed < 0 || p.packed > len(r.b) {
			return p, nil, false, fmt.Errorf("a page of %d bytes, where %d are left", p.packed, len(r.b))
		}
		body := r.b[:p.packed]
		r.b = r.b[p.packed:]
		if p.crc != nil && crc32.ChecksumIEEE(body) != uint32(*p.crc) {
			return p, nil, false, errors.New("a page does not have its checksum: it was damaged")
		}
		switch {
		case p.kind == pageIndex:
			continue
		case p.kind != pageData && p.kind != pageData2 && p.kind != pageDictionary || !p.hasInner:
			return p, nil, false, fmt.Errorf("a page of the unknown kind %d", p.kind)
		case p.values < 0 || p.kind != pageDictionary && int64(p.values) > r.left:
			return p, nil, false, fmt.Errorf("a page of %d values, where %d are left", p.values, r.left)
		}
		values, err = r.open(p, body)
		return p, values, err == nil, err
	}
}

// open decompresses a page and decodes its levels.
func (r *pages) open(p page, body []byte) ([]byte, error) {
	if p.kind == pageData2 {
		if p.repBytes < 0 || p.defBytes < 0 || p.repBytes > len(body) || p.defBytes > len(body)-p.repBytes || p.plain < p.repBytes+p.defBytes {
			return nil, fmt.Errorf("levels of %d and %d bytes in a page of %d", p.repBytes, p.defBytes, len(body))
		}
		rep, def := body[:p.repBytes], body[p.repBytes:p.repBytes+p.defBytes]
		codec := r.codec
		if !p.compressed {
			codec = unpack.None
		}
		b, err := r.inflate(body[p.repBytes+p.defBytes:], p.plain-p.repBytes-p.defBytes, codec)
		if err != nil {
			return nil, err
		}
		r.left -= int64(p.values)
		return b, r.levels(p.values, func(rep1 bool) ([]byte, error) {
			if rep1 {
				return rep, nil
			}
			return def, nil
		})
	}
	b, err := r.inflate(body, p.plain, r.codec)
	if err != nil || p.kind == pageDictionary {
		return b, err
	}
	r.left -= int64(p.values)
	err = r.levels(p.values, func(rep bool) ([]byte, error) {
		if rep && p.repEncoding != encodingRLE || !rep && p.defEncoding != encodingRLE {
			return nil, errors.New("levels in an encoding that is not read")
		}
		if len(b) < 4 {
			return nil, errShort
		}
		n := binary.LittleEndian.Uint32(b)
		if uint64(n) > uint64(len(b)-4) {
			return nil, errShort
		}
		level := b[4 : 4+n]
		b = b[4+n:]
		return level, nil
	})
	return b, err
}

// levels decodes n repetition levels and n definition levels, in that order.
func (r *pages) levels(n int, bytes func(rep bool) ([]byte, error)) error {
	read := func(kept *[]uint8, most int, rep bool) ([]uint8, error) {
		if most == 0 {
			return nil, nil
		}
		if cap(*kept) < n {
			if err := r.budget.Take(int64(n), 1); err != nil {
				return nil, err
			}
		}
		dst := room(kept, n)
		b, err := bytes(rep)
		if err != nil {
			return dst, err
		}
		return dst, hybrid(dst, b, bits.Len(uint(most)))
	}
	var err error
	if r.rep, err = read(&r.mem.rep, r.column.depth, true); err == nil {
		r.def, err = read(&r.mem.def, int(r.column.most), false)
	}
	return err
}

func (r *pages) inflate(b []byte, n int, codec unpack.Codec) ([]byte, error) {
	if codec == unpack.None {
		if n != len(b) {
			return nil, fmt.Errorf("a page of %d bytes, want %d", len(b), n)
		}
		return b, nil
	}
	if cap(r.mem.plain) < n {
		if err := r.budget.Take(int64(n), 1); err != nil {
			return nil, fmt.Errorf("a page: %w", err)
		}
	}
	if n == 0 {
		return nil, nil
	}
	buf := room(&r.mem.plain, n)
	return buf, unpack.Into(buf, b, codec)
}
