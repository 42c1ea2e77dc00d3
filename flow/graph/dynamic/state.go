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

const stateName = "sanflow dynamic graph 3\n"

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
	flags := []*bool{&o.Directed, &o.RemoveAll}
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
		made, err := New(o)
		if err != nil {
			c.Fail("%w", err)
			return
		}
		*g = *made
	}
	state.Int(c, "the number of nodes", &g.n, 0, int64(min(maxNodes, g.settings.MaxNodes)))
	t := &g.stats
	state.Num(c, &g.now, &t.Events, &t.Added, &t.Repeated, &t.Removed, &t.Expired, &t.Absent, &t.Loops, &t.Late)
	g.makeRoom(g.n)
	g.listBlocks(c)
	g.window.state(c, &g.settings)
	if c.Loading() {
		if err := g.check(); err != nil {
			c.Fail("%w", err)
		}
	}
}

func (g *Graph) listBlocks(c *state.Codec) {
	type place struct {
		i int32
		b *block
	}
	var used []place
	for i, d := range g.dirs {
		for j := 0; d != nil && j < dirBlocks; j++ {
			if b := d.blocks[j]; b != nil {
				used = append(used, place{int32(i*dirBlocks + j), b})
			}
		}
	}
	most, last := (g.n+blockNodes-1)/blockNodes, int32(-1)
	state.Each(c, "blocks", most, &used, func(p *place) {
		state.Num(c, &p.i)
		c.Check(p.i > last && int(p.i) < most, "block %d follows block %d of %d nodes", p.i, last, g.n)
		if last = p.i; c.Loading() {
			p.b = g.write(p.i * blockNodes)
		}
		if p.b != nil {
			p.b.state(c, p.i, &g.settings)
		}
	})
}

func (b *block) state(c *state.Codec, i int32, o *Settings) {
	b.rows.state(c, i, o.EdgeCats, o.EdgeAttrs)
	b.in.state(c, i, 0, 0)
	state.Slice(c, "attributes", blockNodes*o.NodeCats, &b.cat)
	state.Slice(c, "attributes", blockNodes*o.NodeAttrs, &b.attr)
	state.Slice(c, "classes", blockNodes, &b.class)
	none := func(n, all int) bool { return n == 0 || n == all }
	c.Check(none(len(b.cat), blockNodes*o.NodeCats) && none(len(b.attr), blockNodes*o.NodeAttrs),
		"block %d has %d and %d attributes of nodes", i, len(b.cat), len(b.attr))
	c.Check(none(len(b.class), blockNodes), "block %d has %d classes", i, len(b.class))
}

func (r *rows) state(c *state.Codec, i int32, cats, attrs int) {
	state.Fixed(c, r.ends[:])
	c.Check(r.ends[0] >= 0 && slices.IsSorted(r.ends[:]), "the rows of block %d overlap", i)
	n := int(r.ends[blockNodes-1])
	most := func(width int) int { return int(min(int64(n)*int64(width), math.MaxInt32)) }
	state.Slice(c, "neighbours", n, &r.items)
	more := r.more
	if !slices.ContainsFunc(more, func(n int32) bool { return n != 0 }) {
		more = nil // so that equal graphs have equal states
	}
	state.Slice(c, "counts", n, &more)
	state.Slice(c, "attributes", most(cats), &r.cats)
	state.Slice(c, "attributes", most(attrs), &r.attrs)
	if c.Loading() {
		r.more = more
		c.Check(len(r.items) == n && (len(r.more) == n || r.more == nil) && len(r.cats) == n*cats && len(r.attrs) == n*attrs,
			"block %d has %d neighbours, %d counts and %d and %d attributes, want %d neighbours", i, len(r.items), len(r.more), len(r.cats), len(r.attrs), n)
	}
}

func (w *window) state(c *state.Codec, o *Settings) {
	most := o.Last
	if most == 0 && o.Within > 0 {
		most = math.MaxInt32
	}
	state.Num(c, &w.added)
	i := 0
	state.Each(c, "occurrences of the window", most, &w.heap, func(p *occurrence) {
		state.Num(c, &p.age, &p.number)
		state.Num(c, &p.u, &p.v)
		c.Check(i == 0 || w.heap[(i-1)/2].older(p), "the window is not in order")
		c.Check(p.number >= 0 && p.number < w.added, "occurrence %d of a window, want 0 to %d", p.number, w.added-1)
		i++
	})
	type taken struct {
		edge graph.Edge
		of   []removal
	}
	byEdge := func(a, b graph.Edge) int { return cmp.Or(cmp.Compare(a.U, b.U), cmp.Compare(a.V, b.V)) }
	var gone []taken
	for edge, of := range w.gone {
		gone = append(gone, taken{edge, of})
	}
	slices.SortFunc(gone, func(a, b taken) int { return byEdge(a.edge, b.edge) })
	state.Each(c, "edges with removals", math.MaxInt32, &gone, func(t *taken) {
		state.Num(c, &t.edge.U, &t.edge.V)
		last := int64(math.MinInt64)
		state.Each(c, "removals", math.MaxInt32, &t.of, func(r *removal) {
			state.Num(c, &r.before)
			state.Num(c, &r.n)
			c.Check(r.before >= last && r.before <= w.added, "the removals of %d-%d are not in order", t.edge.U, t.edge.V)
			last = r.before
		})
	})
	if c.Loading() {
		w.gone = make(map[graph.Edge][]removal, len(gone))
		for i, t := range gone {
			c.Check(i == 0 || byEdge(gone[i-1].edge, t.edge) < 0, "the edges with removals are not in order")
			w.gone[t.edge] = t.of
		}
	}
}

// check reports the first way in which a graph that was read breaks its rules, and counts
// its edges.
func (g *Graph) check() error {
	occurs := map[graph.Edge]int32{} // in the window
	numbers := map[graph.Edge][]int64{}
	for _, o := range g.window.heap {
		k := graph.Edge{U: o.u, V: o.v}
		occurs[k]++
		if g.window.gone[k] != nil {
			numbers[k] = append(numbers[k], o.number)
		}
	}
	for k, list := range g.window.gone {
		slices.Sort(numbers[k])
		removed := int64(0)
		for _, r := range list {
			// Each removal finds its occurrences, whichever are the oldest.
			before, _ := slices.BinarySearch(numbers[k], r.before)
			if removed += int64(r.n); r.n <= 0 || removed > int64(before) {
				return fmt.Errorf("%d occurrences of %d-%d were removed, of %d", removed, k.U, k.V, before)
			}
		}
		if occurs[k] -= int32(removed); occurs[k] == 0 {
			delete(occurs, k)
		}
	}
	windowed, entries, arriving := g.settings.Last > 0 || g.settings.Within > 0, 0, 0
	for v := range int32(g.n) {
		b := g.block(v)
		cat, _ := g.Node(v)
		begin, end := b.bounds(v)
		for _, c := range append(cat, b.cats[int(begin)*g.settings.EdgeCats:int(end)*g.settings.EdgeCats]...) {
			if c < 0 {
				return fmt.Errorf("node %d, or an edge of it, has the attribute %d, want 0 or more", v, c)
			}
		}
		if g.Class(v) < -1 {
			return fmt.Errorf("node %d has class %d, want -1 or more", v, g.Class(v))
		}
		for _, row := range [][]int32{g.Adj(v), g.In(v)} {
			for i, u := range row {
				if u < 0 || int(u) >= g.n || u == v || i > 0 && u <= row[i-1] {
					return fmt.Errorf("neighbour %d of node %d is %d, want other nodes, ascending, 0 to %d", i, v, u, g.n-1)
				}
			}
		}
		entries, arriving = entries+len(g.Adj(v)), arriving+len(g.In(v))
	}
	for v := int32(g.n); v%blockNodes != 0; v++ { // of the last block
		cat, attr := g.Node(v)
		if len(g.Adj(v))+len(g.In(v)) > 0 || g.Class(v) != -1 || !equal(cat, nil, sameCat) || !equal(attr, nil, sameAttr) {
			return fmt.Errorf("node %d is not empty, of %d nodes", v, g.n)
		}
	}
	for v := range int32(g.n) {
		for _, u := range g.Adj(v) {
			n := g.Occurrences(v, u)
			switch _, arrives := g.block(u).in.find(u, v); {
			case n < 1 || n > mostTimes:
				return fmt.Errorf("edge %d-%d occurs %d times, want 1 to %d", v, u, n, mostTimes)
			case g.settings.Directed && !arrives:
				return fmt.Errorf("arc %d-%d does not arrive", v, u)
			case !g.settings.Directed && !g.bothWays(v, u):
				return fmt.Errorf("edge %d-%d differs from its other direction", v, u)
			case windowed && int(occurs[g.key(v, u)]) != n:
				return fmt.Errorf("edge %d-%d occurs %d times, and %d times in the window", v, u, n, occurs[g.key(v, u)])
			}
		}
	}
	g.m = entries
	if !g.settings.Directed {
		g.m, entries = entries/2, 0
	}
	if arriving != entries {
		return fmt.Errorf("%d arcs arrive, want %d", arriving, entries)
	}
	if windowed && len(occurs) != g.m {
		return fmt.Errorf("the window has %d edges, want %d", len(occurs), g.m)
	}
	return nil
}

// bothWays reports whether an edge is the same in the rows of both ends.
func (g *Graph) bothWays(u, v int32) bool {
	w, a, b := &g.settings, g.block(u), g.block(v)
	i, _ := a.find(u, v)
	j, ok := b.find(v, u)
	return ok && g.Occurrences(u, v) == g.Occurrences(v, u) &&
		equal(values(a.cats, i, w.EdgeCats), values(b.cats, j, w.EdgeCats), sameCat) &&
		equal(values(a.attrs, i, w.EdgeAttrs), values(b.attrs, j, w.EdgeAttrs), sameAttr)
}
