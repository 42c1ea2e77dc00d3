package dynamic

import (
	"errors"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rooms"
	"github.com/sanflow/sanflow/internal/rows"
)

// MaxNodes bounds the number of nodes: an event that names a node from there on is an error.
const MaxNodes = 1 << 26

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
	// Union computes the attributes of an edge from those of its occurrences, two or more, in the order in which they were added. The
	// default is the attributes of the smallest occurrence, the discrete ones compared first. Tables merge repeated rows in the same way.
	// Union is called by Unite, or where one occurrence is left: an event about an edge does not take the time of its occurrences.
	Union func(all []Occurrence) (cat []int32, attr []float32)
	// Gone is called for each occurrence that leaves the graph, with the Pos of the event that added it, or -1 for one of Load. With
	// Gone, each occurrence takes memory, as in a window.
	Gone func(pos int64)
}

// Occurrence has the attributes of one addition of an edge, borrowed.
type Occurrence struct {
	Cat  []int32
	Attr []float32
}

func (s Settings) check() error {
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

// Graph is a graph that events change. Slices that its methods return are borrowed until the next event. One
// goroutine at a time may use a Graph.
type Graph struct {
	settings Settings
	m        int
	flat     graph.Graph // attributes of nodes; out has the attributes of edges
	out      rooms.Rows
	in       rooms.Rows // of a directed graph: the tails of the arcs that arrive
	class    []int32
	kept     occurrences
	now      int64 // greatest time of an event so far
	stats    Stats
	stale    map[graph.Edge]bool // edges whose attributes in out are outdated until Unite
	all      []Occurrence        // scratch memory of union

	before, after func(Change)
}

// New returns a graph without nodes.
func New(s Settings) (*Graph, error) {
	g := new(Graph)
	return g, g.begin(s)
}

func (g *Graph) begin(s Settings) error {
	if err := s.check(); err != nil {
		return err
	}
	g.settings, g.now, g.kept.last = s, math.MinInt64, map[graph.Edge]int32{}
	g.stale = map[graph.Edge]bool{}
	g.out.Cats, g.out.Attrs = s.EdgeCats, s.EdgeAttrs
	g.flat = graph.Graph{Directed: s.Directed, NodeCats: s.NodeCats, NodeAttrs: s.NodeAttrs, EdgeCats: s.EdgeCats, EdgeAttrs: s.EdgeAttrs}
	return nil
}

// Load copies the nodes and edges of h into an empty graph without a window. Each edge has one occurrence, except for an edge that
// ends repeats: ends, cat and attr list all occurrences of such an edge, in the order in which they were added. O(n + m).
func (g *Graph) Load(h *graph.Graph, ends []graph.Edge, cat []int32, attr []float32) error {
	s := &g.settings
	switch {
	case g.N() > 0 || g.windowed():
		return errors.New("dynamic graph: Load is for an empty graph without a window")
	case h.N() > MaxNodes || h.Directed != s.Directed || h.NodeCats != s.NodeCats || h.NodeAttrs != s.NodeAttrs || h.M() > 0 && (h.EdgeCats != s.EdgeCats || h.EdgeAttrs != s.EdgeAttrs):
		return errors.New("dynamic graph: Load of another kind of graph, or of too many nodes")
	case len(cat) != len(ends)*s.EdgeCats || len(attr) != len(ends)*s.EdgeAttrs:
		return fmt.Errorf("dynamic graph: Load: %d and %d attributes of %d occurrences", len(cat), len(attr), len(ends))
	}
	g.addNodes(h.N())
	copy(g.flat.NodeCat, h.NodeCat)
	copy(g.flat.NodeAttr, h.NodeAttr)
	g.out.Load(h.Offsets, h.Neighbors, h.EdgeCat, h.EdgeAttr)
	if s.Directed {
		offsets, tails, _ := h.Transpose()
		g.in.Load(offsets, tails, nil, nil)
	}
	g.m = h.M()
	for i, e := range ends {
		if e.U == e.V {
			continue
		}
		if !g.Has(e.U, e.V) {
			return fmt.Errorf("dynamic graph: Load: the edge %d-%d is not there", e.U, e.V)
		}
		k := g.key(e.U, e.V)
		g.keep(k, g.kept.of(k), -1, 0, rows.Values(cat, int32(i), s.EdgeCats), rows.Values(attr, int32(i), s.EdgeAttrs))
	}
	return nil
}

// Clock returns the greatest time of the events, and the number of occurrences added so far. Windows depend on both.
func (g *Graph) Clock() (now, added int64) { return g.now, g.kept.added }

// Advance raises the clock to the results of an earlier Clock. The effect is that of events whose edges have expired since.
func (g *Graph) Advance(now, added int64) {
	g.now, g.kept.added = max(g.now, now), max(g.kept.added, added)
	g.expire(0)
}

// Stats returns the counts so far.
func (g *Graph) Stats() Stats { return g.stats }

// N returns the number of nodes.
func (g *Graph) N() int { return len(g.class) }

// M returns the number of edges, or arcs, each counted once however often it occurs.
func (g *Graph) M() int { return g.m }

// Adj returns the neighbours of v, ascending; of a directed graph the heads of the arcs
// that leave it.
func (g *Graph) Adj(v int32) []int32 { return g.out.Row(v) }

// In returns, for a directed graph, the tails of the arcs that arrive at v, ascending.
func (g *Graph) In(v int32) []int32 {
	if !g.settings.Directed {
		return nil
	}
	return g.in.Row(v)
}

// Class returns the class of v, or -1.
func (g *Graph) Class(v int32) int32 { return g.class[v] }

// Has reports whether the edge u–v, or the arc u→v, is there.
func (g *Graph) Has(u, v int32) bool {
	return min(u, v) >= 0 && int(max(u, v)) < g.N() && g.out.Find(u, v) >= 0
}

// Stale reports whether the occurrences of an edge have changed since its attributes were made by Settings.Union.
func (g *Graph) Stale(u, v int32) bool { return len(g.stale) > 0 && g.stale[g.key(u, v)] }

// Unite makes the attributes of an edge by Settings.Union, where Stale: until then the rows have older ones. It takes the time of a call of Union. The
// functions of Apply are not called.
func (g *Graph) Unite(u, v int32) {
	if e := g.key(u, v); g.stale[e] {
		delete(g.stale, e)
		cat, attr := g.union(g.kept.of(e))
		g.setItems(u, v, cat, attr)
	}
}

// Rows returns the rows of Adj and of In, and a graph without rows that has the attributes. The attributes of an edge have the
// index of its item in out. An index of the graph reads them, and calls Rows again after each event.
func (g *Graph) Rows() (out, in *rooms.Rows, attributes graph.Graph) {
	attributes = g.flat
	attributes.EdgeCat, attributes.EdgeAttr = g.out.Cat, g.out.Attr
	return &g.out, &g.in, attributes
}

// Graph unites all edges, and returns the graph in compressed sparse rows, as a copy. O(n + m).
func (g *Graph) Graph() *graph.Graph {
	for e := range g.stale {
		g.Unite(e.U, e.V)
	}
	c, n := g.flat, g.N()
	c.Offsets, c.EdgeCat, c.EdgeAttr = make([]int32, 1, n+1), nil, nil
	c.NodeCat, c.NodeAttr = append([]int32{}, g.flat.NodeCat...), append([]float32{}, g.flat.NodeAttr...)
	for v := range int32(n) {
		begin, end := int(g.out.Begin[v]), int(g.out.End[v])
		c.Neighbors = append(c.Neighbors, g.out.Items[begin:end]...)
		c.EdgeCat = append(c.EdgeCat, g.out.Cat[begin*c.EdgeCats:end*c.EdgeCats]...)
		c.EdgeAttr = append(c.EdgeAttr, g.out.Attr[begin*c.EdgeAttrs:end*c.EdgeAttrs]...)
		c.Offsets = append(c.Offsets, int32(len(c.Neighbors)))
	}
	return &c
}

// Apply removes the edges that leave the window at the time of e, then applies e. A removal of an edge takes its
// oldest occurrence: the one with the smallest time where Within is set, else the one that came first. For each change of the simple
// graph it calls before, then changes the graph, then calls after; either may be nil. They must
// not call methods that change g. An event that breaks the rules of package event or names too
// large a node is an error and changes nothing.
func (g *Graph) Apply(e *event.Event, before, after func(Change)) error {
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
	if most >= MaxNodes {
		return fmt.Errorf("event %d: %v: node %d, want at most %d nodes", e.Pos, e.Kind, most, MaxNodes)
	}
	if e.Kind == event.AddEdge && g.m >= math.MaxInt32/2 {
		return fmt.Errorf("event %d: %v: the graph has %d edges, which is the most", e.Pos, e.Kind, g.m)
	}
	if e.Kind == event.AddEdge && len(g.kept.slots) >= math.MaxInt32-1 {
		return fmt.Errorf("event %d: %v: the graph keeps %d occurrences of edges, which is the most", e.Pos, e.Kind, len(g.kept.slots))
	}
	g.before, g.after = before, after
	g.stats.Events++
	g.now = max(g.now, e.Time)
	g.expire(0)
	u, v := e.Source, e.Target
	switch e.Kind {
	case event.AddEdge:
		g.grow(int(most) + 1)
		g.add(e)
	case event.RemoveEdge:
		if !g.Has(u, v) {
			g.stats.Absent++
			break
		}
		g.take(u, v, false)
	case event.SetEdge:
		if !g.Has(u, v) {
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
		if int(u) >= g.N() {
			g.stats.Absent++
			break
		}
		for row := g.Adj(u); len(row) > 0; row = g.Adj(u) {
			g.take(u, row[len(row)-1], true)
		}
		for row := g.In(u); len(row) > 0; row = g.In(u) {
			g.take(row[len(row)-1], u, true)
		}
		g.setNode(u, nil, nil)
		g.setClass(u, -1)
	}
	g.before, g.after = nil, nil
	return nil
}

// change calls before, do and after for one change of the simple graph.
func (g *Graph) change(c Change, do func()) {
	if g.before != nil {
		g.before(c)
	}
	do()
	if g.after != nil {
		g.after(c)
	}
}

// grow adds nodes until there are at least n.
func (g *Graph) grow(n int) {
	for v := g.N(); v < n; v++ {
		g.change(Change{Kind: event.SetNode, U: int32(v)}, func() { g.addNodes(v + 1) })
	}
}

// addNodes extends the rows, the classes, by -1, and the attributes, by 0, to n nodes.
func (g *Graph) addNodes(n int) {
	more := n - g.N()
	g.out.Grow(n)
	if g.settings.Directed {
		g.in.Grow(n)
	}
	for range more {
		g.class = append(g.class, -1)
	}
	g.flat.NodeCat = append(g.flat.NodeCat, make([]int32, more*g.settings.NodeCats)...)
	g.flat.NodeAttr = append(g.flat.NodeAttr, make([]float32, more*g.settings.NodeAttrs)...)
}

// add adds an occurrence, and the edge if it is new.
func (g *Graph) add(e *event.Event) {
	u, v := e.Source, e.Target
	switch {
	case u == v:
		g.stats.Loops++
		g.gone(e.Pos)
		return
	case g.outside(e.Time):
		g.stats.Late++
		g.gone(e.Pos)
		return
	}
	g.expire(1)
	k, at := g.key(u, v), g.out.Find(u, v)
	last := int32(none)
	if at >= 0 {
		if last = g.kept.of(k); last == none {
			cat, attr := g.out.At(at)
			last = g.keep(k, none, -1, 0, cat, attr)
		}
	}
	if at >= 0 || g.windowed() || g.settings.Gone != nil {
		last = g.keep(k, last, e.Pos, e.Time, e.Cat, e.Attr)
	}
	if at >= 0 {
		g.stats.Repeated++
		g.repeat(k, last, at)
		return
	}
	g.stats.Added++
	g.change(Change{Kind: event.AddEdge, U: u, V: v, Cat: e.Cat, Attr: e.Attr}, func() {
		g.m++
		g.setItem(g.out.Insert(u, v), e.Cat, e.Attr)
		if g.settings.Directed {
			g.in.Insert(v, u)
		} else {
			g.setItem(g.out.Insert(v, u), e.Cat, e.Attr)
		}
	})
}

// setItem sets the attributes of item e of g.out.
func (g *Graph) setItem(e int32, cat []int32, attr []float32) {
	c, a := g.out.At(e)
	assign(c, cat)
	assign(a, attr)
}

// removeEdge removes an edge without occurrences.
func (g *Graph) removeEdge(u, v int32) {
	delete(g.stale, g.key(u, v))
	g.change(Change{Kind: event.RemoveEdge, U: u, V: v}, func() {
		g.m--
		g.out.Remove(u, g.out.Find(u, v))
		if g.settings.Directed {
			g.in.Remove(v, g.in.Find(v, u))
		} else {
			g.out.Remove(v, g.out.Find(v, u))
		}
	})
}

// setEdge sets the attributes of all occurrences of an edge.
func (g *Graph) setEdge(u, v int32, cat []int32, attr []float32) {
	e := g.key(u, v)
	last := g.kept.of(e)
	if last == none {
		g.setItems(u, v, cat, attr)
		return
	}
	g.kept.chain(last, func(slot int32) { g.setSlot(slot, cat, attr) })
	g.settle(e, last)
}

// setItems sets the attributes of an edge in the rows, in both directions if the graph is undirected.
func (g *Graph) setItems(u, v int32, cat []int32, attr []float32) {
	at := g.out.Find(u, v)
	if was, had := g.out.At(at); equal(was, cat, sameCat) && equal(had, attr, sameAttr) {
		return
	}
	g.change(Change{Kind: event.SetEdge, U: u, V: v, Cat: cat, Attr: attr}, func() {
		g.setItem(at, cat, attr)
		if !g.settings.Directed {
			g.setItem(g.out.Find(v, u), cat, attr)
		}
	})
}

func (g *Graph) setNode(v int32, cat []int32, attr []float32) {
	was, had := values(g.flat.NodeCat, int(v), g.settings.NodeCats), values(g.flat.NodeAttr, int(v), g.settings.NodeAttrs)
	if equal(was, cat, sameCat) && equal(had, attr, sameAttr) {
		return
	}
	g.change(Change{Kind: event.SetNode, U: v, Cat: cat, Attr: attr}, func() {
		assign(was, cat)
		assign(had, attr)
	})
}

func (g *Graph) setClass(v, class int32) {
	if g.class[v] != class {
		g.change(Change{Kind: event.SetClass, U: v, Class: class}, func() { g.class[v] = class })
	}
}

func values[T any](x []T, i, width int) []T { return x[i*width : (i+1)*width : (i+1)*width] }

func sameCat(a, b int32) bool { return a == b }

// sameAttr compares bits, so that NaN equals NaN.
func sameAttr(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// equal compares attributes. A missing value is zero.
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

// assign copies from, and fills the rest of to with zeros.
func assign[T any](to, from []T) { clear(to[copy(to, from):]) }
