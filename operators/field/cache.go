package field

import (
	"slices"
	"sync/atomic"
)

// Cache stores finished fields. The different fields of a graph, or of many similar graphs, are
// few: on a torus all are equal. Any number of Normalizers and goroutines may share a Cache.
//
// The key of a field is the whole problem: the distances, edges and attributes of the
// neighbourhood, with its nodes numbered in the order of Assemble, and the settings. That order
// ascends inside each distance, and nodes of different distance are never compared by number.
// So the members are a function of the problem, and a Normalizer gives the same bytes with and
// without a Cache, and the same Stats except those of the Cache.
//
// Entries lie in one array and never change, so reads take no lock. A full array is dropped as
// a whole: at once if the cache has its full size, otherwise when the next array is full.
type Cache struct {
	words   int // size of an array at full size
	current atomic.Pointer[generation]
}

// NewCache returns an empty cache of about the given number of bytes at most. It allocates when
// the first field is stored.
func NewCache(bytes int) *Cache {
	// One half is for the current array and one for the array before, which find reads while the
	// cache grows and which readers may hold afterwards.
	return &Cache{words: max(bytes/16, 64)}
}

// Reset forgets all fields and keeps the memory for others. Other goroutines may not use c
// meanwhile.
func (c *Cache) Reset() {
	g := c.current.Load()
	if g == nil {
		return
	}
	clear(g.slots)
	clear(g.met)
	g.used.Store(0)
	g.before.Store(nil)
}

// generation is one array of entries and a hash table of their positions.
type generation struct {
	size int // words of the whole generation
	// A slot is 0, or the upper half of a hash and, in the lower half, the position of the entry
	// plus one.
	slots []atomic.Uint64
	// An entry is a word with the lengths of the key and the value, the key, and the value.
	words []uint64
	used  atomic.Int64
	// met has the hashes of problems seen once; nil while the cache grows. At full size the cache
	// stores a problem when it is seen again.
	met []atomic.Uint32
	// before is the smaller array that this one replaced while the cache grew, or nil. An entry
	// that is found there is copied here.
	before atomic.Pointer[generation]
}

const (
	probes = 8
	// Keys of at most shortKey words use only the first shortSlots slots.
	shortKey   = 3
	shortSlots = 1 << 13
	// The first array is small, so a small graph does not pay for a large one. Each array is growth
	// times as large as the one before.
	firstWords = 1 << 10
	growth     = 4
)

// newGeneration returns an array of a number of words, hash table included.
func (c *Cache) newGeneration(words int) *generation {
	words = min(words, c.words)
	slots := 1
	for slots*8 <= words { // an entry has more than four words
		slots *= 2
	}
	g := &generation{size: words, slots: make([]atomic.Uint64, slots)}
	rest := words - slots
	if words == c.words {
		g.met = make([]atomic.Uint32, slots)
		rest -= slots / 2
	}
	g.words = make([]uint64, rest)
	return g
}

// find returns the value of key, borrowed and read-only, or nil.
func (c *Cache) find(hash uint64, key []uint64) []uint64 {
	g := c.current.Load()
	if g == nil {
		return nil
	}
	value := g.find(hash, key)
	if value == nil {
		if b := g.before.Load(); b != nil {
			if value = b.find(hash, key); value != nil {
				c.add(hash, key, value)
			}
		}
	}
	return value
}

// mask returns the mask of the slots of a key. Short keys are the most frequent; their slots fit
// the processor's cache.
func (g *generation) mask(key []uint64) uint64 {
	mask := uint64(len(g.slots) - 1)
	if len(key) <= shortKey {
		mask &= shortSlots - 1
	}
	return mask
}

func (g *generation) find(hash uint64, key []uint64) []uint64 {
	mask := g.mask(key)
	for i := range uint64(probes) {
		s := g.slots[(hash+i)&mask].Load()
		if s == 0 {
			return nil
		}
		if s>>32 != hash>>32 {
			continue
		}
		entry := g.words[uint32(s)-1:]
		nKey, nValue := entry[0]>>32, uint64(uint32(entry[0]))
		if slices.Equal(entry[1:1+nKey], key) {
			return entry[1+nKey : 1+nKey+nValue]
		}
	}
	return nil
}

// add stores a copy of value for key, if there is room and the key was seen before.
func (c *Cache) add(hash uint64, key, value []uint64) {
	g := c.current.Load()
	if g == nil {
		g = c.newGeneration(firstWords)
		if !c.current.CompareAndSwap(nil, g) {
			return
		}
	}
	mask := g.mask(key)
	if g.met != nil && g.met[hash&mask].Swap(uint32(hash>>32)) != uint32(hash>>32) {
		return
	}
	slot := &g.slots[hash&mask] // if all slots are taken, this entry is replaced
	for i := range uint64(probes) {
		if at := &g.slots[(hash+i)&mask]; at.Load() == 0 {
			slot = at
			break
		}
	}
	old := slot.Load()
	size := int64(1 + len(key) + len(value))
	begin := g.used.Add(size) - size
	if begin+size > int64(len(g.words)) {
		// The array is full. Only one of the workers that notice replaces it.
		if c.current.Load() == g && size < int64(c.words)/4 {
			next := c.newGeneration(growth * g.size)
			if next.size > g.size {
				next.before.Store(g)
			}
			if c.current.CompareAndSwap(g, next) {
				g.before.Store(nil)
			}
		}
		return
	}
	entry := g.words[begin : begin+size]
	entry[0] = uint64(len(key))<<32 | uint64(len(value))
	copy(entry[1:], key)
	copy(entry[1+len(key):], value)
	// A reader that sees the slot also sees the entry, which never changes. If another worker has
	// set the slot first, the entry is lost until the next generation.
	slot.CompareAndSwap(old, hash&^(1<<32-1)|uint64(begin+1))
}

// hashOf returns the hash of a key. A multiplication carries each bit upwards, and a shift carries
// it down.
func hashOf(key []uint64) uint64 {
	h := uint64(len(key))
	for _, w := range key {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	h *= 0xbf58476d1ce4e5b9
	return h ^ h>>32
}
