package earlier

import "slices"

// pairs numbers the combinations of two values in the order of their addition. It is a hash table
// with open addressing.
type pairs struct {
	key  []uint64 // combination plus one; 0 = free
	is   []entry
	size int32
}

// entry is the number of a combination and its first row in the order of time.
type entry struct{ id, first int32 }

func (p *pairs) place(key uint64) int {
	mask := len(p.key) - 1
	h := key * 0x9e3779b97f4a7c15
	i := int((h^h>>32)*0x9e3779b97f4a7c15>>32) & mask
	for p.key[i] != key && p.key[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

func keyOf(a, b int32) uint64 { return uint64(a)<<32 | uint64(uint32(b)) + 1 }

// find returns the number of a combination, or -1.
func (p *pairs) find(a, b int32) int32 {
	if a < 0 || b < 0 || p.size == 0 {
		return -1
	}
	key := keyOf(a, b)
	if i := p.place(key); p.key[i] == key {
		return p.is[i].id
	}
	return -1
}

// of returns the entry of a combination that has been added.
func (p *pairs) of(a, b int32) entry { return p.is[p.place(keyOf(a, b))] }

// add returns the entry of a combination, borrowed until the next call. A new one has row as its
// first row.
func (p *pairs) add(a, b, row int32) *entry {
	if int(p.size)*2 >= len(p.key) {
		old := *p
		p.key, p.is = make([]uint64, max(16, 2*len(old.key))), make([]entry, max(16, 2*len(old.key)))
		for i, key := range old.key {
			if key != 0 {
				j := p.place(key)
				p.key[j], p.is[j] = key, old.is[i]
			}
		}
	}
	key := keyOf(a, b)
	i := p.place(key)
	if p.key[i] != key {
		p.key[i], p.is[i] = key, entry{p.size, row}
		p.size++
	}
	return &p.is[i]
}

// find returns the number of the record of one value, or of two in a history of two keys, or -1. keys has the row's values.
func (t *table) find(keys []int32, of [2]int) int32 {
	a := keys[of[0]]
	if t.pairs != nil {
		return t.pairs.find(a, keys[of[1]])
	}
	if int(a) >= len(t.slot) {
		return -1
	}
	return t.slot[a] - 1
}

// add returns the number of the record of value a. A new value gets the next number.
func (t *table) add(a int32) int32 {
	for int(a) >= len(t.slot) {
		t.slot = append(t.slot, 0)
	}
	if t.slot[a] == 0 {
		t.slot[a] = int32(len(t.rows)) + 1
	}
	return t.slot[a] - 1
}

// grow makes room for a record of stride numbers and heads heads.
func (t *table) grow(slot int32, stride, heads int) {
	for int(slot) >= len(t.rows) {
		t.rows = append(t.rows, nil)
	}
	if n := len(t.rows) * stride; n > len(t.data) {
		t.data = slices.Grow(t.data, n-len(t.data))[:n] // memory beyond the length is zero
		n = len(t.rows) * heads
		t.heads = slices.Grow(t.heads, n-len(t.heads))[:n]
	}
}
