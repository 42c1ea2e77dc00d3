package parquet

import "encoding/binary"

// Values in lists carry two small numbers, as in Dremel (Melnik et al. 2010):
// the repetition level says at which depth a list goes on, the definition level
// how much of the path to a value is there.
//
//	rows        [[7 8] []]   []   [[9]]
//	value        7 8 -       -     9
//	repetition   0 2 1       0     0
//	definition   4 4 2       0     4
//
// A list counts for one level and its elements for another, since they could be
// nulls: ours never are, but Polars 0.26 for Node reads lists of elements that
// cannot be as zeros or nulls.

// levels encodes such numbers of some bits each in Parquet's hybrid of two forms:
// eight or more of the same as their count and the number, others as groups of
// eight, packed. A packed run has its number of groups before it.
type levels struct {
	width int // bits of a level
	b     []byte
	n     int

	value, run int    // the same level so often, not encoded yet
	group      uint64 // the group in hand, which
	filled     int    // has so many levels
	head       int    // where the packed run in hand begins, or -1
}

func (l *levels) reset() { *l = levels{width: l.width, b: l.b[:0], head: -1} }

// add appends n times the level v.
func (l *levels) add(v, n int) {
	l.n += n
	if v != l.value {
		l.settle()
		l.value = v
	}
	l.run += n
}

// settle encodes the run.
func (l *levels) settle() {
	if l.filled > 0 {
		l.pack(min(l.run, 8-l.filled))
	}
	if l.run >= 8 {
		l.head = -1
		l.b = binary.AppendUvarint(l.b, uint64(l.run)<<1)
		l.b = append(l.b, byte(l.value))
		l.run = 0
	}
	l.pack(l.run)
}

// eight has a 1 at each of eight levels, by their width.
var eight = [...]uint64{1: 0xff, 2: 0x5555, 3: 0x249249}

// pack moves n levels of the run, no more than have room, to the group.
func (l *levels) pack(n int) {
	if n == 0 {
		return
	}
	same := eight[l.width] * uint64(l.value) & (1<<(n*l.width) - 1)
	l.group |= same << (l.filled * l.width)
	l.filled += n
	l.run -= n
	if l.filled == 8 {
		l.write()
	}
}

// write appends the group.
func (l *levels) write() {
	const most = 63 // groups, so that their number takes one byte
	if l.head < 0 || l.b[l.head]>>1 == most {
		l.head = len(l.b)
		l.b = append(l.b, 1)
	}
	l.b[l.head] += 2
	for i := range l.width {
		l.b = append(l.b, byte(l.group>>(8*i)))
	}
	l.group, l.filled = 0, 0
}

// finish returns the encoded levels.
func (l *levels) finish() []byte {
	l.settle()
	if l.filled > 0 {
		l.write() // levels behind the last are not read
	}
	return l.b
}
