package sources

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
)

// texts numbers different texts from 0, in the order in which they come.
type texts struct {
	seed  maphash.Seed
	slots []uint64 // a power of two: upper half of the hash, number + 1
	ends  []uint32 // of each text in bytes
	bytes []byte
	take  func(bytes int64) error

	touched byte // so that reading ahead is not left out
}

func (t *texts) len() int { return len(t.ends) }

func (t *texts) at(i int32) []byte {
	from := uint32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.bytes[from:t.ends[i]]
}

// find returns the number of a text, or -1 and where it would stand.
func (t *texts) find(text []byte) (number int32, slot int, hash uint64) {
	if len(t.slots) == 0 {
		return -1, 0, 0
	}
	hash = maphash.Bytes(t.seed, text)
	mask := len(t.slots) - 1
	for at := int(hash & uint64(mask)); ; at = (at + 1) & mask {
		s := t.slots[at]
		if s == 0 {
			return -1, at, hash
		}
		if s>>32 == hash>>32 {
			if i := int32(uint32(s)) - 1; bytes.Equal(t.at(i), text) {
				return i, at, hash
			}
		}
	}
}

// add returns the number of a text, which may be new.
func (t *texts) add(text []byte) (int32, error) {
	i, slot, hash := t.find(text)
	if i >= 0 {
		return i, nil
	}
	if 2*t.len() >= len(t.slots) {
		if err := t.grow(); err != nil {
			return 0, err
		}
		_, slot, hash = t.find(text)
	}
	if int64(len(t.bytes)+len(text)) > math.MaxUint32 || t.len() == math.MaxInt32-1 {
		return 0, errTooManyNames
	}
	if more := len(t.bytes) + len(text); more > cap(t.bytes) {
		if err := t.take(int64(more)); err != nil { // what append adds, or less
			return 0, err
		}
	}
	t.bytes = append(t.bytes, text...)
	t.ends = append(t.ends, uint32(len(t.bytes)))
	t.slots[slot] = hash>>32<<32 | uint64(t.len())
	return int32(t.len()) - 1, nil
}

// block is how many texts are looked up together.
const block = 256

// addAll adds texts. Where they are is found for a block at a time, step by step, so that
// the processor waits for many places in memory at once, and not for one after the other.
func (t *texts) addAll(text []byte, spans []Span, dst []int32) error {
	if t.slots == nil {
		if err := t.grow(); err != nil {
			return err
		}
	}
	var hashes, slots [block]uint64
	var touched byte
	for len(spans) > 0 {
		n := min(block, len(spans))
		mask := uint64(len(t.slots) - 1)
		for i, s := range spans[:n] {
			hashes[i] = maphash.Bytes(t.seed, text[s.From:s.To])
		}
		for i, hash := range hashes[:n] {
			slots[i] = t.slots[hash&mask]
		}
		for _, slot := range slots[:n] {
			if slot != 0 {
				touched ^= t.bytes[max(t.ends[uint32(slot)-1], 1)-1]
			}
		}
		for i, s := range spans[:n] {
			key, slot := text[s.From:s.To], slots[i]
			if number := int32(uint32(slot)) - 1; slot != 0 && slot>>32 == hashes[i]>>32 && bytes.Equal(t.at(number), key) {
				dst[i] = number
				continue
			}
			var err error
			if dst[i], err = t.add(key); err != nil {
				return err
			}
		}
		spans, dst = spans[n:], dst[n:]
	}
	t.touched = touched
	return nil
}

func (t *texts) grow() error {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	size := max(256, 2*len(t.slots))
	if err := t.take(8*int64(size-len(t.slots)) + 4*int64(size/2)); err != nil {
		return err
	}
	t.slots = make([]uint64, size)
	for i := range int32(t.len()) {
		hash := maphash.Bytes(t.seed, t.at(i))
		at := int(hash & uint64(size-1))
		for t.slots[at] != 0 {
			at = (at + 1) & (size - 1)
		}
		t.slots[at] = hash>>32<<32 | uint64(i+1)
	}
	return nil
}

// order returns the numbers in ascending order of the texts, bytewise.
func (t *texts) order() []int32 {
	type entry struct {
		head   uint64 // the first 8 bytes behind these
		number int32
	}
	all := make([]entry, t.len())
	common := 0 // bytes that all begin with
	for i := range all {
		if first, text := t.at(0), t.at(int32(i)); i == 0 {
			common = len(text)
		} else if common = min(common, len(text)); !bytes.Equal(first[:common], text[:common]) {
			for common = 0; first[common] == text[common]; {
				common++
			}
		}
	}
	for i := range all {
		var head [8]byte
		copy(head[:], t.at(int32(i))[common:])
		all[i] = entry{binary.BigEndian.Uint64(head[:]), int32(i)}
	}
	slices.SortFunc(all, func(a, b entry) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(t.at(a.number), t.at(b.number))
	})
	order := make([]int32, len(all))
	for i, e := range all {
		order[i] = e.number
	}
	return order
}

// integers64 numbers different integers from 0, in the order in which they come.
type integers64 struct {
	values []int64
	direct []int32 // of an integer from 0 that is not far larger than there are: number + 1
	slots  []int32 // of the others: a power of two, number + 1
	hashed int
	take   func(bytes int64) error
}

func (t *integers64) len() int { return len(t.values) }

// find returns the number of an integer, or -1.
func (t *integers64) find(v int64) int32 {
	if uint64(v) < uint64(len(t.direct)) {
		return t.direct[v] - 1
	}
	if t.slots == nil {
		return -1
	}
	return t.slots[t.slot(v)] - 1
}

func (t *integers64) slot(v int64) int {
	mask := len(t.slots) - 1
	at := int(uint64(v) * 0x9e3779b97f4a7c15 >> 32 & uint64(mask))
	for t.slots[at] != 0 && t.values[t.slots[at]-1] != v {
		at = (at + 1) & mask
	}
	return at
}

// add returns the number of an integer, which may be new.
func (t *integers64) add(v int64) (int32, error) {
	if i := t.find(v); i >= 0 {
		return i, nil
	}
	if t.len() == math.MaxInt32-1 {
		return 0, errTooManyNames
	}
	if uint64(v) >= uint64(len(t.direct)) && uint64(v) < uint64(1<<20+16*t.len()) {
		if err := t.widen(v); err != nil {
			return 0, err
		}
	}
	if len(t.values) == cap(t.values) {
		if err := t.take(8 * int64(cap(t.values)/4+16)); err != nil {
			return 0, err
		}
	}
	t.values = append(t.values, v)
	number := int32(t.len())
	if uint64(v) < uint64(len(t.direct)) {
		t.direct[v] = number
		return number - 1, nil
	}
	if 2*(t.hashed+1) > len(t.slots) {
		if err := t.grow(); err != nil {
			return 0, err
		}
	}
	t.slots[t.slot(v)] = number
	t.hashed++
	return number - 1, nil
}

// widen makes direct reach v, and those integers that it reaches stand there.
func (t *integers64) widen(v int64) error {
	size := max(1<<12, 2*len(t.direct), int(v)+1)
	if err := t.take(4 * int64(size-len(t.direct))); err != nil {
		return err
	}
	old := len(t.direct)
	direct := make([]int32, size)
	copy(direct, t.direct)
	t.direct = direct
	for i, x := range t.values {
		if x >= int64(old) && x < int64(size) {
			direct[x] = int32(i) + 1
		}
	}
	return nil
}

// grow makes a larger hash table. What direct reaches stays in the table too, unused.
func (t *integers64) grow() error {
	size := max(256, 2*len(t.slots))
	if err := t.take(4 * int64(size-len(t.slots))); err != nil {
		return err
	}
	old := t.slots
	t.slots = make([]int32, size)
	t.hashed = 0
	for _, number := range old {
		if number > 0 {
			if v := t.values[number-1]; uint64(v) >= uint64(len(t.direct)) {
				t.slots[t.slot(v)] = number
				t.hashed++
			}
		}
	}
	return nil
}

// order returns the numbers in ascending order of the integers.
func (t *integers64) order() []int32 {
	var others []int32 // that direct does not reach
	for i, v := range t.values {
		if uint64(v) >= uint64(len(t.direct)) {
			others = append(others, int32(i))
		}
	}
	slices.SortFunc(others, func(a, b int32) int { return cmp.Compare(t.values[a], t.values[b]) })
	negative, _ := slices.BinarySearchFunc(others, 0, func(i int32, _ int) int { return cmp.Compare(t.values[i], 0) })
	order := append(make([]int32, 0, t.len()), others[:negative]...)
	for _, number := range t.direct {
		if number > 0 {
			order = append(order, number-1)
		}
	}
	return append(order, others[negative:]...)
}

// rankOf returns the place of each number in an order.
func rankOf(order []int32) []int32 {
	rank := make([]int32, len(order))
	for i, number := range order {
		rank[number] = int32(i)
	}
	return rank
}
