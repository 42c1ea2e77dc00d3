package parquet

import "encoding/binary"

// Values in lists have two levels, as in Dremel (Melnik et al. 2010). The repetition level is the depth
// at which a list continues, and the definition level is how much of the path to a value exists.
//
//	rows        [[7 8] []]   []   [[9]]
//	value        7 8 -       -     9
//	repetition   0 2 1       0     0
//	definition   4 4 2       0     4
//
// A list has one definition level and its elements another, because elements are declared optional.
// They are never null here, but Polars 0.26 for Node reads lists of required elements as zeros or nulls.

// levels encodes levels of width bits in Parquet's hybrid of two forms: eight or more equal levels as
// their count and the level, others as packed groups of eight. A packed run begins with its number of
// groups.
type levels struct {
	width int // bits of a level
	b     []byte
	n     int

	value, run int    // a level and its repeats, not encoded yet
	group      uint64 // the current group of levels
	filled     int    // levels in group
	head       int    // position of the current packed run, or -1
}

func (l *levels) reset() { *l = levels{width: l.width, b: l.b[:0], head: -1} }

// add appends level v n times.
func (l *levels) add(v, n int) {
	l.n += n
	if v != l.value {
		l.flushRun()
		l.value = v
	}
	l.run += n
}

// flushRun encodes the current run of equal levels, and empties it.
func (l *levels) flushRun() {
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

// eight has eight packed levels of 1, by the width of a level.
var eight = [...]uint64{1: 0xff, 2: 0x5555, 3: 0x249249}

// pack moves n levels of the run to the group, which must have room for them.
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

// write appends the group to the current packed run, or begins a packed run.
func (l *levels) write() {
	const most = 63 // groups of a run, so that their number takes one byte
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
	l.flushRun()
	if l.filled > 0 {
		l.write() // readers ignore levels behind the last
	}
	return l.b
}
