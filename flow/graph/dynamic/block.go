package dynamic

import (
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

const (
	blockNodes = 64  // nodes of a block
	dirBlocks  = 512 // blocks of a directory
)

// directory is a part of the table of blocks. Directories and blocks that are older than
// the epoch of the graph belong to a snapshot too, and are copied before they change.
type directory struct {
	epoch  uint64
	blocks [dirBlocks]*block // nil if the nodes have no edges, attributes and classes
}

// block holds what belongs to some nodes.
type block struct {
	epoch uint64
	rows
	in    rows // of a directed graph: the tails of the arcs that arrive
	cat   []int32
	attr  []float32
	class []int32 // nil where none is known
}

// rows is the adjacency of the nodes of a block, in compressed sparse rows.
type rows struct {
	ends  [blockNodes]int32
	items []int32
	more  []int32 // occurrences besides the first, by item; nil if there are none
	cats  []int32
	attrs []float32
}

func (r *rows) bounds(v int32) (begin, end int32) {
	if v %= blockNodes; v > 0 {
		begin = r.ends[v-1]
	}
	return begin, r.ends[v]
}

func (r *rows) row(v int32) []int32 {
	begin, end := r.bounds(v)
	return r.items[begin:end:end]
}

// find returns the place of u in the row of v, or where it belongs.
func (r *rows) find(v, u int32) (at int, found bool) {
	begin, end := r.bounds(v)
	at, found = slices.BinarySearch(r.items[begin:end], u)
	return int(begin) + at, found
}

func (r *rows) shift(v, by int32) {
	for i := v % blockNodes; i < blockNodes; i++ {
		r.ends[i] += by
	}
}

// insert makes room for n values at a place. Memory grows by an eighth.
func insert[T any](s []T, at, n int) []T {
	if need := len(s) + n; need > cap(s) {
		s = append(make([]T, 0, need+need/8+4), s...)
	}
	s = s[:len(s)+n]
	copy(s[at+n:], s[at:])
	clear(s[at : at+n])
	return s
}

// remove takes n values from a place. Memory of which half is empty is given back.
func remove[T any](s []T, at, n int) []T {
	s = slices.Delete(s, at, at+n)
	if cap(s) > 2*len(s)+8 {
		s = slices.Clone(s)
	}
	return s
}

func (b *block) clone(epoch uint64) *block {
	c := *b
	c.epoch = epoch
	c.rows, c.in = b.rows.clone(), b.in.clone()
	c.cat, c.attr, c.class = slices.Clone(b.cat), slices.Clone(b.attr), slices.Clone(b.class)
	return &c
}

func (r rows) clone() rows {
	r.items, r.more = slices.Clone(r.items), slices.Clone(r.more)
	r.cats, r.attrs = slices.Clone(r.cats), slices.Clone(r.attrs)
	return r
}

var noBlock block

// View is the current graph, or the graph at the time of a snapshot. A snapshot can be read by any number of
// goroutines. Slices that its methods return are borrowed from it.
type View struct {
	settings Settings
	n, m     int
	dirs     []*directory
}

func (s *View) block(v int32) *block {
	if d := s.dirs[v/(blockNodes*dirBlocks)]; d != nil {
		if b := d.blocks[v/blockNodes%dirBlocks]; b != nil {
			return b
		}
	}
	return &noBlock
}

// N returns the number of nodes.
func (s *View) N() int { return s.n }

// M returns the number of edges, or arcs, each counted once however often it occurs.
func (s *View) M() int { return s.m }

// Adj returns the neighbours of v, ascending; of a directed graph the heads of the arcs
// that leave it.
func (s *View) Adj(v int32) []int32 { return s.block(v).row(v) }

// In returns, for a directed graph, the tails of the arcs that arrive at v, ascending.
func (s *View) In(v int32) []int32 { return s.block(v).in.row(v) }

// Occurrences returns how often the edge u–v, or the arc u→v, occurs in the graph.
func (s *View) Occurrences(u, v int32) int {
	b := s.block(u)
	at, ok := b.find(u, v)
	switch {
	case !ok:
		return 0
	case b.more == nil:
		return 1
	}
	return 1 + int(b.more[at])
}

// Node returns the attributes of v; nil if all are zeros.
func (s *View) Node(v int32) (cat []int32, attr []float32) {
	b, i := s.block(v), int(v%blockNodes)
	return values(b.cat, i, s.settings.NodeCats), values(b.attr, i, s.settings.NodeAttrs)
}

// Class returns the class of v, or -1.
func (s *View) Class(v int32) int32 {
	if b := s.block(v); b.class != nil {
		return b.class[v%blockNodes]
	}
	return -1
}

func values[T any](x []T, i, width int) []T {
	if len(x) == 0 {
		return nil
	}
	return x[i*width : (i+1)*width : (i+1)*width]
}

// Graph returns the snapshot in compressed sparse rows, as a copy. O(n + m).
func (s *View) Graph() *graph.Graph {
	w := &s.settings
	g := &graph.Graph{
		Offsets: make([]int32, 1, s.n+1), NodeCats: w.NodeCats, NodeAttrs: w.NodeAttrs,
		EdgeCats: w.EdgeCats, EdgeAttrs: w.EdgeAttrs, Directed: w.Directed,
		NodeCat: make([]int32, s.n*w.NodeCats), NodeAttr: make([]float32, s.n*w.NodeAttrs),
	}
	for v := range int32(s.n) {
		b := s.block(v)
		begin, end := b.bounds(v)
		g.Neighbors = append(g.Neighbors, b.items[begin:end]...)
		g.EdgeCat = append(g.EdgeCat, b.cats[int(begin)*w.EdgeCats:int(end)*w.EdgeCats]...)
		g.EdgeAttr = append(g.EdgeAttr, b.attrs[int(begin)*w.EdgeAttrs:int(end)*w.EdgeAttrs]...)
		g.Offsets = append(g.Offsets, int32(len(g.Neighbors)))
		cat, attr := s.Node(v)
		copy(g.NodeCat[int(v)*w.NodeCats:], cat)
		copy(g.NodeAttr[int(v)*w.NodeAttrs:], attr)
	}
	return g
}

// Bytes is the memory that s takes, alone: rows, attributes, classes, and the room in
// them that is empty.
func (s *View) Bytes() int64 {
	sum := int64(8 * cap(s.dirs))
	of := func(r *rows) int { return 4 * (cap(r.items) + cap(r.more) + cap(r.cats) + cap(r.attrs)) }
	for _, d := range s.dirs {
		if d == nil {
			continue
		}
		sum += 8 + 8*dirBlocks
		for _, b := range d.blocks {
			if b != nil {
				sum += int64(blockBytes + of(&b.rows) + of(&b.in) + 4*(cap(b.cat)+cap(b.attr)+cap(b.class)))
			}
		}
	}
	return sum
}
