package arrowipc

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
)

// flat reads a flatbuffer, the encoding of Arrow's metadata, from untrusted bytes. A read outside b returns
// zero and sets bad.
type flat struct {
	b     []byte
	bad   bool
	text  int // bytes of strings so far
	nodes int // tables of a schema so far
}

// Limits of a schema, so that a damaged one, whose offsets may lead to the same
// place again and again, ends.
const (
	maxNodes = 1 << 16
	maxText  = 16 << 20
	maxDepth = 64
)

var errDamaged = errors.New("the metadata is damaged")

// table is the position of a table in a flatbuffer, or 0 for none.
type table = int

// at returns n bytes at pos, or nil.
func (f *flat) at(pos, n int) []byte {
	if pos < 0 || n < 0 || pos > len(f.b) || n > len(f.b)-pos {
		f.bad = true
		return nil
	}
	return f.b[pos : pos+n]
}

func (f *flat) u16(pos int) int {
	if b := f.at(pos, 2); b != nil {
		return int(binary.LittleEndian.Uint16(b))
	}
	return 0
}

func (f *flat) i32(pos int) int {
	if b := f.at(pos, 4); b != nil {
		return int(int32(binary.LittleEndian.Uint32(b)))
	}
	return 0
}

func (f *flat) i64(pos int) int64 {
	if b := f.at(pos, 8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// follow returns the target of the offset at pos. Offsets are positive.
func (f *flat) follow(pos int) int {
	off := f.i32(pos)
	if off <= 0 || pos > math.MaxInt-off {
		f.bad = true
		return 0
	}
	return pos + off
}

// field returns the position of field i of t, or 0 if t lacks it.
func (f *flat) field(t table, i int) int {
	if t == 0 {
		return 0
	}
	v := t - f.i32(t)
	if at := 4 + 2*i; at+2 <= f.u16(v) {
		if off := f.u16(v + at); off > 0 {
			return t + off
		}
	}
	return 0
}

// The methods below return zero for a field that t lacks.
func (f *flat) byteField(t table, i int) byte {
	if pos := f.field(t, i); pos > 0 {
		if b := f.at(pos, 1); b != nil {
			return b[0]
		}
	}
	return 0
}

func (f *flat) int16Field(t table, i int) int {
	if pos := f.field(t, i); pos > 0 {
		return int(int16(f.u16(pos)))
	}
	return 0
}

func (f *flat) int32Field(t table, i int) int {
	if pos := f.field(t, i); pos > 0 {
		return f.i32(pos)
	}
	return 0
}

func (f *flat) int64Field(t table, i int) int64 {
	if pos := f.field(t, i); pos > 0 {
		return f.i64(pos)
	}
	return 0
}

func (f *flat) tableField(t table, i int) table {
	if pos := f.field(t, i); pos > 0 {
		return f.follow(pos)
	}
	return 0
}

func (f *flat) stringField(t table, i int) string {
	pos, n := f.vector(t, i, 1)
	f.text += n
	f.bad = f.bad || f.large()
	if f.bad {
		return ""
	}
	return string(f.at(pos, n))
}

// vector returns the first position and the number of elements of a vector with elements of size bytes.
func (f *flat) vector(t table, i, size int) (pos, n int) {
	v := f.tableField(t, i)
	if v == 0 {
		return 0, 0
	}
	n = f.i32(v)
	if n < 0 || n > len(f.b)/size || f.at(v+4, n*size) == nil {
		f.bad = true
		return 0, 0
	}
	return v + 4, n
}

// large reports whether a schema exceeds its limits, which happens if offsets lead to the same texts or
// tables repeatedly.
func (f *flat) large() bool { return f.nodes > maxNodes || f.text > min(8*len(f.b), maxText) }

// tables iterates over a vector of tables.
func (f *flat) tables(t table, i int) iter.Seq[table] {
	return func(yield func(table) bool) {
		pos, n := f.vector(t, i, 4)
		for j := range n {
			f.nodes++
			f.bad = f.bad || f.large()
			if sub := f.follow(pos + 4*j); f.bad || !yield(sub) {
				return
			}
		}
	}
}

// pair returns the two 64-bit numbers at pos.
func (f *flat) pair(pos int) (a, b int64) { return f.i64(pos), f.i64(pos + 8) }
