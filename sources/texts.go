package sources

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// texts numbers distinct texts in order of occurrence.
type texts struct {
	seed  maphash.Seed
	slots []uint64 // open-addressing hash table: hash in the upper half, number+1 in the lower; 0 = empty; the length is a power of two
	ends  []uint32 // end of each text in all
	all   []byte
	size  int64 // total bytes of the texts
	take  func(bytes int64) error
}

func (t *texts) len() int { return len(t.ends) }

func (t *texts) at(i int32) []byte {
	from := uint32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.all[from:t.ends[i]]
}

// add returns the number of a text, and assigns one if it is new.
func (t *texts) add(text []byte) (int32, error) {
	if err := t.room(); err != nil {
		return 0, err
	}
	hash := maphash.Bytes(t.seed, text) >> 32
	mask := uint64(len(t.slots) - 1)
	at := hash & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if number := int32(uint32(t.slots[at]) - 1); t.slots[at]>>32 == hash && bytes.Equal(t.at(number), text) {
			return number, nil
		}
	}
	size := len(t.all) + len(text)
	if int64(size) > math.MaxUint32 || t.len() == math.MaxInt32-1 {
		return 0, errTooManyNames
	}
	if size > cap(t.all) {
		if err := t.take(int64(size)); err != nil { // at least the growth of the capacity: append doubles it at most, or allocates size
			return 0, err
		}
	}
	t.all = append(t.all, text...)
	t.size = int64(size)
	t.ends = append(t.ends, uint32(size))
	t.slots[at] = hash<<32 | uint64(t.len())
	return int32(t.len()) - 1, nil
}

// room keeps the hash table at most half full.
func (t *texts) room() error {
	if 2*(t.len()+1) <= len(t.slots) {
		return nil
	}
	old, size := t.slots, max(64, 2*len(t.slots))
	if old == nil {
		t.seed = maphash.MakeSeed()
	}
	if err := t.take(8*int64(size-len(old)) + 2*int64(size)); err != nil { // the charge covers slots and ends
		return err
	}
	t.slots = make([]uint64, size)
	mask := uint64(size - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32 & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = slot
	}
	return nil
}

// ids returns the texts with these numbers as node ids.
func (t *texts) ids(numbers []int32) (graph.IDs, error) {
	ends, size := make([]int32, 1, len(numbers)+1), int64(0)
	for _, number := range numbers {
		size += int64(len(t.at(number)))
		ends = append(ends, int32(size))
	}
	if size > math.MaxInt32 {
		return graph.IDs{}, fmt.Errorf("the ids of the nodes have %d bytes, want at most %d", size, math.MaxInt32)
	}
	all := make([]byte, 0, size)
	for _, number := range numbers {
		all = append(all, t.at(number)...)
	}
	return graph.IDsOfText(ends, all), nil
}

// order returns the numbers sorted bytewise by text. Most comparisons need only the eight bytes after the
// common prefix, which are precomputed.
func (t *texts) order() []int32 {
	common := t.common()
	type key struct {
		head   uint64
		number int32
	}
	keys := make([]key, t.len())
	for i := range keys {
		var head [8]byte
		copy(head[:], t.at(int32(i))[common:])
		keys[i] = key{binary.BigEndian.Uint64(head[:]), int32(i)}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(t.at(a.number), t.at(b.number))
	})
	order := make([]int32, len(keys))
	for i, k := range keys {
		order[i] = k.number
	}
	return order
}

// common returns the length of the common prefix of all texts.
func (t *texts) common() (n int) {
	for i := range int32(t.len()) {
		first, text := t.at(0), t.at(i)
		if i == 0 {
			n = len(text)
		}
		for n = min(n, len(text)); !bytes.Equal(first[:n], text[:n]); n-- {
		}
	}
	return n
}
