package count

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// Bag collects ids and their counts. The zero value is empty. A Bag serves one goroutine and
// reuses its memory for the next graph.
type Bag struct {
	entries []Entry
	table   []int32 // hash table of indices of entries, plus one; 0 is free
	sorted  bool    // entries are sorted and table is invalid

	dealt []Entry // second buffer of deal
	ends  []int32
}

// Entry is a word and its count.
type Entry struct {
	ID    uint64
	Count float64
}

// Add adds n to the count of an id.
func (b *Bag) Add(id uint64, n float64) {
	if b.sorted || 2*len(b.entries) >= len(b.table) {
		b.rebuild()
	}
	mask := uint64(len(b.table) - 1)
	for i := place(id) & mask; ; i = (i + 1) & mask {
		at := b.table[i]
		if at == 0 {
			b.entries = append(b.entries, Entry{id, n})
			b.table[i] = int32(len(b.entries))
			return
		}
		if e := &b.entries[at-1]; e.ID == id {
			e.Count += n
			return
		}
	}
}

// place hashes an id, since a counter outside this package may use ids that are no hashes.
func place(id uint64) uint64 { return id * 0x9e3779b97f4a7c15 >> 24 }

// rebuild makes a table for at least twice as many entries.
func (b *Bag) rebuild() {
	size := max(64, 1<<bits.Len(uint(4*len(b.entries))))
	if len(b.table) < size {
		b.table = make([]int32, size)
	} else {
		clear(b.table)
	}
	mask := uint64(len(b.table) - 1)
	for j, e := range b.entries {
		i := place(e.ID) & mask
		for b.table[i] != 0 {
			i = (i + 1) & mask
		}
		b.table[i] = int32(j) + 1
	}
	b.sorted = false
}

// Entries returns the counts with ascending ids, borrowed until the next call of a method.
func (b *Bag) Entries() []Entry {
	if !b.sorted {
		b.deal()
		b.sorted = true
	}
	return b.entries
}

// deal sorts the entries by id: by the highest bits, which leaves a few entries per bucket, then
// inside each bucket.
func (b *Bag) deal() {
	const few = 8 // average number of entries of a bucket
	high := bits.Len(uint(len(b.entries) / few))
	shift := 64 - high
	b.ends = scratch.Resize(b.ends, 1<<high+1)
	clear(b.ends)
	for _, e := range b.entries {
		b.ends[e.ID>>shift+1]++
	}
	for i := range 1 << high {
		b.ends[i+1] += b.ends[i]
	}
	b.dealt = scratch.Resize(b.dealt, len(b.entries))
	for _, e := range b.entries {
		at := &b.ends[e.ID>>shift]
		b.dealt[*at] = e
		*at++
	}
	b.entries, b.dealt = b.dealt, b.entries
	from := int32(0)
	for _, end := range b.ends[:1<<high] { // each end is now the start of the next bucket
		slices.SortFunc(b.entries[from:end], func(x, y Entry) int { return cmp.Compare(x.ID, y.ID) })
		from = end
	}
}

// Reset empties the bag. It frees a table that is much larger than its contents, so that one
// large graph does not slow down the small ones after it.
func (b *Bag) Reset() {
	if len(b.table) > 1<<12 && len(b.entries) < len(b.table)/64 {
		b.table, b.entries, b.dealt, b.ends = nil, nil, nil, nil
	}
	clear(b.table)
	b.entries, b.sorted = b.entries[:0], false
}

// Hash is the hash of a sequence of words of 64 bits, which begins with a kind.
// With all arithmetic modulo 2⁶⁴, ⊕ for exclusive or and g = 0x9e3779b97f4a7c15,
//
//	empty        h = 0
//	add a word x h = mix((h + g) ⊕ x)
//	mix(z)       z ⊕= z >> 30;  z *= 0xbf58476d1ce4e5b9
//	             z ⊕= z >> 27;  z *= 0x94d049bb133111eb
//	             z ⊕= z >> 31
//
// and a kind is the sequence of its bytes. mix is the finalizer of SplitMix64
// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014),
// a bijection: sequences of one length that differ in one word never collide.
//
// A multiset is the sum, modulo 2⁶⁴, of the hashes of its elements.
type Hash uint64

// Kind begins a hash of a kind. Different kinds have different ids; your counter uses its name.
func Kind(name string) Hash {
	var h Hash
	for i := range len(name) {
		h = h.Add(uint64(name[i]))
	}
	return h
}

// Add returns the hash of the sequence with one more word.
func (h Hash) Add(x uint64) Hash {
	z := (uint64(h) + 0x9e3779b97f4a7c15) ^ x
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return Hash(z ^ z>>31)
}
