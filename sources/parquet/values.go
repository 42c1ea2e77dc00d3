package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/sanflow/sanflow/internal/tabular"
)

// physical lists the numeric physical types.
type physical interface {
	int32 | int64 | float32 | float64
}

const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaText       = 7
	encodingDictionary      = 8
	encodingSplit           = 9
)

// decode decodes the values of a page into dst. places is the buffer for dictionary indices.
func decode[T physical](dst []T, b []byte, encoding int, dictionary []T, places *[]int32) error {
	size := int(unsafe.Sizeof(*new(T)))
	switch encoding {
	case encodingPlain:
		if len(b) < len(dst)*size {
			return errShort
		}
		plain(dst, b)
	case encodingSplit:
		if len(b) < len(dst)*size {
			return errShort
		}
		raw := bytesOf(dst)
		for i := range dst {
			for j := range size {
				raw[i*size+j] = b[j*len(dst)+i]
			}
		}
	case encodingDictionary, encodingPlainDictionary:
		if len(b) < 1 || b[0] > 32 {
			return errShort
		}
		at := room(places, len(dst))
		if err := hybrid(at, b[1:], int(b[0])); err != nil {
			return err
		}
		for i, j := range at {
			if uint32(j) >= uint32(len(dictionary)) {
				return fmt.Errorf("entry %d of a dictionary of %d", uint32(j), len(dictionary))
			}
			dst[i] = dictionary[j]
		}
	case encodingDelta:
		switch dst := any(dst).(type) {
		case []int32:
			_, err := delta(dst, b)
			return err
		case []int64:
			_, err := delta(dst, b)
			return err
		}
		fallthrough
	default:
		return fmt.Errorf("values in the encoding %d, which is not read", encoding)
	}
	return nil
}

// plain copies little-endian values. All supported machines are little-endian.
func plain[T physical](dst []T, b []byte) { copy(bytesOf(dst), b) }

func bytesOf[T physical](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// delta decodes DELTA_BINARY_PACKED: blocks of differences from the block minimum, in miniblocks of one bit
// width each. rest is the data that follow.
func delta[T int32 | int64](dst []T, b []byte) (rest []byte, err error) {
	next := func() (uint64, bool) {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return x, true
	}
	zigzag := func(x uint64) int64 { return int64(x>>1) ^ -int64(x&1) }
	block, ok1 := next()
	parts, ok2 := next()
	total, ok3 := next()
	first, ok4 := next()
	if !ok1 || !ok2 || !ok3 || !ok4 || parts == 0 || block%parts != 0 || block/parts%8 != 0 || block == 0 || block > 1<<20 || total < uint64(len(dst)) {
		return nil, errShort
	}
	if len(dst) == 0 {
		return b, nil
	}
	last := zigzag(first)
	dst[0] = T(last)
	dst = dst[1:]
	size := int(block / parts)
	for len(dst) > 0 {
		least, ok := next()
		if !ok || uint64(len(b)) < parts {
			return nil, errShort
		}
		widths := b[:parts]
		b = b[parts:]
		for _, width := range widths {
			if len(dst) == 0 {
				break
			}
			bytes := size / 8 * int(width)
			if width > 64 || len(b) < bytes {
				return nil, errShort
			}
			n := min(size, len(dst))
			for i := range n {
				last += zigzag(least) + int64(bitsAt(b, i*int(width), int(width)))
				dst[i] = T(last)
			}
			dst, b = dst[n:], b[bytes:]
		}
	}
	return b, nil
}

// readTruth decodes a column chunk of booleans as 0 and 1.
func readTruth(p *pages, rows int) (out tabular.Data, err error) {
	if err := p.budget.Take(p.left, 1); err != nil {
		return out, err
	}
	values := make([]uint8, 0, p.left)
	err = p.each(&out, rows, func([]byte, int) error { return errors.New("a dictionary of truth values") }, func(h page, b []byte, n int) error {
		at := len(values)
		values = values[:at+n]
		switch {
		case h.encoding == encodingPlain && len(b) >= (n+7)/8:
			packed(values[at:], b, 1)
			return nil
		case h.encoding == encodingRLE && len(b) >= 4:
			err := hybrid(values[at:], b[4:], 1)
			if err == nil && slices.ContainsFunc(values[at:], func(x uint8) bool { return x > 1 }) {
				err = errors.New("a truth value that is neither 0 nor 1")
			}
			return err
		case h.encoding == encodingPlain || h.encoding == encodingRLE:
			return errShort
		}
		return fmt.Errorf("truth values in the encoding %d, which is not read", h.encoding)
	})
	out.Values = values
	return out, err
}

// bitsAt returns width bits at bit offset at.
func bitsAt(b []byte, at, width int) (x uint64) {
	for i := 0; i < width; {
		n := min(8-(at+i)%8, width-i)
		x |= (uint64(b[(at+i)/8]>>((at+i)%8)) & (1<<n - 1)) << i
		i += n
	}
	return x
}

// unsigned reinterprets signed values of a wide column as unsigned.
func unsigned(v any) any {
	switch v := v.(type) {
	case []int32:
		return cast[uint32](v)
	case []int64:
		return cast[uint64](v)
	}
	return v
}

func cast[B, A tabular.Number](v []A) []B {
	return unsafe.Slice((*B)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}
