package field

import "math/bits"

// small remembers what becomes of problems of a few nodes: their levels and edges
// fit a word, their attributes another one, and so does the answer. A
// Normalizer has one of its own, beside a Cache and emptied with it.
type small struct {
	cache  *Cache // whose fields these are
	resets uint64 // of the cache
	slots  []smallSlot
	shift  int // of a hash, to the place of a slot
	added  int
}

type smallSlot struct {
	key, value uint64
	attrs      smallAttributes
}

// smallAttributes holds a byte for each of the first eight nodes, and in the other
// word one for each of the next three, a bit that says how wide types of edges are,
// and these.
type smallAttributes struct{ first, rest uint64 }

const (
	// smallNodes is the largest number of nodes whose key fits a word.
	smallNodes = 11
	// The first table is small, so that little has to be emptied for a small
	// graph; the largest is 256 KiB.
	firstSlots = 8 // bits
	mostSlots  = 13
)

// The kinds of problems, besides those of recall.
const (
	smallAttrs  = 0 // from U to the field, with attributes
	smallWhole  = 1 // the same without
	smallFinish = 2 // from N to the field
	smallRank   = 3 // from N to its ranking
)

// smallable reports whether problems of n nodes may be looked up.
func (z *Normalizer) smallable(n int) bool {
	return n <= smallNodes && z.Cache != nil && z.CropBudget|z.CanonBudget == 0
}

// smallAttrs packs the attributes of some nodes and of the edges between them, and
// reports whether these are all that the members depend on besides levels and edges:
// one of each kind, discrete and small. cropped is as for inTypes.
func (z *Normalizer) smallAttrs(nodes []int32, rows []uint64, cropped bool) (attrs smallAttributes, ok bool) {
	if z.nodeAttrs() {
		g := z.ix.g
		if g.NodeCats != 1 || g.NodeAttrs > 0 || g.SparseCard > 0 {
			return attrs, false
		}
		all, first, rest := uint32(0), uint64(0), uint64(0)
		for _, v := range nodes[:min(len(nodes), 8)] {
			c := uint32(g.NodeCat[v])
			all |= c
			first = first<<8 | uint64(c)
		}
		for _, v := range nodes[min(len(nodes), 8):] {
			c := uint32(g.NodeCat[v])
			all |= c
			rest = rest<<8 | uint64(c)
		}
		attrs = smallAttributes{first, rest}
		if all > 255 {
			return attrs, false
		}
	}
	if !z.edgeTypes() || z.typed && z.one == yes {
		return attrs, true
	}
	width, wide := 2, uint64(0)
	if z.greatest > 3 {
		width, wide = 4, 1
	}
	if !z.typed || z.greatest > 15 {
		return attrs, false
	}
	types, used := uint64(0), 0
	some, every := uint64(0), ^uint64(0)
	at := z.inTypes(nodes, cropped)
	for i, set := range rows {
		row := z.types[at[i]<<6:][:maxWords]
		for m := set & (1<<i - 1); m != 0; m &= m - 1 {
			c := uint64(row[at[bits.TrailingZeros64(m)]&63])
			types = types<<width | c
			used += width
			some |= c
			every &= c
		}
	}
	if !cropped && z.one == unknown {
		z.setOneType(uint32(some), uint32(every))
		if z.one == yes {
			return attrs, true
		}
	}
	attrs.rest |= types<<25 | wide<<24
	return attrs, used <= 64-25
}

// smallKey returns the key of nodes with the given levels and rows, or 0 if the
// root's neighbours are not those of the first level. It holds, from the top, a 1,
// where levels begin, and the edges between other nodes than the root.
func smallKey(kind, k int, starts uint64, rows []uint64) uint64 {
	n := len(rows)
	if end := bits.TrailingZeros64(starts&^3 | 1<<n); rows[0] != 1<<end-2 {
		return 0
	}
	key := uint64(1)<<(n-1) | starts>>1
	for i := 2; i < n; i++ {
		key = key<<(i-1) | rows[i]&(1<<i-1)>>1
	}
	return key<<8 | uint64(k-1)<<2 | uint64(kind)
}

// findSmall looks up a problem, whose levels begin where z.starts says, with the attributes of some nodes, or, where these are
// nil, without. The answer is 0 if it is not known; ok is false if the table is not
// for such problems. cropped says that the nodes are not those of U.
func (q *recall) findSmall(z *Normalizer, kind, k int, nodes []int32, rows []uint64, cropped bool) (value uint64, ok bool) {
	q.small = 0
	if q.paused(len(rows)) {
		return 0, true
	}
	var attrs smallAttributes
	if nodes != nil {
		if attrs, ok = z.smallAttrs(nodes, rows, cropped); !ok {
			return 0, false
		}
	}
	key := smallKey(kind, k, z.starts, rows)
	if q.small, q.smallAttrs = key, attrs; key == 0 {
		return 0, true
	}
	s := &z.small
	if s.cache != z.Cache || s.resets != z.Cache.resets.Load() {
		s.empty(z.Cache)
	}
	z.Stats.CacheLookups++
	if slot := s.at(key, attrs); slot.key == key && slot.attrs == attrs {
		value = slot.value
		z.Stats.CacheHits++
		q.at.hits++
	}
	if q.at.lookups++; q.at.lookups == recallWindow {
		q.at.end()
	}
	return value, true
}

// addSmall remembers the answer to the question asked last, if there is one.
func (q *recall) addSmall(z *Normalizer, value uint64) {
	if value == 0 {
		return
	}
	s := &z.small
	if s.added++; s.added > len(s.slots)/2 && 64-s.shift < mostSlots {
		s.slots = make([]smallSlot, 4*len(s.slots))
		s.shift -= 2
		s.added = 1
	}
	*s.at(q.small, q.smallAttrs) = smallSlot{q.small, value, q.smallAttrs}
}

// at returns the only slot where a problem may be.
func (s *small) at(key uint64, attrs smallAttributes) *smallSlot {
	h := attrs.first*0xbf58476d1ce4e5b9 ^ attrs.rest*0x94d049bb133111eb
	return &s.slots[(key^h^h>>32)*0x9e3779b97f4a7c15>>s.shift]
}

// empty makes s the table beside a cache.
func (s *small) empty(c *Cache) {
	s.cache, s.resets, s.added = c, c.resets.Load(), 0
	if s.slots == nil {
		s.slots, s.shift = make([]smallSlot, 1<<firstSlots), 64-firstSlots
	}
	clear(s.slots)
}

// An answer has four bits for the place of each node in turn, and above these
// either where the cells of a ranking begin or the counts of a field: leaves, ties,
// searches and canonical orders.
const smallCounts = 4 * smallNodes

// packSmall packs a field, with the counts since before, or returns 0 where
// these do not fit.
func packSmall(order []int32, before, after *Stats) uint64 {
	leaves, ties := uint64(after.Leaves-before.Leaves), uint64(after.Ties-before.Ties)
	searches, canon := uint64(after.Searches-before.Searches), uint64(after.Canon-before.Canon)
	if leaves > 255 || ties|searches|canon > 1 || after.CropFallback != before.CropFallback ||
		after.Refined != before.Refined || after.Partial != before.Partial {
		return 0
	}
	value := 1<<63 | (leaves<<3|ties<<2|searches<<1|canon)<<smallCounts
	for i, v := range order {
		value |= uint64(v) << (4 * i)
	}
	return value
}

// unpackSmall makes z.order the first n nodes of an answer, and counts what it
// took to find them.
func (z *Normalizer) unpackSmall(value uint64, n int) []int32 {
	counts := value << 1 >> (smallCounts + 1)
	z.Stats.Leaves += int64(counts >> 3)
	z.Stats.Ties += int64(counts >> 2 & 1)
	z.Stats.Searches += int64(counts >> 1 & 1)
	z.Stats.Canon += int64(counts & 1)
	z.order = resize(z.order, n)
	for i := range z.order {
		z.order[i] = int32(value & 15)
		value >>= 4
	}
	return z.order
}

// rankWords makes z.words the ranking of the nodes whose rows are in z.rows,
// without attributes. Levels begin where z.starts says, or are those of z.cells if
// that is 0.
func (z *Normalizer) rankWords() {
	w, n := &z.words, len(z.rows)
	if z.starts == 0 {
		w.SetCells(z.cells)
		w.Number(z.rows, 0, false)
		return
	}
	small := n <= smallNodes && z.attributed() && z.smallable(n)
	if small {
		if value, _ := z.ranks.findSmall(z, smallRank, 1, nil, z.rows, false); value != 0 {
			z.cells = z.cells[:0]
			for i := range n {
				node := uint64(1) << (value >> (4 * i) & 15)
				if value>>(smallCounts+i)&1 == 1 {
					z.cells = append(z.cells, node)
				} else {
					z.cells[len(z.cells)-1] |= node
				}
			}
			w.SetCells(z.cells)
			return
		}
		small = z.ranks.small != 0
	}
	w.ResetStarts(n, z.starts)
	w.Number(z.rows, 0, false)
	if small {
		value, at := uint64(1<<63), 0
		z.cells = w.AppendCells(z.cells[:0])
		for _, c := range z.cells {
			value |= 1 << (smallCounts + at)
			for ; c != 0; c &= c - 1 {
				value |= uint64(bits.TrailingZeros64(c)) << (4 * at)
				at++
			}
		}
		z.ranks.addSmall(z, value)
	}
}
