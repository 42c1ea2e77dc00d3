package dynamic

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/state"
)

const stateName = "sanflow dynamic graph 4\n"

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
	g.window.state(c, &g.settings)
	if c.Loading() {
		if err := g.check(); err != nil {
			c.Fail("%w", err)
		}
	}
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
	counts := slices.SortedFunc(maps.Keys(g.more), byEdge)
	state.Each(c, "edges with occurrences", math.MaxInt32, &counts, func(e *graph.Edge) {
		more := g.more[*e]
		state.Num(c, &e.U, &e.V, &more)
		c.Check(more > 0 && more < mostTimes && g.more[*e] == 0, "edge %d-%d occurs %d times more", e.U, e.V, more)
		if c.Loading() {
			g.more[*e] = more
		}
	})
}

func byEdge(a, b graph.Edge) int { return cmp.Or(cmp.Compare(a.U, b.U), cmp.Compare(a.V, b.V)) }

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

// check reports the first way in which the occurrences of a graph that was read break their rules.
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
	for k := range g.more {
		if k != g.key(k.U, k.V) || k.U < 0 || k.V < 0 || int(max(k.U, k.V)) >= g.N() || g.out.Find(k.U, k.V) < 0 {
			return fmt.Errorf("the edge %d-%d has occurrences and is not there", k.U, k.V)
		}
	}
	if g.settings.Last == 0 && g.settings.Within == 0 {
		return nil
	}
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			if n := g.Occurrences(v, u); int(occurs[g.key(v, u)]) != n {
				return fmt.Errorf("edge %d-%d occurs %d times, and %d times in the window", v, u, n, occurs[g.key(v, u)])
			}
		}
	}
	if len(occurs) != g.m {
		return fmt.Errorf("the window has %d edges, want %d", len(occurs), g.m)
	}
	return nil
}
