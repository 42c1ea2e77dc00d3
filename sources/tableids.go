package sources

import (
	"cmp"
	"math"
	"slices"
)

// integers64 numbers distinct integers in order of occurrence.
type integers64 struct {
	values []int64
	direct []int32 // number+1 of small non-negative integers, indexed directly
	slots  []int32 // open-addressing hash table of the others: number+1, 0 = empty; the length is a power of two
	hashed int
	take   func(bytes int64) error
}

func (t *integers64) len() int { return len(t.values) }

// find returns the number of v, or -1.
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

// add returns the number of v, and assigns one if v is new.
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

// widen extends direct to include v, and moves integers there.
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

// grow doubles the hash table. Integers that direct covers are dropped from it.
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

// order returns the numbers sorted by integer.
func (t *integers64) order() []int32 {
	var others []int32 // integers outside direct
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

// rankOf inverts a permutation.
func rankOf(order []int32) []int32 {
	rank := make([]int32, len(order))
	for i, number := range order {
		rank[number] = int32(i)
	}
	return rank
}
