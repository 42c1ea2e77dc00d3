package field

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// memo stores the orders of problems in a Cache, and decides when a lookup does not pay. Both
// engines use it.
type memo struct {
	windows [2][7]window // 0 for whole problems, 1 for parts; then by the bit length of the number of nodes
	value   []uint64
	packed  []uint64
}

// window counts the hits of the last lookups of problems of one size.
type window struct {
	lookups, hits int
	poor          int // successive windows with few hits
	skip          int // number of problems to pass without a lookup
}

// A lookup and an entry cost some per cent of a field. If fewer than 1 of memoRatio problems of a
// window was found, memo makes no lookups for 1, 3, 7, 15 and then memoPause windows. The
// first memoFirst windows do not count, since the cache may still be empty. Small problems recur
// more often than large ones, so each size has its own window.
const (
	memoWindow = 64
	memoRatio  = 8
	memoFirst  = 4
	memoPause  = 31
)

// end starts the next window. After memoFirst windows with few hits, it sets skip.
func (w *window) end() {
	if w.hits*memoRatio >= memoWindow {
		w.poor = min(w.poor, memoFirst)
	} else if w.poor++; w.poor > memoFirst {
		w.skip = memoWindow * min(1<<min(w.poor-memoFirst, 8)-1, memoPause)
	}
	w.lookups, w.hits = 0, 0
}

// find returns the stored order of the first k nodes of p, or nil: a word of counts, then the
// nodes, one byte each. It excludes problems of more than 64 nodes or with sparse attributes,
// which seldom recur, and other labelings, which may depend on anything.
func (m *memo) find(z *Normalizer, p *problem, k int) []uint64 {
	n := len(p.nodes)
	p.hash = 0
	if z.Cache == nil || n > maxWords || p.nodeAttrs && p.g.SparseCard > 0 || !z.lists.refines() {
		return nil
	}
	part := 0
	if p == &z.part {
		part = 1
	}
	w := &m.windows[part][bits.Len(uint(n-1))]
	if w.skip > 0 {
		w.skip--
		return nil
	}
	p.writeKey(z, min(k, n))
	if !p.onWords {
		m.appendArcs(p)
	}
	p.hash = hashOf(p.key)
	z.Stats.CacheLookups++
	value := z.Cache.find(p.hash, p.key)
	if value != nil {
		z.Stats.CacheHits++
		w.hits++
	}
	if w.lookups++; w.lookups == memoWindow {
		w.end()
	}
	return value
}

// writeKey sets p.key to all that the order of the first k nodes depends on, except the arcs of a
// problem on lists. The first word describes the layout of the others.
func (p *problem) writeKey(z *Normalizer, k int) {
	n := len(p.nodes)
	head := uint64(n-1) | uint64(k-1)<<6
	starts := p.starts
	if !p.onWords {
		starts = refine.Starts(p.dist)
	}
	key := append(p.key[:0], 0)
	if n <= shortLevels {
		head |= starts >> 1 << (65 - shortLevels)
	} else {
		key = append(key, starts)
	}
	if p.onWords {
		head |= 1 << 12
		key = appendTriangle(key, p.rows)
	}
	if p.types != nil {
		head |= 1 << 13
		key = p.appendTypes(key)
	}
	if p.g.Directed {
		head |= 1 << 14
	}
	if z.Uniform {
		head |= 1 << 15
	}
	if types := p.nodeTypes(); types != nil {
		bytes := false
		if key, bytes = appendBytes(key, types); bytes {
			head |= 1 << 17
		} else {
			head |= 1 << 18
			for _, t := range types {
				key = append(key, uint64(t))
			}
		}
	}
	key[0] = head
	p.key = key
}

// shortLevels is the largest number of nodes whose levels fit the first word beside its 19 other
// bits.
const shortLevels = 46

// appendTriangle appends the bits below the diagonal of a symmetric matrix.
func appendTriangle(key, rows []uint64) []uint64 {
	word, used := uint64(0), 0
	for i, row := range rows {
		row &= 1<<i - 1
		word |= row << (used & 63)
		if used += i; used >= 64 {
			key = append(key, word)
			used -= 64
			word = row >> ((i - used) & 63)
		}
	}
	return append(key, word)
}

// appendTypes appends the types of the edges, one byte each.
func (p *problem) appendTypes(key []uint64) []uint64 {
	word, n := uint64(0), 0
	for i, set := range p.rows {
		types := p.types[i<<6:][:maxWords]
		for m := set & (1<<i - 1); m != 0; m &= m - 1 {
			word = word<<8 | uint64(types[bits.TrailingZeros64(m)&63])
			if n++; n%8 == 0 {
				key = append(key, word)
				word = 0
			}
		}
	}
	return append(key, word)
}

// appendBytes appends the types of the nodes, one byte each. It returns false if a type does not
// fit.
func appendBytes(key []uint64, types []int32) (longer []uint64, ok bool) {
	begin := len(key)
	word, all := uint64(0), uint32(0)
	for i, t := range types {
		all |= uint32(t)
		word = word<<8 | uint64(uint32(t))
		if i%8 == 7 {
			key = append(key, word)
			word = 0
		}
	}
	if all > 255 {
		return key[:begin], false
	}
	return append(key, word), true
}

// appendArcs appends the arcs with their types, sorted, since the order of p.arcs depends on the
// rest of the graph.
func (m *memo) appendArcs(p *problem) {
	types, _ := p.arcTypes()
	m.packed = m.packed[:0]
	for i, e := range p.arcs {
		a, b := e.a, e.b
		if !p.g.Directed {
			a, b = max(a, b), min(a, b)
		}
		m.packed = append(m.packed, uint64(a)<<48|uint64(b)<<32|uint64(types[i]))
	}
	slices.Sort(m.packed)
	p.key = append(p.key, m.packed...)
}

// add stores the order of a problem that find missed, and the counts since before.
func (m *memo) add(z *Normalizer, p *problem, before *Stats, order []int32) {
	if p.hash == 0 {
		return
	}
	counts, ok := packCounts(before, &z.Stats)
	if !ok {
		return
	}
	m.value = append(m.value[:0], counts)
	for i, v := range order {
		if i%8 == 0 {
			m.value = append(m.value, 0)
		}
		m.value[len(m.value)-1] |= uint64(v) << (i % 8 * 8)
	}
	z.Cache.add(p.hash, p.key, m.value)
}

// unpackOrder writes the n nodes of a value to order.
func unpackOrder(order []int32, value []uint64, n int) []int32 {
	order = scratch.Resize(order, n)
	word := uint64(0)
	for i := range order {
		if i%8 == 0 {
			word = value[1+i/8]
		}
		order[i] = int32(uint8(word))
		word >>= 8
	}
	return order
}

// packCounts packs the counts since before into a word, one byte each without Fields. It returns
// false if a count does not fit.
func packCounts(before, after *Stats) (packed uint64, ok bool) {
	var all uint64
	for i, d := range [...]int64{
		after.Searches - before.Searches, after.Leaves - before.Leaves, after.CropFallback - before.CropFallback,
		after.Canon - before.Canon, after.Refined - before.Refined, after.Partial - before.Partial,
	} {
		all |= uint64(d)
		packed |= uint64(d) << (8 * i)
	}
	return packed, all <= math.MaxUint8
}

// addPacked adds the counts of a packed word.
func (s *Stats) addPacked(packed uint64) {
	s.Searches += int64(packed & 255)
	s.Leaves += int64(packed >> 8 & 255)
	s.CropFallback += int64(packed >> 16 & 255)
	s.Canon += int64(packed >> 24 & 255)
	s.Refined += int64(packed >> 32 & 255)
	s.Partial += int64(packed >> 40 & 255)
}
