// Package arrowipc reads the Arrow IPC stream and file formats, for the columns
// that records of graphs have.
//
// Arrow's own reader takes lengths in a file at their word: a few changed bits
// make it allocate without bound, walk a schema for hours, or panic. This one
// is small enough to check each length against the bytes that there are, and
// against a budget, before it is used.
package arrowipc

import (
	"encoding/binary"
	"iter"
)

// flat is a table of a FlatBuffers message. Positions outside the message are
// caught by Go: Reader turns the panic into an error.
type flat struct {
	b  []byte
	at int
}

func root(b []byte) flat { return flat{b, int(binary.LittleEndian.Uint32(b))} }

// field returns where a field is, or 0 where it has its default.
func (t flat) field(slot int) int {
	table := t.at - int(int32(binary.LittleEndian.Uint32(t.b[t.at:])))
	at := 4 + 2*slot
	if at >= int(binary.LittleEndian.Uint16(t.b[table:])) {
		return 0
	}
	if off := int(binary.LittleEndian.Uint16(t.b[table+at:])); off != 0 {
		return t.at + off
	}
	return 0
}

func (t flat) int8(slot int) int8 {
	if at := t.field(slot); at != 0 {
		return int8(t.b[at])
	}
	return 0
}

func (t flat) int16(slot int) int16 {
	if at := t.field(slot); at != 0 {
		return int16(binary.LittleEndian.Uint16(t.b[at:]))
	}
	return 0
}

func (t flat) int32(slot int) int32 {
	if at := t.field(slot); at != 0 {
		return int32(binary.LittleEndian.Uint32(t.b[at:]))
	}
	return 0
}

func (t flat) int64(slot int) int64 {
	if at := t.field(slot); at != 0 {
		return int64(binary.LittleEndian.Uint64(t.b[at:]))
	}
	return 0
}

// table follows a reference; ok is false where there is none.
func (t flat) table(slot int) (sub flat, ok bool) {
	at := t.field(slot)
	if at == 0 {
		return flat{}, false
	}
	return flat{t.b, at + int(binary.LittleEndian.Uint32(t.b[at:]))}, true
}

// vector returns the bytes of n elements of size bytes each, where they are.
func (t flat) vector(slot, size int) (at, n int) {
	at = t.field(slot)
	if at == 0 {
		return 0, 0
	}
	at += int(binary.LittleEndian.Uint32(t.b[at:]))
	n = int(binary.LittleEndian.Uint32(t.b[at:]))
	_ = t.b[at+4 : at+4+n*size] // they are there
	return at + 4, n
}

// tables goes through the tables of a vector of references.
func (t flat) tables(slot int) iter.Seq[flat] {
	return func(yield func(flat) bool) {
		at, n := t.vector(slot, 4)
		for i := range n {
			if !yield(flat{t.b, at + 4*i + int(binary.LittleEndian.Uint32(t.b[at+4*i:]))}) {
				return
			}
		}
	}
}

func (t flat) text(slot int) string {
	at, n := t.vector(slot, 1)
	return string(t.b[at : at+n])
}

// pairs returns a vector of two 64-bit numbers each.
func (t flat) pairs(slot int) [][2]int64 {
	at, n := t.vector(slot, 16)
	out := make([][2]int64, n)
	for i := range out {
		out[i][0] = int64(binary.LittleEndian.Uint64(t.b[at+16*i:]))
		out[i][1] = int64(binary.LittleEndian.Uint64(t.b[at+16*i+8:]))
	}
	return out
}
