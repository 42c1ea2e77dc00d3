package dynamic

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/state"
)

const stateName = "sanflow dynamic graph 5\n"

// Save writes g, its window and its counts. The graph that Load returns processes later events with
// the same results.
func (g *Graph) Save(w io.Writer) error {
	return state.Save(w, stateName, func(c *state.Codec) { g.state(c, 0) })
}

// Load reads the output of Save and no byte behind it; r should be buffered. Input that is no such
// state, is damaged, breaks the rules of a graph, or has more than maxNodes nodes, 0 meaning 1<<26,
// is an error.
func Load(r io.Reader, maxNodes int) (*Graph, error) {
	g := new(Graph)
	maxNodes = cmp.Or(maxNodes, defaultNodes)
	if err := state.Load(r, stateName, func(c *state.Codec) { g.state(c, maxNodes) }); err != nil {
		return nil, fmt.Errorf("dynamic graph: state: %w", err)
	}
	return g, nil
}

// state lists the numbers of a graph, for Save and for Load.
func (g *Graph) state(c *state.Codec, maxNodes int) {
	o := g.settings
	flags := []*bool{&o.Directed, &o.RemoveAll, &o.Sum}
	set := int64(0)
	for i, flag := range flags {
		if *flag {
			set |= 1 << i
		}
	}
	state.Num(c, &set)
	for i, flag := range flags {
		*flag = set>>i&1 > 0
	}
	for _, x := range []*int{&o.NodeCats, &o.NodeAttrs, &o.EdgeCats, &o.EdgeAttrs, &o.Last} {
		state.Int(c, "a setting", x, 0, math.MaxInt32)
	}
	state.Num(c, &o.Within)
	state.Int(c, "MaxNodes", &o.MaxNodes, 0, math.MaxInt32)
	if c.Loading() {
		if err := g.begin(o); err != nil {
			c.Fail("%w", err)
			return
		}
	}
	n := g.N()
	state.Int(c, "the number of nodes", &n, 0, int64(min(maxNodes, g.settings.MaxNodes)))
	t := &g.stats
	state.Num(c, &g.now, &t.Events, &t.Added, &t.Repeated, &t.Removed, &t.Expired, &t.Absent, &t.Loops, &t.Late)
	g.rows(c, n)
	g.list(c)
}

// rows is the rows of n nodes, and all that they have.
func (g *Graph) rows(c *state.Codec, n int) {
	o, flat := &g.settings, &graph.Graph{}
	if !c.Loading() {
		flat = g.Graph()
	}
	most := func(n, width int) int { return int(min(int64(n)*int64(width), math.MaxInt32)) }
	state.Slice(c, "rows", n+1, &flat.Offsets)
	c.Check(len(flat.Offsets) == n+1 && flat.Offsets[0] == 0 && slices.IsSorted(flat.Offsets), "the rows overlap")
	m := 0
	if len(flat.Offsets) > 0 {
		m = int(flat.Offsets[len(flat.Offsets)-1])
	}
	state.Slice(c, "neighbours", m, &flat.Neighbors)
	state.Slice(c, "attributes", most(m, o.EdgeCats), &flat.EdgeCat)
	state.Slice(c, "attributes", most(m, o.EdgeAttrs), &flat.EdgeAttr)
	state.Slice(c, "attributes", most(n, o.NodeCats), &flat.NodeCat)
	state.Slice(c, "attributes", most(n, o.NodeAttrs), &flat.NodeAttr)
	class := g.class
	state.Slice(c, "classes", n, &class)
	c.Check(len(flat.Neighbors) == m && len(flat.EdgeCat) == m*o.EdgeCats && len(flat.EdgeAttr) == m*o.EdgeAttrs,
		"there are %d neighbours, and %d and %d attributes of edges, want %d neighbours", len(flat.Neighbors), len(flat.EdgeCat), len(flat.EdgeAttr), m)
	c.Check(len(class) == n && len(flat.NodeCat) == n*o.NodeCats && len(flat.NodeAttr) == n*o.NodeAttrs,
		"%d nodes have %d classes, and %d and %d attributes", n, len(class), len(flat.NodeCat), len(flat.NodeAttr))
	if c.Loading() {
		if err := g.fill(flat, class); err != nil {
			c.Fail("%w", err)
		}
	}
}

// list is the occurrences that are kept, in the order in which they came.
func (g *Graph) list(c *state.Codec) {
	k, s := &g.kept, &g.settings
	most, number := math.MaxInt32, int64(-1)
	if s.Last > 0 {
		most = s.Last
	}
	added, list := k.added, k.sorted()
	state.Num(c, &added)
	state.Each(c, "occurrences", most, &list, func(slot *int32) {
		var o occurrence
		gone := uint8(0)
		cat, attr := make([]int32, s.EdgeCats), make([]float32, s.EdgeAttrs)
		if !c.Loading() {
			o = k.slots[*slot]
			cat, attr = g.slot(*slot)
			if o.next == taken {
				gone = 1
			}
		}
		state.Num(c, &o.age, &o.number)
		state.Num(c, &o.u, &o.v)
		state.Num(c, &gone)
		state.Fixed(c, cat)
		state.Fixed(c, attr)
		if !c.Loading() {
			return
		}
		e := graph.Edge{U: o.u, V: o.v}
		c.Check(o.number > number && o.number < added && (s.Within > 0 || o.age == o.number), "occurrence %d is not in order", o.number)
		c.Check(o.u >= 0 && o.v >= 0 && o.u != o.v && e == g.key(o.u, o.v), "occurrence %d is of the edge %d-%d", o.number, o.u, o.v)
		c.Check(gone == 0 || gone == 1 && g.windowed(), "an occurrence of %d-%d was taken", o.u, o.v)
		c.Check(len(cat) == 0 || slices.Min(cat) >= 0, "an occurrence of %d-%d has a discrete attribute below 0", o.u, o.v)
		c.Check(gone == 1 || g.has(o.u, o.v), "the edge %d-%d has occurrences and is not there", o.u, o.v)
		if !c.Loading() {
			return
		}
		number, k.added = o.number, o.number
		if last := g.keep(e, k.of(e), o.age, cat, attr); gone == 1 {
			k.unlink(last)
			k.slots[last].next = taken
		}
	})
	if c.Loading() {
		k.added = added
		c.Check(added >= 0, "%d occurrences so far", added)
		if err := g.check(); err != nil {
			c.Fail("%w", err)
		}
	}
}

// fill makes g, which has no nodes, one of the rows, attributes and classes that were read.
func (g *Graph) fill(flat *graph.Graph, class []int32) error {
	flat.Directed, flat.NodeCats, flat.NodeAttrs = g.settings.Directed, g.settings.NodeCats, g.settings.NodeAttrs
	flat.EdgeCats, flat.EdgeAttrs = g.settings.EdgeCats, g.settings.EdgeAttrs
	if err := flat.Check(); err != nil {
		return err
	}
	for v, c := range class {
		if c < -1 {
			return fmt.Errorf("node %d has class %d, want -1 or more", v, c)
		}
	}
	g.addNodes(len(class))
	copy(g.class, class)
	copy(g.flat.NodeCat, flat.NodeCat)
	copy(g.flat.NodeAttr, flat.NodeAttr)
	for v := range int32(g.N()) {
		begin, end := int(flat.Offsets[v]), int(flat.Offsets[v+1])
		g.out.Set(v, flat.Adj(v), flat.EdgeCat[begin*flat.EdgeCats:end*flat.EdgeCats], flat.EdgeAttr[begin*flat.EdgeAttrs:end*flat.EdgeAttrs])
		for _, u := range flat.Adj(v) {
			if flat.Directed {
				g.in.Insert(u, v)
			}
			g.m++
		}
	}
	if !flat.Directed {
		g.m /= 2
	}
	return nil
}

// check reports the first edge that is not what its occurrences make of it.
func (g *Graph) check() error {
	for e, last := range g.kept.last {
		cat, attr := g.union(last)
		if was, had := g.out.At(g.out.Find(e.U, e.V)); !equal(was, cat, sameCat) || !equal(had, attr, sameAttr) {
			return fmt.Errorf("the edge %d-%d has not the attributes of its occurrences", e.U, e.V)
		}
		if g.kept.slots[last].next == last && !g.windowed() {
			return fmt.Errorf("an only occurrence of %d-%d is kept", e.U, e.V)
		}
	}
	if n := len(g.kept.last); g.windowed() && n != g.m {
		return fmt.Errorf("the window has %d edges, want %d", n, g.m)
	}
	return nil
}
