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

const stateName = "sanflow dynamic graph 2\n"

// Save writes g as it is, with its window and its counts, so that Load makes a graph that
// does the same with all events to come.
func (g *Graph) Save(w io.Writer) error {
	s := state.NewWriter(w, stateName)
	o, c := &g.settings, &g.stats
	flags := int64(0)
	if o.Directed {
		flags |= 1
	}
	if o.RemoveAll {
		flags |= 2
	}
	state.Put(s, flags, int64(o.NodeCats), int64(o.NodeAttrs), int64(o.EdgeCats), int64(o.EdgeAttrs), int64(o.Last), o.Within, int64(o.MaxNodes))
	state.Put(s, int64(g.n), g.now, c.Events, c.Added, c.Repeated, c.Removed, c.Expired, c.Absent, c.Loops, c.Late)
	for i, d := range g.dirs {
		for j := range dirBlocks {
			if d == nil || d.blocks[j] == nil {
				continue
			}
			b := d.blocks[j]
			state.Put(s, int64(i*dirBlocks+j))
			for _, r := range []*rows{&b.rows, &b.in} {
				state.Put(s, r.ends[:]...)
				state.PutSlice(s, r.items)
				more := r.more
				if !slices.ContainsFunc(more, func(n int32) bool { return n != 0 }) {
					more = nil // so that equal graphs have equal states
				}
				state.PutSlice(s, more)
				state.PutSlice(s, r.cats)
				state.PutSlice(s, r.attrs)
			}
			state.PutSlice(s, b.cat)
			state.PutSlice(s, b.attr)
			state.PutSlice(s, b.class)
		}
	}
	state.Put(s, int64(-1))
	state.Put(s, g.window.added, int64(len(g.window.heap)))
	for _, o := range g.window.heap {
		state.Put(s, o.age, o.number, int64(o.u), int64(o.v))
	}
	gone := make([]graph.Edge, 0, len(g.window.gone))
	for k := range g.window.gone {
		gone = append(gone, k)
	}
	slices.SortFunc(gone, func(a, b graph.Edge) int { return cmp.Or(cmp.Compare(a.U, b.U), cmp.Compare(a.V, b.V)) })
	state.Put(s, int64(len(gone)))
	for _, k := range gone {
		state.Put(s, k.U, k.V, int32(len(g.window.gone[k])))
		for _, r := range g.window.gone[k] {
			state.Put(s, r.before, int64(r.n))
		}
	}
	return s.Close()
}

// Load reads what Save has written, and nothing behind it; r should have a buffer. Input
// that is no such state, is damaged, breaks the rules of a graph, or has more than maxNodes
// nodes, 0 meaning 1<<26, is an error.
func Load(r io.Reader, maxNodes int) (*Graph, error) {
	s := state.NewReader(r, stateName)
	g, err := load(s, cmp.Or(maxNodes, defaultNodes))
	if err == nil {
		err = s.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("dynamic graph: state: %w", err)
	}
	return g, nil
}

func load(s *state.Reader, maxNodes int) (*Graph, error) {
	number := func() int64 { return state.Get[int64](s) }
	size := func() int {
		n := number()
		if n < 0 || n > math.MaxInt32 {
			s.Fail("a setting is %d, want 0 to %d", n, math.MaxInt32)
			return 0
		}
		return int(n)
	}
	var o Settings
	flags := number()
	o.Directed, o.RemoveAll = flags&1 > 0, flags&2 > 0
	o.NodeCats, o.NodeAttrs, o.EdgeCats, o.EdgeAttrs, o.Last = size(), size(), size(), size(), size()
	o.Within, o.MaxNodes = number(), size()
	if s.Err() != nil {
		return nil, s.Err()
	}
	g, err := New(o)
	if err != nil {
		return nil, err
	}
	g.n = size()
	if most := min(maxNodes, g.settings.MaxNodes); g.n > most {
		s.Fail("there are %d nodes, want at most %d", g.n, most)
	}
	g.now = number()
	c := &g.stats
	for _, to := range []*int64{&c.Events, &c.Added, &c.Repeated, &c.Removed, &c.Expired, &c.Absent, &c.Loops, &c.Late} {
		*to = number()
	}
	last := int64(-1)
	if s.Err() != nil {
		return nil, s.Err()
	}
	for i := number(); i != -1 && s.Err() == nil; i = number() {
		if i <= last || i >= (int64(g.n)+blockNodes-1)/blockNodes {
			s.Fail("block %d follows block %d of %d nodes", i, last, g.n)
			break
		}
		last = i
		g.loadBlock(s, int32(i))
	}
	g.window.load(s, &g.settings)
	if err := s.Close(); err != nil {
		return nil, err
	}
	for len(g.dirs)*blockNodes*dirBlocks < g.n {
		g.dirs = append(g.dirs, nil)
	}
	return g, g.check()
}

func (g *Graph) loadBlock(s *state.Reader, i int32) {
	for len(g.dirs) <= int(i)/dirBlocks {
		g.dirs = append(g.dirs, nil)
	}
	w, b := &g.settings, g.write(i*blockNodes)
	for _, r := range []*rows{&b.rows, &b.in} {
		cats, attrs := w.EdgeCats, w.EdgeAttrs
		if r == &b.in {
			cats, attrs = 0, 0
		}
		end := int32(0)
		for j := range r.ends {
			r.ends[j] = state.Get[int32](s)
			if r.ends[j] < end {
				s.Fail("the rows of block %d overlap", i)
			}
			end = r.ends[j]
		}
		r.items = state.GetSlice[int32](s, "neighbours", int(end))
		r.more = state.GetSlice[int32](s, "counts", int(end))
		r.cats = state.GetSlice[int32](s, "attributes", int(min(int64(end)*int64(cats), math.MaxInt32)))
		r.attrs = state.GetSlice[float32](s, "attributes", int(min(int64(end)*int64(attrs), math.MaxInt32)))
		if n := len(r.items); n != int(end) || len(r.more) != n && r.more != nil || len(r.cats) != n*cats || len(r.attrs) != n*attrs {
			s.Fail("block %d has %d neighbours, %d counts and %d and %d attributes, want %d neighbours", i, n, len(r.more), len(r.cats), len(r.attrs), end)
		}
	}
	b.cat = state.GetSlice[int32](s, "attributes", blockNodes*w.NodeCats)
	b.attr = state.GetSlice[float32](s, "attributes", blockNodes*w.NodeAttrs)
	b.class = state.GetSlice[int32](s, "classes", blockNodes)
	if n := len(b.cat); n != 0 && n != blockNodes*w.NodeCats {
		s.Fail("block %d has %d attributes of nodes", i, n)
	}
	if n := len(b.attr); n != 0 && n != blockNodes*w.NodeAttrs {
		s.Fail("block %d has %d attributes of nodes", i, n)
	}
	if n := len(b.class); n != 0 && n != blockNodes {
		s.Fail("block %d has %d classes", i, n)
	}
}

func (w *window) load(s *state.Reader, o *Settings) {
	w.added = state.Get[int64](s)
	n := state.Get[int64](s)
	if o.Last == 0 && o.Within == 0 && n != 0 || o.Last > 0 && n > int64(o.Last) {
		s.Fail("a window of %d occurrences", n)
	}
	for range n {
		if s.Err() != nil {
			return
		}
		age, number, u, v := state.Get[int64](s), state.Get[int64](s), state.Get[int64](s), state.Get[int64](s)
		w.heap = append(w.heap, occurrence{age, number, int32(u), int32(v)})
		if i := len(w.heap) - 1; i > 0 && !w.heap[(i-1)/2].older(&w.heap[i]) {
			s.Fail("the window is not in order")
		}
		if number < 0 || number >= w.added {
			s.Fail("occurrence %d of a window, want 0 to %d", number, w.added-1)
		}
	}
	w.gone = map[graph.Edge][]removal{}
	for range state.Get[int64](s) {
		if s.Err() != nil {
			return
		}
		k := graph.Edge{U: state.Get[int32](s), V: state.Get[int32](s)}
		for range state.Get[int32](s) {
			if s.Err() != nil {
				return
			}
			r := removal{state.Get[int64](s), int32(state.Get[int64](s))}
			if list := w.gone[k]; r.before > w.added || len(list) > 0 && list[len(list)-1].before > r.before {
				s.Fail("the removals of %d-%d are not in order", k.U, k.V)
			}
			w.gone[k] = append(w.gone[k], r)
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
