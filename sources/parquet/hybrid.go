package parquet

import (
	"encoding/binary"
	"errors"
)

var errShort = errors.New("a page ends early")

// hybrid fills dst from the RLE/bit-packing hybrid encoding of levels and dictionary indices.
//
//	even header: header/2 repetitions of the number that follows
//	odd header:  header/2 groups of 8 bit-packed numbers
func hybrid[T uint8 | int32](dst []T, b []byte, width int) error {
	size := (width + 7) / 8
	for len(dst) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 || head>>1 == 0 {
			return errShort
		}
		b = b[n:]
		if head&1 == 0 {
			if len(b) < size {
				return errShort
			}
			x := uint32(0)
			for i := range size {
				x |= uint32(b[i]) << (8 * i)
			}
			b = b[size:]
			run := dst[:min(uint64(len(dst)), head>>1)]
			for i := range run {
				run[i] = T(x)
			}
			dst = dst[len(run):]
			continue
		}
		run := dst[:min(uint64(len(dst)), head>>1*8)]
		bytes := (len(run)*width + 7) / 8
		if len(b) < bytes {
			return errShort
		}
		packed(run, b[:bytes], width)
		dst = dst[len(run):]
		b = b[min(uint64(len(b)), head>>1*uint64(width)):]
	}
	return nil
}

// packed decodes bit-packed numbers of at most 32 bits, lowest bit first.
func packed[T uint8 | int32](dst []T, b []byte, width int) {
	mask := uint64(1)<<width - 1
	bits, have := uint64(0), 0
	for i := range dst {
		for have < width {
			bits |= uint64(b[0]) << have
			b = b[1:]
			have += 8
		}
		dst[i] = T(bits & mask)
		bits >>= width
		have -= width
	}
}
