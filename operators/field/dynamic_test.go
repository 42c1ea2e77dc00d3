package field_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
)

// edited is a graph under edits, as a matrix.
type edited struct {
	n    int
	g    graph.Graph // attributes by node
	edge map[graph.Edge]int32
}

func (e *edited) graph() *graph.Graph {
	var edges []graph.Edge
	for x := range e.edge {
		edges = append(edges, x)
	}
	g := build(e.n, e.g.Directed, edges)
	g.NodeCats, g.NodeCat, g.EdgeCats = e.g.NodeCats, e.g.NodeCat, e.g.EdgeCats
	if g.EdgeCats > 0 {
		for u := range int32(e.n) {
			for _, v := range g.Adj(u) {
				g.EdgeCat = append(g.EdgeCat, e.edge[e.key(u, v)])
			}
		}
	}
	return g
}

func (e *edited) key(u, v int32) graph.Edge {
	if !e.g.Directed && u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

// changing is a graph that changes, with the fields or the index that follow it.
type changing struct {
	*field.Kept
	d *field.DynamicIndex
	g *dynamic.Graph
}

// keptOf keeps the fields of a copy of a graph.
func keptOf(g *graph.Graph, dir field.Direction, norm *field.Normalizer) *changing {
	d := dynamicOf(g)
	k := field.NewKept(d, dir, norm)
	return &changing{k, field.IndexOf(k), d}
}

func indexOf(g *graph.Graph, dir field.Direction) *changing {
	d := dynamicOf(g)
	return &changing{d: field.NewDynamicIndex(d, dir), g: d}
}

// dynamicOf is g as a graph that changes.
func dynamicOf(g *graph.Graph) *dynamic.Graph {
	d, err := dynamic.New(dynamic.Settings{Directed: g.Directed, NodeCats: g.NodeCats, EdgeCats: g.EdgeCats})
	if err != nil {
		panic(err)
	}
	apply := func(e event.Event) {
		if err := d.Apply(&e, nil, nil); err != nil {
			panic(err)
		}
	}
	for v := range int32(g.N()) {
		apply(event.Event{Kind: event.SetNode, Source: v, Cat: g.NodeCat[int(v)*g.NodeCats : int(v+1)*g.NodeCats]})
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			if u := g.Neighbors[i]; g.Directed || u > v {
				apply(event.Event{Source: v, Target: u, Cat: g.EdgeCat[int(i)*g.EdgeCats : int(i+1)*g.EdgeCats]})
			}
		}
	}
	return d
}

func (c *changing) apply(e event.Event) {
	if c.Kept != nil {
		if err := c.Kept.Apply(&e); err != nil {
			panic(err)
		}
	} else if err := c.g.Apply(&e, nil, c.follow); err != nil {
		panic(err)
	}
}

// follow tells the index of a change.
func (c *changing) follow(x dynamic.Change) {
	switch x.Kind {
	case event.AddEdge:
		c.d.Add(x.U, x.V)
	case event.RemoveEdge:
		c.d.Remove(x.U, x.V)
	default:
		c.d.Grow()
	}
}

func (c *changing) Add(u, v int32, cat []int32) { c.apply(event.Event{Source: u, Target: v, Cat: cat}) }
func (c *changing) Remove(u, v int32) {
	c.apply(event.Event{Kind: event.RemoveEdge, Source: u, Target: v})
}
func (c *changing) SetEdge(u, v int32, cat []int32) {
	c.apply(event.Event{Kind: event.SetEdge, Source: u, Target: v, Cat: cat})
}
func (c *changing) SetNode(v int32, cat []int32) {
	c.apply(event.Event{Kind: event.SetNode, Source: v, Cat: cat})
}

// Grow makes the graph one of n nodes.
func (c *changing) Grow(n int) {
	for v := c.g.N(); v < n; v++ {
		c.apply(event.Event{Kind: event.SetClass, Source: int32(v), Class: -1})
	}
}

// Fields of an index that follows changes are those of an index made anew.
func TestDynamicIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	for round := range race.Share(120) {
		e := &edited{n: 1 + rng.IntN(120), edge: map[graph.Edge]int32{}}
		e.g.Directed, e.g.EdgeCats = round%2 == 1, round/2%2
		if e.g.NodeCats = round / 4 % 2; e.g.NodeCats > 0 {
			e.g.NodeCat = make([]int32, e.n)
		}
		var d *changing
		dir := field.Both
		if e.g.Directed {
			dir = field.Direction(rng.IntN(3))
		}
		hubs := 1 + rng.IntN(4)
		for step := range 400 {
			if step == 40 {
				d = indexOf(e.graph(), dir)
			}
			u, v := int32(rng.IntN(min(hubs, e.n))), int32(rng.IntN(e.n))
			if rng.IntN(2) == 0 {
				u = int32(rng.IntN(e.n))
			}
			c := int32(rng.IntN(3))
			key := e.key(u, v)
			_, there := e.edge[key]
			switch op := rng.IntN(12); {
			case op == 0:
				e.n += rng.IntN(3)
				e.g.NodeCat = append(e.g.NodeCat, make([]int32, e.n*e.g.NodeCats-len(e.g.NodeCat))...)
				if d != nil {
					d.Grow(e.n)
				}
			case op == 1 && e.g.NodeCats > 0:
				e.g.NodeCat[v] = c
				if d != nil {
					d.SetNode(v, []int32{c})
				}
			case u == v:
			case there && op < 6:
				delete(e.edge, key)
				if d != nil {
					d.Remove(u, v)
				}
			case there && e.g.EdgeCats > 0:
				e.edge[key] = c
				if d != nil {
					d.SetEdge(u, v, []int32{c})
				}
			case !there:
				e.edge[key] = c
				if d != nil {
					d.Add(u, v, []int32{c}[:e.g.EdgeCats])
				}
			}
			if step > 40 && rng.IntN(40) == 0 || step == 40 {
				want, k := field.NewIndex(e.graph(), dir), []int{1, 4, 10, 70}[rng.IntN(4)]
				equalFields(t, d.d, want, k, rng)
			}
		}
	}
}

// equalFields compares fields of some roots.
func equalFields(t *testing.T, d *field.DynamicIndex, want *field.Index, k int, rng *rand.Rand) {
	t.Helper()
	ix := d.Index()
	if ix.N() != want.N() {
		t.Fatalf("%d nodes, want %d", ix.N(), want.N())
	}
	var a field.Assembler
	z := field.Normalizer{K: k}
	got, expected := make([]int32, k), make([]int32, k)
	var finder field.EdgeFinder
	entry := make([]int32, k*k)
	cats, wantCats := make([]int32, k*k), make([]int32, k*k)
	for range 20 {
		root := int32(rng.IntN(want.N()))
		hood, dist := a.Assemble(want, root, k)
		if err := z.Normalize(want, hood, dist, nil, expected); err != nil {
			t.Fatal(err)
		}
		hood, dist = a.Assemble(ix, root, k)
		if err := z.Normalize(ix, hood, dist, nil, got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, expected) {
			t.Fatalf("k=%d, root %d: %v, want %v", k, root, got, expected)
		}
		if ix.Graph().EdgeCats > 0 {
			finder.Edges(want.Graph(), expected, entry)
			field.EdgeCats(want.Graph(), entry, wantCats)
			finder.EdgesOf(ix, got, entry)
			field.EdgeCats(ix.Graph(), entry, cats)
			if !slices.Equal(cats, wantCats) {
				t.Fatalf("k=%d, root %d: edges %v, want %v", k, root, cats, wantCats)
			}
		}
	}
}
