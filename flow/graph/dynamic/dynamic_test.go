package dynamic_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/race"
)

// plain is the same graph as a list of occurrences.
type plain struct {
	s     dynamic.Settings
	n     int
	now   int64
	list  []occurrence // all additions since the beginning, by age
	seen  int
	node  map[int32]int32
	class map[int32]int32
}

type occurrence struct {
	e    graph.Edge
	time int64
	pos  int
	gone bool
	cat  int32
	attr float32
}

func (p *plain) key(u, v int32) graph.Edge {
	if !p.s.Directed && u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

func (p *plain) count(e graph.Edge) (n int) {
	for _, o := range p.list {
		if o.e == e && !o.gone {
			n++
		}
	}
	return n
}

// value is what an edge has of its occurrences, in the order in which they came.
func (p *plain) value(e graph.Edge) (cat int32, attr float32) {
	var all []occurrence
	for _, o := range p.list {
		if o.e == e && !o.gone {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b occurrence) int { return a.pos - b.pos })
	sum := float64(0)
	for _, o := range all {
		sum += float64(o.attr)
	}
	least := slices.MinFunc(all, func(a, b occurrence) int { return cmp.Or(cmp.Compare(a.cat, b.cat), cmp.Compare(a.attr, b.attr)) })
	if p.s.Union != nil {
		return least.cat, float32(sum)
	}
	return least.cat, least.attr
}

func (p *plain) remove(match func(graph.Edge) bool, all bool) {
	for i, o := range p.list {
		if match(o.e) && !o.gone {
			p.list[i].gone = true
			if !all {
				return
			}
		}
	}
}

func (p *plain) trim(room int) {
	if p.s.Within > 0 {
		p.list = slices.DeleteFunc(p.list, func(o occurrence) bool { return o.time <= p.now-p.s.Within })
	}
	if p.s.Last > 0 {
		p.list = p.list[max(0, len(p.list)+room-p.s.Last):]
	}
}

func (p *plain) apply(e event.Event) {
	p.now = max(p.now, e.Time)
	p.trim(0)
	k, u := p.key(e.Source, e.Target), e.Source
	c, x := int32(0), float32(0)
	if len(e.Cat) > 0 {
		c = e.Cat[0]
	}
	if len(e.Attr) > 0 {
		x = e.Attr[0]
	}
	switch e.Kind {
	case event.AddEdge:
		p.n = max(p.n, int(max(u, e.Target))+1)
		if u == e.Target || p.s.Within > 0 && e.Time <= p.now-p.s.Within {
			return
		}
		p.trim(1)
		at := len(p.list)
		for p.s.Within > 0 && at > 0 && p.list[at-1].time > e.Time {
			at--
		}
		p.list = slices.Insert(p.list, at, occurrence{e: k, time: e.Time, pos: p.seen, cat: c, attr: x})
		p.seen++
	case event.RemoveEdge:
		p.remove(func(o graph.Edge) bool { return o == k }, false)
	case event.SetEdge:
		for i := range p.list {
			if p.list[i].e == k {
				p.list[i].cat, p.list[i].attr = c, x
			}
		}
	case event.SetNode:
		p.n = max(p.n, int(u)+1)
		p.node[u] = c
	case event.SetClass:
		p.n = max(p.n, int(u)+1)
		p.class[u] = e.Class
	case event.RemoveNode:
		p.remove(func(o graph.Edge) bool { return o.U == u || o.V == u }, true)
		delete(p.node, u)
		delete(p.class, u)
	}
}

// compare reports the first way in which v is not p.
func (p *plain) compare(v *dynamic.Graph) error {
	if v.N() != p.n {
		return fmt.Errorf("%d nodes, want %d", v.N(), p.n)
	}
	g := v.Graph()
	if err := g.Check(); err != nil {
		return err
	}
	m, in := 0, 0
	for u := range int32(p.n) {
		in += len(v.In(u))
		for w := range int32(p.n) {
			want := p.count(p.key(u, w))
			if want > 0 {
				m++
			}
			if got := v.Occurrences(u, w); got != want || slices.Contains(v.Adj(u), w) != (want > 0) || g.Entry(u, w) >= 0 != (want > 0) {
				return fmt.Errorf("%d-%d occurs %d times, want %d", u, w, got, want)
			}
			if p.s.Directed && slices.Contains(v.In(w), u) != (want > 0) {
				return fmt.Errorf("arc %d-%d: rows of arriving arcs differ", u, w)
			}
			if want == 0 {
				continue
			}
			cat, attr := p.value(p.key(u, w))
			if p.s.EdgeCats > 0 && g.EdgeCat[g.Entry(u, w)] != cat {
				return fmt.Errorf("%d-%d has the attribute %d, want %d", u, w, g.EdgeCat[g.Entry(u, w)], cat)
			}
			if p.s.EdgeAttrs > 0 && g.EdgeAttr[g.Entry(u, w)] != attr {
				return fmt.Errorf("%d-%d has the attribute %v, want %v", u, w, g.EdgeAttr[g.Entry(u, w)], attr)
			}
		}
		if p.s.NodeCats > 0 && g.NodeCat[u] != p.node[u] {
			return fmt.Errorf("node %d has the attribute %d, want %d", u, g.NodeCat[u], p.node[u])
		}
		class, ok := p.class[u]
		if !ok {
			class = -1
		}
		if v.Class(u) != class {
			return fmt.Errorf("node %d has class %d, want %d", u, v.Class(u), class)
		}
	}
	if !p.s.Directed {
		m /= 2
	} else if in != m {
		return fmt.Errorf("%d arriving arcs, want %d", in, m)
	}
	if v.M() != m {
		return fmt.Errorf("%d edges, want %d", v.M(), m)
	}
	return nil
}

// mirror is a simple graph that follows changes alone.
type mirror map[graph.Edge]bool

func (m mirror) follow(c dynamic.Change) {
	e := graph.Edge{U: c.U, V: c.V}
	back := graph.Edge{U: c.V, V: c.U}
	switch c.Kind {
	case event.AddEdge:
		if m[e] {
			panic("added twice")
		}
		m[e] = true
	case event.RemoveEdge:
		if !m[e] && !m[back] {
			panic("removed what is not there")
		}
		if m[e] {
			delete(m, e)
		} else {
			delete(m, back)
		}
	}
}

// summed has the smallest discrete attributes, and the sums of the others.
func summed(all []dynamic.Occurrence) (cat []int32, attr []float32) {
	cat = slices.MinFunc(all, func(a, b dynamic.Occurrence) int { return slices.Compare(a.Cat, b.Cat) }).Cat
	sums := make([]float64, len(all[0].Attr))
	for _, o := range all {
		for i, x := range o.Attr {
			sums[i] += float64(x)
		}
	}
	for _, x := range sums {
		attr = append(attr, float32(x))
	}
	return cat, attr
}

func drawSettings(t *rapid.T) (s dynamic.Settings) {
	s = dynamic.Settings{
		Directed: rapid.Bool().Draw(t, "directed"),
		NodeCats: rapid.IntRange(0, 1).Draw(t, "node cats"), EdgeCats: rapid.IntRange(0, 1).Draw(t, "edge cats"),
		EdgeAttrs: rapid.IntRange(0, 1).Draw(t, "edge attrs"),
	}
	if rapid.Bool().Draw(t, "sum") {
		s.Union = summed
	}
	switch rapid.IntRange(0, 2).Draw(t, "window") {
	case 1:
		s.Last = rapid.IntRange(1, 20).Draw(t, "last")
	case 2:
		s.Within = rapid.Int64Range(1, 15).Draw(t, "within")
	}
	return s
}

func drawEvent(t *rapid.T, s dynamic.Settings, n int, pos, time int64) event.Event {
	e := event.Event{
		Kind: event.Kind(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5}).Draw(t, "kind")), Pos: pos,
		Time:   time - rapid.SampledFrom([]int64{0, 0, 0, 1, 5, 20}).Draw(t, "late"),
		Source: int32(rapid.IntRange(0, n-1).Draw(t, "source")), Target: int32(rapid.IntRange(0, n-1).Draw(t, "target")),
	}
	c := []int32{int32(rapid.IntRange(0, 2).Draw(t, "cat"))}
	switch e.Kind {
	case event.AddEdge, event.SetEdge:
		e.Cat = c[:s.EdgeCats]
		// A sum of these depends on the order in float32, and in float64.
		e.Attr = []float32{rapid.SampledFrom([]float32{0, 1, -1, 0.1, 1e-9, 3e16, -3e16}).Draw(t, "attr")}[:s.EdgeAttrs]
	case event.SetNode:
		e.Cat = c[:s.NodeCats]
	case event.SetClass:
		e.Class = c[0] - 1
	}
	return e
}

// A dynamic graph is a list of occurrences, and its changes are those of a simple graph.
func TestAgainstLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		g, err := dynamic.New(s)
		if err != nil {
			t.Fatal(err)
		}
		p := &plain{s: s, now: -1 << 62, node: map[int32]int32{}, class: map[int32]int32{}}
		m := mirror{}
		n, time := rapid.SampledFrom([]int{3, 8, 90}).Draw(t, "n"), int64(0)
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			time += rapid.Int64Range(0, 3).Draw(t, "step")
			e := drawEvent(t, s, n, int64(i), time)
			if err := g.Apply(&e, nil, m.follow); err != nil {
				t.Fatal(err)
			}
			p.apply(e)
			if i%8 == 7 && n < 90 {
				if err := p.compare(g); err != nil {
					t.Fatalf("after event %d, %+v: %v", i, e, err)
				}
			}
		}
		if err := p.compare(g); err != nil {
			t.Fatal(err)
		}
		if len(m) != g.M() {
			t.Fatalf("changes leave %d edges, want %d", len(m), g.M())
		}
	})
}

// A removal takes the oldest occurrence that it finds. An older occurrence that comes
// after the removal leaves the window at its own time.
func TestLateAfterRemoval(t *testing.T) {
	g, err := dynamic.New(dynamic.Settings{Within: 15})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range []struct {
		event.Event
		want int // occurrences of the edge 0-1 after the event
	}{
		{event.Event{Kind: event.AddEdge, Target: 1}, 1},
		{event.Event{Kind: event.RemoveEdge, Target: 1}, 0},
		{event.Event{Kind: event.AddEdge, Target: 1, Time: -5}, 1},
		{event.Event{Kind: event.SetClass, Time: 9}, 1},
		{event.Event{Kind: event.SetClass, Time: 10}, 0},
		{event.Event{Kind: event.SetClass, Time: 20}, 0},
	} {
		if err := g.Apply(&e.Event, nil, nil); err != nil {
			t.Fatal(err)
		}
		if got := g.Occurrences(0, 1); got != e.want {
			t.Errorf("after event %d, the edge occurs %d times, want %d", i, got, e.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, s := range []dynamic.Settings{{Last: 1, Within: 1}, {Last: -1}, {NodeCats: -1}} {
		if _, err := dynamic.New(s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	g, err := dynamic.New(dynamic.Settings{EdgeCats: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []event.Event{{Source: dynamic.MaxNodes}, {Target: 1 << 30}, {Source: -1}, {Kind: 44}, {Target: 1, Cat: []int32{1, 2}}} {
		if err := g.Apply(&e, nil, nil); err == nil {
			t.Errorf("%+v: no error", e)
		}
	}
	if g.N() != 0 || g.Stats() != (dynamic.Stats{}) {
		t.Error("events that were refused have changed the graph")
	}
}

// The graph takes at most three times the memory of its compressed sparse rows, also
// while edges come and go.
func TestMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := race.Share(20_000)
	m := 4 * n
	for _, s := range []dynamic.Settings{{}, {Directed: true}, {NodeCats: 1, EdgeCats: 1}} {
		g, err := dynamic.New(s)
		if err != nil {
			t.Fatal(err)
		}
		var edges []graph.Edge
		for i := range 3 * m {
			e := graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))}
			if i%17 == 0 {
				e.U = 0 // a hub
			}
			if i >= m {
				x := rng.IntN(len(edges))
				if err := g.Apply(&event.Event{Kind: event.RemoveEdge, Source: edges[x].U, Target: edges[x].V}, nil, nil); err != nil {
					t.Fatal(err)
				}
				edges[x] = e
			} else {
				edges = append(edges, e)
			}
			if err := g.Apply(&event.Event{Source: e.U, Target: e.V}, nil, nil); err != nil {
				t.Fatal(err)
			}
			if i%m == m-1 {
				static, changing := g.Graph().Bytes(), dynamic.Bytes(g)
				if s.Directed { // which has the rows of arriving arcs too
					offsets, tails, _ := g.Graph().Transpose()
					static += 4 * int64(len(offsets)+len(tails))
				}
				if changing > 3*static {
					t.Errorf("%+v: %d bytes, want at most 3 × %d", s, changing, static)
				}
			}
		}
	}
}

// Additions to an edge do not unite its occurrences: a question does, once, and what was last taken is not in it.
func TestUniteOnce(t *testing.T) {
	calls, rows := 0, 0
	g, err := dynamic.New(dynamic.Settings{EdgeCats: 1, EdgeAttrs: 1, Union: func(all []dynamic.Occurrence) ([]int32, []float32) {
		calls, rows = calls+1, rows+len(all)
		return summed(all)
	}})
	if err != nil {
		t.Fatal(err)
	}
	const k = 20_000
	for i := range k {
		e := event.Event{Kind: event.AddEdge, Source: int32(i % 2), Target: int32(1 - i%2), Cat: []int32{3}, Attr: []float32{1}}
		if err := g.Apply(&e, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Apply(&event.Event{Kind: event.RemoveEdge, Source: 1, Target: 0}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if calls > 0 || !g.Stale(1, 0) || !g.Stale(0, 1) {
		t.Errorf("%d calls of Union with %d rows before a question, want none; stale is %v", calls, rows, g.Stale(0, 1))
	}
	for range 2 {
		if h := g.Graph(); h.EdgeAttr[0] != k-1 || h.EdgeAttr[1] != k-1 || g.Stale(0, 1) {
			t.Errorf("the sums are %v, want %d", h.EdgeAttr, k-1)
		}
	}
	if calls != 1 || rows != k-1 {
		t.Errorf("%d calls of Union with %d rows, want one with %d", calls, rows, k-1)
	}
}
