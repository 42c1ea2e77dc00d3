package dynamic

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
)

const (
	defaultNodes = 1 << 26
	mostTimes    = 1 << 30 // that an edge occurs
)

const blockBytes = int(unsafe.Sizeof(block{}))

// Settings describe the graph. The zero value is an undirected graph without attributes and without
// a window.
type Settings struct {
	Directed bool
	// The numbers of discrete and of continuous attributes of nodes and of edges.
	NodeCats, NodeAttrs, EdgeCats, EdgeAttrs int
	// Last keeps the last so many additions of edges, those counted that were removed
	// since. The default is all.
	Last int
	// Within keeps the additions whose time is greater than that of the latest event
	// less Within, in the unit of the times of events. The default is all. At most one of
	// Last and Within is set.
	Within int64
	// RemoveAll makes a removal take all occurrences of an edge. The default is the oldest.
	RemoveAll bool
	// MaxNodes bounds the number of nodes: an event that names a node from there on is an
	// error. The default is 1<<26.
	MaxNodes int
}

func (s *Settings) check() error {
	for _, w := range [...]int{s.NodeCats, s.NodeAttrs, s.EdgeCats, s.EdgeAttrs} {
		if w < 0 || w > 1<<16 {
			return fmt.Errorf("dynamic graph: %d attributes, want 0 to %d", w, 1<<16)
		}
	}
	switch {
	case s.Last < 0 || s.Within < 0:
		return fmt.Errorf("dynamic graph: a window of %d edges or of the time %d, want 0 or more", s.Last, s.Within)
	case s.Last > 0 && s.Within > 0:
		return errors.New("dynamic graph: both Last and Within are set, want at most one window")
	case s.MaxNodes < 0 || s.MaxNodes >= math.MaxInt32:
		return fmt.Errorf("dynamic graph: at most %d nodes, want 0 to %d", s.MaxNodes, math.MaxInt32-1)
	}
	if s.MaxNodes == 0 {
		s.MaxNodes = defaultNodes
	}
	return nil
}

// Stats counts the effects of events.
type Stats struct {
	Events   int64
	Added    int64 // edges that came to be
	Repeated int64 // additions of edges that were there
	Removed  int64 // occurrences taken by removals of edges and nodes
	Expired  int64 // occurrences that left the window
	Absent   int64 // removals and settings of edges, and removals of nodes, that were not there
	Loops    int64 // additions of self-loops
	Late     int64 // additions that were older than the window when they came
}

// Change is the effect of an event on the simple graph: AddEdge for a new edge, RemoveEdge for a
// removed edge, SetEdge for other attributes of an edge, SetNode for a node that is new or has
// other attributes, SetClass for another class. Cat and Attr are the attributes after it, borrowed;
// nil means zeros.
type Change struct {
	Kind  event.Kind
	U, V  int32 // the edge, or the node U
	Cat   []int32
	Attr  []float32
	Class int32
}

// Graph is a graph that changes by events. Its methods, except those of snapshots that
// were taken, are not safe for concurrent use.
type Graph struct {
	View   // of now
	epoch  uint64
	now    int64 // the greatest time
	stats  Stats
	window window
	do     func(Change)
}

// New returns a graph without nodes.
func New(s Settings) (*Graph, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return &Graph{View: View{settings: s}, now: math.MinInt64}, nil
}

// Of returns a graph that begins as g, whose edges occur once each, at the time given. It
// copies g. Sparse attributes are an error.
func Of(g *graph.Graph, s Settings, time int64) (*Graph, error) {
	s.Directed, s.NodeCats, s.NodeAttrs, s.EdgeCats, s.EdgeAttrs = g.Directed, g.NodeCats, g.NodeAttrs, g.EdgeCats, g.EdgeAttrs
	d, err := New(s)
	if err != nil {
		return nil, err
	}
	if g.SparseCard > 0 {
		return nil, errors.New("dynamic graph: sparse attributes cannot change")
	}
	if g.N() > d.settings.MaxNodes {
		return nil, fmt.Errorf("dynamic graph: %d nodes, want at most %d", g.N(), d.settings.MaxNodes)
	}
	e := event.Event{Time: time}
	d.grow(g.N())
	for v := range int32(g.N()) {
		e.Source, e.Kind = v, event.SetNode
		e.Cat, e.Attr = values(g.NodeCat, int(v), g.NodeCats), values(g.NodeAttr, int(v), g.NodeAttrs)
		if err := d.Apply(&e, nil); err != nil {
			return nil, err
		}
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			e.Kind, e.Target = event.AddEdge, g.Neighbors[i]
			e.Cat, e.Attr = values(g.EdgeCat, int(i), g.EdgeCats), values(g.EdgeAttr, int(i), g.EdgeAttrs)
			if !g.Directed && e.Target < v {
				continue
			}
			if err := d.Apply(&e, nil); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// Settings returns the settings, with defaults.
func (g *Graph) Settings() Settings { return g.settings }

// Stats returns the counts so far.
func (g *Graph) Stats() Stats { return g.stats }

// Now returns the greatest time of an event so far, and whether there was one.
func (g *Graph) Now() (time int64, ok bool) { return g.now, g.stats.Events > 0 }

// Snapshot returns the current graph. O(n / 32768); later changes copy the blocks that they change.
func (g *Graph) Snapshot() *View {
	s := g.View
	s.dirs = append([]*directory(nil), s.dirs...)
	g.epoch++
	return &s
}

// Apply removes the edges that leave the window at the time of e, then applies e. It calls do,
// if that is not nil, for each change of the simple graph, when the graph has changed. do must
// not call methods that change g. An event that breaks the rules of package event or names too
// large a node is an error and changes nothing.
func (g *Graph) Apply(e *event.Event, do func(Change)) error {
	w := &g.settings
	cats, attrs := 0, 0
	switch e.Kind {
	case event.AddEdge, event.SetEdge:
		cats, attrs = w.EdgeCats, w.EdgeAttrs
	case event.SetNode:
		cats, attrs = w.NodeCats, w.NodeAttrs
	}
	if err := e.Check(cats, attrs); err != nil {
		return err
	}
	most := e.Source
	if e.OfEdge() {
		most = max(most, e.Target)
	}
	if int(most) >= w.MaxNodes {
		return fmt.Errorf("event %d: %v: node %d, want at most %d nodes", e.Pos, e.Kind, most, w.MaxNodes)
	}
	if e.Kind == event.AddEdge && g.m >= math.MaxInt32/2 {
		return fmt.Errorf("event %d: %v: the graph has %d edges, which is the most", e.Pos, e.Kind, g.m)
	}
	if e.Kind == event.AddEdge && int(most) < g.n && g.Occurrences(e.Source, e.Target) == mostTimes {
		return fmt.Errorf("event %d: %v: the edge occurs %d times, which is the most", e.Pos, e.Kind, mostTimes)
	}
	g.do = do
	g.stats.Events++
	g.now = max(g.now, e.Time)
	g.expire(0)
	u, v := e.Source, e.Target
	switch e.Kind {
	case event.AddEdge:
		g.grow(int(most) + 1)
		g.add(e)
	case event.RemoveEdge:
		n := 0
		if int(most) < g.n {
			n = g.Occurrences(u, v)
		}
		if n == 0 {
			g.stats.Absent++
			break
		}
		if !w.RemoveAll {
			n = 1
		}
		g.take(u, v, int32(n))
	case event.SetEdge:
		if int(most) >= g.n || g.Occurrences(u, v) == 0 {
			g.stats.Absent++
			break
		}
		g.setEdge(u, v, e.Cat, e.Attr)
	case event.SetNode:
		g.grow(int(most) + 1)
		g.setNode(u, e.Cat, e.Attr)
	case event.SetClass:
		g.grow(int(most) + 1)
		g.setClass(u, e.Class)
	case event.RemoveNode:
		if int(u) >= g.n {
			g.stats.Absent++
			break
		}
		for row := g.Adj(u); len(row) > 0; row = g.Adj(u) {
			g.take(u, row[len(row)-1], math.MaxInt32)
		}
		for row := g.In(u); len(row) > 0; row = g.In(u) {
			g.take(row[len(row)-1], u, math.MaxInt32)
		}
		g.setNode(u, nil, nil)
		g.setClass(u, -1)
	}
	g.do = nil
	return nil
}

func (g *Graph) changed(c Change) {
	if g.do != nil {
		g.do(c)
	}
}

// makeRoom makes room for the blocks of n nodes.
func (g *Graph) makeRoom(n int) {
	for len(g.dirs)*blockNodes*dirBlocks < n {
		g.dirs = append(g.dirs, nil)
	}
}

// grow makes the graph one of n nodes at least.
func (g *Graph) grow(n int) {
	g.makeRoom(n)
	for g.n < n {
		g.n++
		g.changed(Change{Kind: event.SetNode, U: int32(g.n - 1)})
	}
}

// write returns the block of v, to be changed.
func (g *Graph) write(v int32) *block {
	d := &g.dirs[v/(blockNodes*dirBlocks)]
	switch {
	case *d == nil:
		*d = &directory{epoch: g.epoch}
	case (*d).epoch < g.epoch:
		c := **d
		c.epoch = g.epoch
		*d = &c
	}
	b := &(*d).blocks[v/blockNodes%dirBlocks]
	switch {
	case *b == nil:
		*b = &block{epoch: g.epoch}
	case (*b).epoch < g.epoch:
		*b = (*b).clone(g.epoch)
	}
	return *b
}

// add adds an occurrence.
func (g *Graph) add(e *event.Event) {
	u, v := e.Source, e.Target
	switch {
	case u == v:
		g.stats.Loops++
		return
	case g.outside(e.Time):
		g.stats.Late++
		return
	}
	g.expire(1)
	g.remember(e)
	if g.Occurrences(u, v) > 0 {
		g.stats.Repeated++
		g.count(u, v, 1)
		g.setEdge(u, v, e.Cat, e.Attr)
		return
	}
	g.stats.Added++
	g.m++
	g.enter(u, v, e.Cat, e.Attr)
	if g.settings.Directed {
		in := &g.write(v).in
		at, _ := in.find(v, u)
		in.items = insert(in.items, at, 1)
		in.items[at] = u
		in.shift(v, 1)
	} else {
		g.enter(v, u, e.Cat, e.Attr)
	}
	g.changed(Change{Kind: event.AddEdge, U: u, V: v, Cat: e.Cat, Attr: e.Attr})
}

// enter puts v into the row of u.
func (g *Graph) enter(u, v int32, cat []int32, attr []float32) {
	b, w := g.write(u), &g.settings
	at, _ := b.find(u, v)
	b.items = insert(b.items, at, 1)
	b.items[at] = v
	if b.more != nil {
		b.more = insert(b.more, at, 1)
	}
	b.cats, b.attrs = insert(b.cats, at*w.EdgeCats, w.EdgeCats), insert(b.attrs, at*w.EdgeAttrs, w.EdgeAttrs)
	copy(b.cats[at*w.EdgeCats:], cat)
	copy(b.attrs[at*w.EdgeAttrs:], attr)
	b.shift(u, 1)
}

// leave takes v from the row of u.
func (g *Graph) leave(u, v int32) {
	b, w := g.write(u), &g.settings
	at, _ := b.find(u, v)
	b.items = remove(b.items, at, 1)
	if b.more != nil {
		b.more = remove(b.more, at, 1)
	}
	b.cats, b.attrs = remove(b.cats, at*w.EdgeCats, w.EdgeCats), remove(b.attrs, at*w.EdgeAttrs, w.EdgeAttrs)
	b.shift(u, -1)
}

// count adds occurrences to an edge, which keeps at least one.
func (g *Graph) count(u, v, n int32) {
	count := func(u, v int32) {
		b := g.write(u)
		if b.more == nil {
			b.more = make([]int32, len(b.items), cap(b.items))
		}
		at, _ := b.find(u, v)
		b.more[at] += n
	}
	count(u, v)
	if !g.settings.Directed {
		count(v, u)
	}
}

// take takes the n oldest occurrences of an edge, or all.
func (g *Graph) take(u, v, n int32) {
	n = min(n, int32(g.Occurrences(u, v)))
	g.stats.Removed += int64(n)
	g.window.forget(g.key(u, v), n, &g.settings)
	g.drop(u, v, n)
}

// drop takes occurrences of an edge, and the edge with the last of them.
func (g *Graph) drop(u, v, n int32) {
	if int32(g.Occurrences(u, v)) > n {
		g.count(u, v, -n)
		return
	}
	g.m--
	g.leave(u, v)
	if g.settings.Directed {
		in := &g.write(v).in
		at, _ := in.find(v, u)
		in.items = remove(in.items, at, 1)
		in.shift(v, -1)
	} else {
		g.leave(v, u)
	}
	g.changed(Change{Kind: event.RemoveEdge, U: u, V: v})
}

// setEdge sets the attributes of an edge.
func (g *Graph) setEdge(u, v int32, cat []int32, attr []float32) {
	w := &g.settings
	b := g.block(u)
	at, _ := b.find(u, v)
	if equal(values(b.cats, at, w.EdgeCats), cat, sameCat) && equal(values(b.attrs, at, w.EdgeAttrs), attr, sameAttr) {
		return
	}
	set := func(u, v int32) {
		b := g.write(u)
		at, _ := b.find(u, v)
		assign(values(b.cats, at, w.EdgeCats), cat)
		assign(values(b.attrs, at, w.EdgeAttrs), attr)
	}
	set(u, v)
	if !w.Directed {
		set(v, u)
	}
	g.changed(Change{Kind: event.SetEdge, U: u, V: v, Cat: cat, Attr: attr})
}

// setNode sets the attributes of a node.
func (g *Graph) setNode(v int32, cat []int32, attr []float32) {
	w := &g.settings
	was, had := g.Node(v)
	if equal(was, cat, sameCat) && equal(had, attr, sameAttr) {
		return
	}
	b, i := g.write(v), int(v%blockNodes)
	if b.cat == nil && w.NodeCats > 0 {
		b.cat = make([]int32, blockNodes*w.NodeCats)
	}
	if b.attr == nil && w.NodeAttrs > 0 {
		b.attr = make([]float32, blockNodes*w.NodeAttrs)
	}
	assign(values(b.cat, i, w.NodeCats), cat)
	assign(values(b.attr, i, w.NodeAttrs), attr)
	g.changed(Change{Kind: event.SetNode, U: v, Cat: cat, Attr: attr})
}

func (g *Graph) setClass(v, class int32) {
	if g.Class(v) == class {
		return
	}
	b := g.write(v)
	if b.class == nil {
		b.class = make([]int32, blockNodes)
		for i := range b.class {
			b.class[i] = -1
		}
	}
	b.class[v%blockNodes] = class
	g.changed(Change{Kind: event.SetClass, U: v, Class: class})
}

func sameCat(a, b int32) bool { return a == b }

// sameAttr compares to the last bit, so that NaN equals itself.
func sameAttr(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// equal compares attributes of which none means zeros.
func equal[T any](a, b []T, same func(a, b T) bool) bool {
	var zero T
	for i := range max(len(a), len(b)) {
		x, y := zero, zero
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if !same(x, y) {
			return false
		}
	}
	return true
}

// assign copies values, or zeros if there are none.
func assign[T any](to, from []T) { clear(to[copy(to, from):]) }
