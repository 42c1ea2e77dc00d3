package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/rooms"
)

// dynamicIndex is the index of a changing graph, whose rows it shares. A change costs O(d log d) in
// the degrees d of its nodes. Fields equal, byte for byte, those of an Index of the same graph.
// Other goroutines may not use it during a change.
type dynamicIndex struct {
	ix    Index
	g     *dynamic.Graph
	short rooms.Rows
}

// newDynamicIndex returns the index of g. The caller reports each later change of g. O(n + m log
// m).
func newDynamicIndex(g *dynamic.Graph, dir Direction) *dynamicIndex {
	d := &dynamicIndex{g: g}
	_, _, flat := g.Rows()
	if flat.Directed || flat.EdgeCats+flat.EdgeAttrs > 0 { // an entry of short then needs the direction of its arc
		d.short.Cats = 1
	}
	d.ix.g, d.ix.dir, d.ix.level = &flat, dir, []uint8{}
	d.Grow()
	for v := range int32(g.N()) {
		d.ix.level[v] = uint8(max(0, bits.Len(uint(d.ix.degree(v)))-1))
	}
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			if flat.Directed || v < u {
				d.list(v, u, before(d.ix.level[v], d.ix.level[u], v, u))
			}
		}
	}
	d.share()
	return d
}

// Index returns the current index for Assemble and Normalize, borrowed until the next change.
func (d *dynamicIndex) Index() *Index {
	return &d.ix
}

// share copies the slices of the rows to the index, since a change can move them.
func (d *dynamicIndex) share() {
	out, in, attributes := d.g.Rows()
	*d.ix.g = attributes
	d.ix.adj, d.ix.short = adjacency{out.Begin, out.End, out.Items}, adjacency{d.short.Begin, d.short.End, d.short.Items}
	d.ix.in, d.ix.entry = adjacency{in.Begin, in.End, in.Items}, d.short.Cat
}

// Grow follows new nodes, and attributes that moved.
func (d *dynamicIndex) Grow() {
	n := d.g.N()
	d.short.Grow(n)
	d.ix.level = append(d.ix.level, make([]uint8, n-len(d.ix.level))...)
	d.share()
}

// Add follows an edge, or an arc, that has been added.
func (d *dynamicIndex) Add(u, v int32) {
	d.list(u, v, before(d.ix.level[u], d.ix.level[v], u, v))
	d.share()
	d.relevel(u)
	d.relevel(v)
}

// Remove follows an edge, or an arc, that has been removed.
func (d *dynamicIndex) Remove(u, v int32) {
	d.unlist(u, v, before(d.ix.level[u], d.ix.level[v], u, v))
	d.share()
	d.relevel(u)
	d.relevel(v)
}

// list adds the edge u–v, or the arc u→v, to the short list of its owner: u if ofU is set, else v.
func (d *dynamicIndex) list(u, v int32, ofU bool) {
	if !ofU {
		u, v = v, u
	}
	e := d.short.Insert(u, v)
	if d.short.Cats > 0 {
		d.short.Cat[e] = 0
		if d.ix.g.Directed && !ofU {
			d.short.Cat[e] = -1
		}
	}
}

// unlist removes an edge or arc from the short list to which list has added it.
func (d *dynamicIndex) unlist(u, v int32, ofU bool) {
	if !ofU {
		u, v = v, u
	}
	e := d.short.Find(u, v)
	if d.ix.g.Directed && (d.short.Cat[e] == 0) != ofU {
		e++ // the arc of the other direction is the entry before or behind
		if e == d.short.End[u] || d.short.Items[e] != v {
			e -= 2
		}
	}
	d.short.Remove(u, e)
}

// relevel updates the level of v if its degree has left the range of the level, and moves the edges
// whose owner changes. The ranges of adjacent levels overlap, so a change costs O(log d) on
// average.
func (d *dynamicIndex) relevel(v int32) {
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
	move := func(u, w int32) { // v is u or w
		other := u + w - v
		was, is := before(old, d.ix.level[other], v, other), before(level, d.ix.level[other], v, other)
		if was != is {
			d.unlist(u, w, was == (u == v))
			d.list(u, w, is == (u == v))
		}
	}
	for _, w := range d.g.Adj(v) {
		move(v, w)
	}
	for _, u := range d.g.In(v) {
		move(u, v)
	}
	d.ix.level[v] = level
	d.share()
}

// before reports whether u, at level a, owns its edge to v, at level b.
func before(a, b uint8, u, v int32) bool { return a < b || a == b && u < v }

// lookUp is listed for a changing graph whose edges have attributes. Positions of entries move with
// each change, so entry stores the direction only.
func (ix *Index) lookUp(u, e int32) int32 {
	v := ix.short.items[e]
	if ix.entry[e] == 0 {
		return ix.adj.find(u, v)
	}
	return ^ix.adj.find(v, u)
}
