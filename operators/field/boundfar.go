package field

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// far holds, for a graph whose edges are asked for, those that the rows of a bound do
// not show: edges between two nodes whose rows are full. Each is in the list of the end
// that comes first. Lists are in the order of a hash of the other end, so that where it
// would be is known but for a few places, and a look at one or two lines of the cache
// tells whether it is there.
type far struct {
	known bool
	first int32     // where the first row is that may be full
	lists []farList // by row from there
	hash  []uint32
	order []uint64 // scratch: hash, and place among the keys
}

// farList says where the hashes of a list are.
type farList struct{ begin, end uint32 }

// farHash scatters the bits of where a row is: it is the finalizer of MurmurHash3
// (Appleby 2011), a bijection.
func farHash(at int32) uint32 {
	x := uint32(at)
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	return x ^ x>>16
}

// full reports whether a row is full: then the node may have more neighbours. Full
// rows are the last ones, each as long as the other; among them are such that would be
// full if no node were joined to another twice.
func (b *bound) full(at int32) bool {
	return at >= b.far.first && b.rows[int(at)*rowUnit+b.most] >= 0
}

// list returns the far list of a row that may be full.
func (b *bound) list(at int32) *farList {
	return &b.far.lists[int(at-b.far.first)/(b.most/rowUnit+1)]
}

// fillFar fills b.far, by hash of the other ends and so without sorting the lists.
func (ix *Index) fillFar() {
	b, f := &ix.bound, &ix.bound.far
	from := len(b.keys)
	for from > 0 && int(b.keys[from-1].degree) >= b.most {
		from--
	}
	b.beginFar(from)
	hash, next := f.hash, b.next
	slices.Sort(f.order)
	for _, x := range f.order {
		v := b.keys[uint32(x)].node
		at, h := uint32(b.at[v]), uint32(x>>32)
		for _, u := range ix.adj.row(v) {
			// An edge that is there twice is entered once.
			if c := farCursor(next[u]); c.at() < at && hash[c.last()] != h {
				hash[c.last()+1] = h
				next[u] = cursor(c + 1)
			}
		}
	}
	for _, key := range b.keys[from:] {
		if c := farCursor(next[key.node]); c != none {
			b.list(b.at[key.node]).end = c.last() + 1
		}
	}
	if len(f.order) > 1<<16 {
		f.order = nil
	}
}

// farCursor is what becomes of a cursor when the rows are filled: where the row of the
// node is, and in the lower half the place of the last entry of its far list so far, at
// first that of the node's own hash, which stands before the list.
type farCursor cursor

// none is the cursor of a node without a far list.
const none = farCursor(math.MaxUint64)

func farCursorAt(at int32, last uint32) farCursor { return farCursor(at)<<32 | farCursor(last) }

func (c farCursor) at() uint32   { return uint32(c >> 32) }
func (c farCursor) last() uint32 { return uint32(c) }

// beginFar decides where the lists are, of nodes from a key on, and makes of their
// cursors those of the lists. A list has room for what the cursor has counted, and for
// what is in the row.
func (b *bound) beginFar(from int) {
	f := &b.far
	for _, key := range b.keys[:from] {
		b.next[key.node] = cursor(none)
	}
	f.first, f.order = int32(len(b.rows)/rowUnit), f.order[:0]
	if from < len(b.keys) {
		f.first = b.at[b.keys[from].node]
	}
	f.lists = scratch.Resize(f.lists, len(b.keys)-from)
	size := uint32(0)
	for i, key := range b.keys[from:] {
		at, c := b.at[key.node], b.next[key.node]
		b.next[key.node], f.lists[i] = cursor(none), farList{size, size}
		f.order = append(f.order, uint64(farHash(at))<<32|uint64(from+i))
		if !c.full() {
			continue
		}
		b.next[key.node] = cursor(farCursorAt(at, size))
		f.lists[i] = farList{size + 1, size + 1}
		size += 1 + uint32(c&(maxBound-1))
		for _, q := range b.rows[int(at)*rowUnit+1:][:b.most] {
			if q > at {
				size++
			}
		}
	}
	f.hash = scratch.Resize(f.hash, int(size))
	for i, x := range f.order {
		if l := f.lists[i]; l.begin > 0 && farCursor(b.next[b.keys[from+i].node]) != none {
			f.hash[l.begin-1] = uint32(x >> 32)
		}
	}
}

// guess is about where a hash is in an ascending list of them.
func guess(list []uint32, hash uint32) int { return int(uint64(hash) * uint64(len(list)) >> 32) }

// holds reports whether a hash is in an ascending list, which is not empty.
func holds(list []uint32, hash uint32) bool {
	i := guess(list, hash)
	for i > 0 && list[i] > hash {
		i--
	}
	for i < len(list)-1 && list[i] < hash {
		i++
	}
	return list[i] == hash
}
