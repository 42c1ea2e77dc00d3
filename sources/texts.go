package sources

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
)

// texts numbers different texts from 0, in the order in which they come. Finding one of
// many reads two places in memory, a slot and a record.
type texts struct {
	seed    maphash.Seed
	slots   []uint32 // a power of two: place of a record in its lower bits, a part of the hash in the others; 0: empty
	low     int      // bits of a place
	places  []uint32 // of the record of each text
	records []byte   // number, length and bytes of each text, beginning at a multiple of recordUnit
	size    int64    // of the texts in bytes
	take    func(bytes int64) error

	touched byte // so that reading ahead is not left out
}

// recordUnit divides the place of a record: a short record is in few lines of the cache.
const recordUnit = 8

func (t *texts) len() int { return len(t.places) }

func (t *texts) at(i int32) []byte {
	_, text := t.record(t.places[i])
	return text
}

// record returns the text at a place, and its number.
func (t *texts) record(place uint32) (number int32, text []byte) {
	b := t.records[recordUnit*int(place):]
	from, size := uint32(5), uint32(b[4])
	if size == longText {
		from, size = 9, binary.LittleEndian.Uint32(b[5:])
	}
	return int32(binary.LittleEndian.Uint32(b)), b[from : from+size]
}

// longText stands for a length that is in the four bytes behind.
const longText = 255

// slot is the entry of slots for a text: the upper bits of its hash, and its place.
func (t *texts) slot(hash uint64, place uint32) uint32 {
	return uint32(hash>>32)>>t.low<<t.low | place
}

// add returns the number of a text, which may be new.
func (t *texts) add(text []byte) (int32, error) {
	if err := t.room(1); err != nil {
		return 0, err
	}
	return t.addHashed(text, maphash.Bytes(t.seed, text))
}

func (t *texts) addHashed(text []byte, hash uint64) (int32, error) {
	mask, low := uint64(len(t.slots)-1), uint32(1)<<t.low-1
	at := hash & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if place := t.slots[at] & low; t.slots[at] == t.slot(hash, place) {
			if number, known := t.record(place); bytes.Equal(known, text) {
				return number, nil
			}
		}
	}
	head := binary.LittleEndian.AppendUint32(make([]byte, 0, 9), uint32(t.len()))
	if len(text) < longText {
		head = append(head, byte(len(text)))
	} else {
		head = binary.LittleEndian.AppendUint32(append(head, longText), uint32(len(text)))
	}
	if int64(len(t.records)+len(text)) > math.MaxUint32 || t.len() == math.MaxInt32-1 {
		return 0, errTooManyNames
	}
	if more := len(t.records) + len(text) + 16; more > cap(t.records) {
		if err := t.take(int64(more)); err != nil { // what append adds, or less
			return 0, err
		}
	}
	place := uint32(len(t.records) / recordUnit)
	t.records = append(append(t.records, head...), text...)
	for len(t.records)%recordUnit != 0 {
		t.records = append(t.records, 0)
	}
	t.size += int64(len(text))
	t.places = append(t.places, place)
	t.slots[at] = t.slot(hash, place)
	return int32(t.len()) - 1, nil
}

// block is how many texts are looked up together.
const block = 256

// addAll adds texts. Where they are is found for a block at a time, step by step, so that
// the processor waits for many places in memory at once, and not for one after the other.
func (t *texts) addAll(text []byte, spans []Span, dst []int32) error {
	var hashes [block]uint64
	var places [block]uint32
	var touched byte
	for len(spans) > 0 {
		n := min(block, len(spans))
		if err := t.room(n); err != nil {
			return err
		}
		slots, mask, low := t.slots, uint64(len(t.slots)-1), t.low&31
		for i, s := range spans[:n] {
			hashes[i] = maphash.Bytes(t.seed, text[s.From:s.To])
		}
		for i, hash := range hashes[:n] {
			places[i] = slots[hash&mask]
		}
		for i, slot := range places[:n] {
			hash := hashes[i]
			for at := hash & mask; slot != 0 && (slot^uint32(hash>>32))>>low != 0; slot = slots[at] {
				at = (at + 1) & mask
			}
			places[i] = slot & (1<<low - 1)
		}
		for _, place := range places[:n] {
			touched ^= t.records[recordUnit*int(place)]
		}
		for i, s := range spans[:n] {
			key := text[s.From:s.To]
			if number, known := t.record(places[i]); places[i] != 0 && bytes.Equal(known, key) {
				dst[i] = number
				continue
			}
			err := t.room(1) // long texts may take more places than there were
			if err == nil {
				dst[i], err = t.addHashed(key, hashes[i])
			}
			if err != nil {
				return err
			}
		}
		spans, dst = spans[n:], dst[n:]
	}
	t.touched = touched
	return nil
}

// room makes room in slots for more texts, so that at most half of them are taken.
func (t *texts) room(more int) error {
	size := max(64, len(t.slots))
	for 2*(t.len()+more) > size {
		size *= 2
	}
	if size == len(t.slots) && len(t.records)/recordUnit < 1<<t.low {
		return nil
	}
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
		t.records = make([]byte, 16) // no text is at place 0
	}
	if err := t.take(4*int64(size-len(t.slots)) + 2*int64(size)); err != nil {
		return err
	}
	t.low = bits.Len(uint(max(size, 2*len(t.records)/recordUnit))) // 31 or less
	t.slots = make([]uint32, size)
	mask := uint64(size - 1)
	for _, place := range t.places {
		_, text := t.record(place)
		hash := maphash.Bytes(t.seed, text)
		at := hash & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = t.slot(hash, place)
	}
	return nil
}

// ids returns the texts with these numbers as ids of nodes.
func (t *texts) ids(numbers []int32) (graph.IDs, error) {
	ends, size := make([]int32, 1, len(numbers)+1), int64(0)
	t.each(numbers, func(text []byte) {
		size += int64(len(text))
		ends = append(ends, int32(size))
	})
	if size > math.MaxInt32 {
		return graph.IDs{}, fmt.Errorf("the ids of the nodes have %d bytes, want at most %d", size, math.MaxInt32)
	}
	all := make([]byte, 0, size)
	t.each(numbers, func(text []byte) { all = append(all, text...) })
	return graph.IDsOfText(ends, all), nil
}

// each calls do with the texts with these numbers, and reads ahead as addAll does.
func (t *texts) each(numbers []int32, do func(text []byte)) {
	var places [block]uint32
	var touched byte
	for len(numbers) > 0 {
		n := min(block, len(numbers))
		for i, number := range numbers[:n] {
			places[i] = t.places[number]
		}
		for _, place := range places[:n] {
			touched ^= t.records[recordUnit*int(place)]
		}
		for _, place := range places[:n] {
			_, text := t.record(place)
			do(text)
		}
		numbers = numbers[n:]
	}
	t.touched = touched
}

// order returns the numbers in ascending order of the texts, bytewise.
func (t *texts) order() []int32 {
	common := t.common()
	var used [8][256]bool // bytes behind the common ones
	for i := range int32(t.len()) {
		for p, c := range t.at(i)[common:] {
			if p == len(used) {
				break
			}
			used[p][c] = true
		}
	}
	// A key is the rank of each of these bytes, 0 if there is none, as many as fit, and then the number.
	var code [8][256]uint64
	var width [8]int
	number := bits.Len(uint(t.len()))
	total, heads := number, 0
	for p := range used {
		most := uint64(0)
		for c, is := range used[p] {
			if is {
				most++
				code[p][c] = most
			}
		}
		if width[p] = bits.Len64(most); total+width[p] > 64 {
			break
		}
		total += width[p]
		heads++
	}
	keys := make([]uint64, t.len())
	for i := range keys {
		text, key := t.at(int32(i))[common:], uint64(0)
		for p := range heads {
			key <<= width[p]
			if p < len(text) {
				key |= code[p][text[p]]
			}
		}
		keys[i] = key<<number | uint64(i)
	}
	keys = rows.SortKeys(keys, make([]uint64, len(keys)), total)
	order := make([]int32, len(keys))
	for i, key := range keys {
		order[i] = int32(key & (1<<number - 1))
	}
	for from := 0; from < len(keys); {
		to := from + 1
		for to < len(keys) && keys[to]>>number == keys[from]>>number {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(order[from:to], func(a, b int32) int { return bytes.Compare(t.at(a), t.at(b)) })
		}
		from = to
	}
	return order
}

// common is how many bytes all texts begin with.
func (t *texts) common() (n int) {
	for i := range int32(t.len()) {
		first, text := t.at(0), t.at(i)
		if i == 0 {
			n = len(text)
		} else if n = min(n, len(text)); !bytes.Equal(first[:n], text[:n]) {
			for n = 0; first[n] == text[n]; {
				n++
			}
		}
	}
	return n
}
