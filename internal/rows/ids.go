package rows

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"
)

// IDs is a set of ids of nodes, 0 … 2³¹-1. The number of a node is the rank of its id in ascending order. If
// the largest id is at most a million plus 16 for each edge, the set is a bit for each id up to it, with the
// number of bits before each 64. Otherwise it is a hash table of 16 to 32 bytes for each id.
type IDs struct {
	n           int
	first, last int32

	words []word // dense

	keys  []int32 // sparse: a power of two of slots, -1 for an empty one
	ranks []int32
	list  []int32 // ascending
}

// word is the bits of 64 ids.
type word struct {
	has    uint64
	before uint32 // ids in the words before
}

// dense returns the bound of the largest id of a bit set.
func dense(names int) int64 { return 1<<20 + 16*int64(names) }

// Marks is a bit for each id of some edges. A reader sets them while it makes the edges, which are then in
// the nearest cache. Ids far larger than the number of edges disable it.
type Marks struct {
	has   []uint64
	top   int32
	edges int
	lost  bool                    // an id was too large
	Take  func(bytes int64) error // if set, charged with memory before it is allocated
}

// Add marks the ids of a list.
func (m *Marks) Add(list []Edge) error {
	m.edges += len(list)
	for _, x := range list {
		m.top = max(m.top, x.U, x.V)
	}
	if most := max(1<<25, dense(m.edges)); m.lost || int64(m.top) >= most {
		m.has, m.lost = nil, true
		return nil
	}
	if words := int(m.top)/64 + 1; words > len(m.has) {
		words = max(words, 2*len(m.has))
		if m.Take != nil {
			if err := m.Take(8 * int64(words-len(m.has))); err != nil {
				return err
			}
		}
		has := make([]uint64, words)
		copy(has, m.has)
		m.has = has
	}
	has := m.has
	for _, x := range list {
		has[x.U>>6] |= 1 << (x.U & 63)
		has[x.V>>6] |= 1 << (x.V & 63)
	}
	return nil
}

// IDs returns the set of the ids of the edges.
func (e *Edges) IDs() (*IDs, error) {
	names, top := e.Len(), int32(-1)
	shares, lost := e.shares(e.workers(names)), e.Marks == nil
	for _, m := range e.Marks {
		if lost = lost || m.lost; m.edges > 0 {
			top = max(top, m.top)
		}
	}
	if e.Marks == nil {
		tops := make([]int32, len(shares))
		if err := each(shares, func(i int, share [][]Edge) error {
			return e.pieces(share, func(list []Edge) {
				for _, x := range list {
					tops[i] = max(tops[i], x.U, x.V)
				}
			})
		}); err != nil {
			return nil, err
		}
		if names > 0 {
			top = slices.Max(tops)
		}
	}
	s := &IDs{first: -1, last: -1}
	if top < 0 {
		return s, nil
	}
	if int64(top) < dense(names) {
		return s, s.mark(e, shares, lost, top)
	}
	return s, s.hash(e)
}

// mark fills words, from the marks unless they are lost.
func (s *IDs) mark(e *Edges, shares [][][]Edge, lost bool, top int32) error {
	count := int(top)/64 + 1
	if err := e.take(16 * int64(count)); err != nil {
		return err
	}
	s.words = make([]word, count)
	set := func(id int32) {
		// Most bits are set already, and are not written again.
		w, bit := &s.words[id>>6].has, uint64(1)<<(id&63)
		if atomic.LoadUint64(w)&bit == 0 {
			atomic.OrUint64(w, bit)
		}
	}
	if lost {
		if err := each(shares, func(_ int, share [][]Edge) error {
			return e.pieces(share, func(list []Edge) {
				for _, x := range list {
					set(x.U)
					set(x.V)
				}
			})
		}); err != nil {
			return err
		}
	} else {
		for _, m := range e.Marks {
			for i, has := range m.has[:min(len(m.has), count)] {
				s.words[i].has |= has
			}
			e.give(8 * int64(len(m.has)))
			m.has = nil
		}
	}
	for i := range s.words {
		w := &s.words[i]
		w.before = uint32(s.n)
		if w.has != 0 {
			if s.n == 0 {
				s.first = int32(64*i + bits.TrailingZeros64(w.has))
			}
			s.last = int32(64*i + 63 - bits.LeadingZeros64(w.has))
			s.n += bits.OnesCount64(w.has)
		}
	}
	return nil
}

// hash fills keys, list and ranks.
func (s *IDs) hash(e *Edges) error {
	if err := s.grow(e, 1<<10); err != nil {
		return err
	}
	add := func(ids ...int32) error {
		if 2*(s.n+len(ids)) > len(s.keys) {
			if err := s.grow(e, 2*len(s.keys)); err != nil {
				return err
			}
		}
		for _, id := range ids {
			if at := s.slot(id); s.keys[at] < 0 {
				s.keys[at] = id
				s.n++
			}
		}
		return nil
	}
	var failed error
	for _, list := range e.Lists {
		if err := e.pieces([][]Edge{list}, func(list []Edge) {
			for _, x := range list {
				if failed == nil {
					failed = add(x.U, x.V)
				}
			}
		}); err != nil || failed != nil {
			return cmp.Or(err, failed)
		}
	}
	if err := e.take(4*int64(s.n) + 4*int64(len(s.keys))); err != nil {
		return err
	}
	s.list, s.ranks = make([]int32, 0, s.n), make([]int32, len(s.keys))
	for _, id := range s.keys {
		if id >= 0 {
			s.list = append(s.list, id)
		}
	}
	slices.Sort(s.list)
	for i, id := range s.list {
		s.ranks[s.slot(id)] = int32(i)
	}
	s.first, s.last = s.list[0], s.list[s.n-1]
	return nil
}

// grow doubles the table.
func (s *IDs) grow(e *Edges, size int) error {
	if err := e.take(4 * int64(size)); err != nil {
		return err
	}
	old := s.keys
	s.keys = make([]int32, size)
	for i := range s.keys {
		s.keys[i] = -1
	}
	for _, id := range old {
		if id >= 0 {
			s.keys[s.slot(id)] = id
		}
	}
	e.give(4 * int64(len(old)))
	return nil
}

// slot returns the slot of an id, or the empty slot for it.
func (s *IDs) slot(id int32) int {
	mask := len(s.keys) - 1
	at := int(uint64(uint32(id)) * 0x9e3779b97f4a7c15 >> 32 & uint64(mask))
	for s.keys[at] >= 0 && s.keys[at] != id {
		at = (at + 1) & mask
	}
	return at
}

// Len returns the number of ids.
func (s *IDs) Len() int { return s.n }

// First and Last return the smallest and the largest id, or -1 for an empty set.
func (s *IDs) First() int32 { return s.first }
func (s *IDs) Last() int32  { return s.last }

// List returns all ids, ascending.
func (s *IDs) List() []int64 {
	list := make([]int64, 0, s.n)
	for _, id := range s.list {
		list = append(list, int64(id))
	}
	for i, w := range s.words {
		for ; w.has != 0; w.has &= w.has - 1 {
			list = append(list, int64(64*i+bits.TrailingZeros64(w.has)))
		}
	}
	return list
}

// Renumber replaces each id by its rank when Rows first reads it.
func (e *Edges) Renumber(s *IDs) {
	e.rename = func(list []Edge) {
		if s.words != nil {
			for i, x := range list {
				list[i] = Edge{U: s.rank(x.U), V: s.rank(x.V)}
			}
			return
		}
		for i, x := range list {
			list[i] = Edge{U: s.ranks[s.slot(x.U)], V: s.ranks[s.slot(x.V)]}
		}
	}
}

// rank returns the rank of an id of a dense set.
func (s *IDs) rank(id int32) int32 {
	w := s.words[id>>6]
	return int32(w.before) + int32(bits.OnesCount64(w.has&(1<<(id&63)-1)))
}

// Rank replaces each number by its rank when Rows first reads it.
func (e *Edges) Rank(rank []int32) {
	e.rename = func(list []Edge) {
		for i, x := range list {
			list[i] = Edge{U: rank[x.U], V: rank[x.V]}
		}
	}
}

// Shift subtracts a number from each id when Rows first reads it.
func (e *Edges) Shift(by int32) {
	e.rename = func(list []Edge) {
		for i, x := range list {
			list[i] = Edge{U: x.U - by, V: x.V - by}
		}
	}
}
