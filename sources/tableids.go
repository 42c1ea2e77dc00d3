package sources

import (
	"cmp"
	"math"
	"slices"
)

// integers64 numbers distinct integers in order of occurrence.
type integers64 struct {
	values []int64
	direct []int32         // number+1 of small non-negative integers, indexed directly
	others map[int64]int32 // number of the others, and maybe of some in direct
	take   func(bytes int64) error
}

// otherBytes is what an entry of integers64.others takes while the map grows.
const otherBytes = 48

func (t *integers64) len() int { return len(t.values) }

// add returns the number of v, and assigns one if v is new.
func (t *integers64) add(v int64) (int32, error) {
	if uint64(v) < uint64(len(t.direct)) {
		if number := t.direct[v]; number > 0 {
			return number - 1, nil
		}
	} else if number, known := t.others[v]; known {
		return number, nil
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
	number := int32(t.len())
	t.values = append(t.values, v)
	if uint64(v) < uint64(len(t.direct)) {
		t.direct[v] = number + 1
		return number, nil
	}
	if t.others == nil {
		t.others = map[int64]int32{}
	}
	t.others[v] = number
	return number, t.take(otherBytes)
}

// widen extends direct to include v, and enters the integers that it covers.
func (t *integers64) widen(v int64) error {
	size := max(1<<12, 2*len(t.direct), int(v)+1)
	if err := t.take(4 * int64(size-len(t.direct))); err != nil {
		return err
	}
	old := len(t.direct)
	t.direct = append(t.direct, make([]int32, size-old)...)
	for i, x := range t.values {
		if x >= int64(old) && x < int64(size) {
			t.direct[x] = int32(i) + 1
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
