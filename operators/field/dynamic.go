package field

import (
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// DynamicIndex is the index of a changing graph. A change costs O(d log d) in the degrees d of
// its nodes and rebuilds nothing. Fields made from it equal, byte for byte, those of an Index
// of the same graph. It keeps a copy of the rows, up to half of each row empty. Other
// goroutines may not use it during a change.
type DynamicIndex struct {
	ix    Index
	g     graph.Graph // attributes; EdgeCat and EdgeAttr go with adj.items
	adj   slots
	in    slots
	short slots
	bound int
	moved bool // the bound is not that of the graph as it is
}

// NewDynamicIndex returns the index of g, which it copies. The number of attributes and the
// direction of g stay fixed. O(n + m log m).
func NewDynamicIndex(g *graph.Graph, dir Direction) *DynamicIndex {
	d := &DynamicIndex{g: graph.Graph{NodeCats: g.NodeCats, NodeAttrs: g.NodeAttrs, EdgeCats: g.EdgeCats, EdgeAttrs: g.EdgeAttrs, Directed: g.Directed}}
	d.adj.cat, d.adj.cats = &d.g.EdgeCat, g.EdgeCats
	d.adj.attr, d.adj.attrs = &d.g.EdgeAttr, g.EdgeAttrs
	if d.keepsEntries() {
		d.short.cat, d.short.cats = &d.ix.entry, 1
	}
	d.ix.g, d.ix.dir, d.ix.level = &d.g, dir, []uint8{}
	d.ix.most = 4
	d.Grow(g.N())
	d.share()
	for v := range int32(g.N()) {
		d.SetNode(v, row(g.NodeCat, v, g.NodeCats), row(g.NodeAttr, v, g.NodeAttrs))
		for i, u := range g.Adj(v) {
			if e := g.Offsets[v] + int32(i); g.Directed || v < u {
				d.Add(v, u, row(g.EdgeCat, e, g.EdgeCats), row(g.EdgeAttr, e, g.EdgeAttrs))
			}
		}
	}
	return d
}

// keepsEntries tells whether a short list says more than which nodes are in it.
func (d *DynamicIndex) keepsEntries() bool { return d.g.Directed || d.g.EdgeCats+d.g.EdgeAttrs > 0 }

// Index returns the current index for Assemble and Normalize, borrowed until the next change.
func (d *DynamicIndex) Index() *Index {
	if d.moved && d.bound > 0 {
		d.SetBound(d.bound)
	}
	return &d.ix
}

// SetBound bounds the neighbourhoods of the index as Index.SetBound does; 0 is no bound. The ranks of all nodes are
// computed again, in O(n log n + m), when Index is called after a change.
func (d *DynamicIndex) SetBound(most int) {
	d.ix.SetBound(most)
	d.bound, d.moved = most, false
}

// share hands the rows to the index.
func (d *DynamicIndex) share() {
	d.ix.adj, d.ix.in, d.ix.short = d.adj.adjacency, d.in.adjacency, d.short.adjacency
}

// Grow adds nodes without edges and with zero attributes, up to n nodes in all.
func (d *DynamicIndex) Grow(n int) {
	more := n - d.ix.N()
	if more <= 0 {
		return
	}
	d.adj.grow(more)
	d.short.grow(more)
	if d.g.Directed {
		d.in.grow(more)
	}
	d.ix.level = append(d.ix.level, make([]uint8, more)...)
	d.g.NodeCat = append(d.g.NodeCat, make([]int32, more*d.g.NodeCats)...)
	d.g.NodeAttr = append(d.g.NodeAttr, make([]float32, more*d.g.NodeAttrs)...)
	d.share()
	d.moved = true
}

// SetNode sets the attributes of v; nil means zeros.
func (d *DynamicIndex) SetNode(v int32, cat []int32, attr []float32) {
	set(row(d.g.NodeCat, v, d.g.NodeCats), cat)
	set(row(d.g.NodeAttr, v, d.g.NodeAttrs), attr)
	d.moved = true
}

// SetEdge sets the attributes of an edge that is present.
func (d *DynamicIndex) SetEdge(u, v int32, cat []int32, attr []float32) {
	d.setEntry(d.adj.find(u, v), cat, attr)
	if !d.g.Directed {
		d.setEntry(d.adj.find(v, u), cat, attr)
	}
	d.moved = true
}

func (d *DynamicIndex) setEntry(e int32, cat []int32, attr []float32) {
	set(row(d.g.EdgeCat, e, d.g.EdgeCats), cat)
	set(row(d.g.EdgeAttr, e, d.g.EdgeAttrs), attr)
}

// set copies values, or zeros if there are none.
func set[T any](to, from []T) { clear(to[copy(to, from):]) }

// Add adds an edge, or an arc, that is absent.
func (d *DynamicIndex) Add(u, v int32, cat []int32, attr []float32) {
	d.setEntry(d.adj.insert(u, v), cat, attr)
	if d.g.Directed {
		d.in.insert(v, u)
	} else {
		d.setEntry(d.adj.insert(v, u), cat, attr)
	}
	d.list(u, v, before(d.ix.level[u], d.ix.level[v], u, v))
	d.share()
	d.relevel(u)
	d.relevel(v)
	d.moved = true
}

// Remove removes an edge, or an arc, that is present.
func (d *DynamicIndex) Remove(u, v int32) {
	d.unlist(u, v, before(d.ix.level[u], d.ix.level[v], u, v))
	d.adj.remove(u, d.adj.find(u, v))
	if d.g.Directed {
		d.in.remove(v, d.in.find(v, u))
	} else {
		d.adj.remove(v, d.adj.find(v, u))
	}
	d.share()
	d.relevel(u)
	d.relevel(v)
	d.moved = true
}

// list puts the edge u–v, or the arc u→v, into the short list of one end.
func (d *DynamicIndex) list(u, v int32, ofU bool) {
	if !ofU {
		u, v = v, u
	}
	e := d.short.insert(u, v)
	d.ix.longest = max(d.ix.longest, d.short.degree(u))
	if d.keepsEntries() {
		d.ix.entry[e] = 0
		if d.g.Directed && !ofU {
			d.ix.entry[e] = -1
		}
	}
}

// unlist undoes list.
func (d *DynamicIndex) unlist(u, v int32, ofU bool) {
	if !ofU {
		u, v = v, u
	}
	e := d.short.find(u, v)
	if d.g.Directed && (d.ix.entry[e] == 0) != ofU {
		e++ // the arc of the other direction stands before it or behind
		if e == d.short.end[u] || d.short.items[e] != v {
			e -= 2
		}
	}
	d.short.remove(u, e)
}

// relevel moves the level of v where its degree has left it, and with it the edges
// that have another owner now. Levels overlap, so this costs O(log d) a change in the
// mean.
func (d *DynamicIndex) relevel(v int32) {
	old, degree := d.ix.level[v], d.ix.degree(v)
	level := old
	for level < 31 && degree >= 2<<level {
		level++
	}
	for level > 0 && degree < 1<<level/2 {
		level--
	}
	if level == old {
		return
	}
	move := func(u, w int32) { // v is one of both
		other := u + w - v
		was, is := before(old, d.ix.level[other], v, other), before(level, d.ix.level[other], v, other)
		if was != is {
			d.unlist(u, w, was == (u == v))
			d.list(u, w, is == (u == v))
		}
	}
	for _, w := range d.adj.row(v) {
		move(v, w)
	}
	if d.g.Directed {
		for _, u := range d.in.row(v) {
			move(u, v)
		}
	}
	d.ix.level[v] = level
	d.share()
}

// before tells whether u, at level a, owns its edge to v, at level b.
func before(a, b uint8, u, v int32) bool { return a < b || a == b && u < v }

// lookUp is listed for a graph whose edges have attributes: entries move with each change,
// so only the direction is kept.
func (ix *Index) lookUp(u, e int32) int32 {
	v := ix.short.items[e]
	if ix.entry[e] == 0 {
		return ix.adj.find(u, v)
	}
	return ^ix.adj.find(v, u)
}

// slots is an adjacency in which every row has room for some more entries. Rooms have
// sizes of 1, 2, 3, 4, 6, 8, 12, …; a row that leaves its size moves to another room, and
// the old one is kept for rows of that size. Values that go with the items are moved along.
type slots struct {
	adjacency
	cat         *[]int32
	attr        *[]float32
	cats, attrs int
	free        [64][]int32 // rooms, by sizes
}

// sizeClass numbers the rooms by size: that of n entries.
func sizeClass(n int) int {
	if n <= 2 {
		return n
	}
	b := bits.Len(uint(n - 1)) // 2^(b-1) < n ≤ 2^b
	class := 2 * b
	if n <= 3<<(b-2) {
		class--
	}
	return class
}

// roomOf returns the size of a room of a class, as sizeClass numbers them.
func roomOf(class int) int {
	if class <= 2 {
		return class
	}
	b := (class + 1) / 2
	if class&1 == 1 {
		return 3 << (b - 2)
	}
	return 1 << b
}

func (s *slots) grow(n int) {
	s.begin, s.end = append(s.begin, make([]int32, n)...), append(s.end, make([]int32, n)...)
}

// take returns the place of a free room.
func (s *slots) take(class int) int32 {
	if f := s.free[class]; len(f) > 0 {
		s.free[class] = f[:len(f)-1]
		return f[len(f)-1]
	}
	at, size := len(s.items), roomOf(class)
	s.items = append(s.items, make([]int32, size)...)
	if s.cats > 0 {
		*s.cat = append(*s.cat, make([]int32, size*s.cats)...)
	}
	if s.attrs > 0 {
		*s.attr = append(*s.attr, make([]float32, size*s.attrs)...)
	}
	return int32(at)
}

// move copies n entries from one place to another.
func (s *slots) move(to, from, n int32) {
	copy(s.items[to:to+n], s.items[from:])
	if w := int32(s.cats); w > 0 {
		copy((*s.cat)[to*w:(to+n)*w], (*s.cat)[from*w:])
	}
	if w := int32(s.attrs); w > 0 {
		copy((*s.attr)[to*w:(to+n)*w], (*s.attr)[from*w:])
	}
}

// insert puts v into the row of u, which ascends, and returns its place.
func (s *slots) insert(u, v int32) int32 {
	i, _ := slices.BinarySearch(s.row(u), v)
	begin, n, at := s.begin[u], s.end[u]-s.begin[u], int32(i)
	from := begin
	if old, class := sizeClass(int(n)), sizeClass(int(n+1)); old != class {
		begin = s.take(class)
		s.move(begin, from, at)
		s.release(old, from)
	}
	s.move(begin+at+1, from+at, n-at)
	s.items[begin+at] = v
	s.begin[u], s.end[u] = begin, begin+n+1
	return begin + at
}

// remove takes the entry at place e from the row of u.
func (s *slots) remove(u, e int32) {
	begin, end := s.begin[u], s.end[u]
	n := end - begin
	s.move(e, e+1, end-e-1)
	if old, class := sizeClass(int(n)), sizeClass(int(n-1)); old != class {
		to := int32(0)
		if class > 0 {
			to = s.take(class)
			s.move(to, begin, n-1)
		}
		s.release(old, begin)
		begin = to
	}
	s.begin[u], s.end[u] = begin, begin+n-1
}

// release gives a room back.
func (s *slots) release(class int, at int32) {
	if class > 0 {
		s.free[class] = append(s.free[class], at)
	}
}
