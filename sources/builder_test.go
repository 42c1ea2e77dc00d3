package sources

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
)

// Whatever is built obeys the rules of package graph and holds what was said.
func TestBuilder(t *testing.T) {
	var b Builder // for all graphs, one after the other
	rapid.Check(t, func(t *rapid.T) {
		b.Directed = rapid.Bool().Draw(t, "directed")
		n := rapid.IntRange(1, 6).Draw(t, "n")
		width := rapid.SliceOfN(rapid.IntRange(0, 2), 4, 4).Draw(t, "widths")
		node := func(v int32) ([]int32, []float32) {
			return []int32{v, 2 * v}[:width[0]], []float32{float32(v), -1}[:width[1]]
		}
		edge := func(u, v int32) ([]int32, []float32) {
			if !b.Directed {
				u, v = min(u, v), max(u, v)
			}
			return []int32{u, v}[:width[2]], []float32{float32(u), float32(v)}[:width[3]]
		}
		for v := range int32(n) {
			cat, attr := node(v)
			if got := b.Node(cat...); got != v {
				t.Fatalf("node %d is called %d", v, got)
			}
			b.NodeAttr(attr...)
		}
		var edges []graph.Edge
		for range rapid.IntRange(0, 12).Draw(t, "m") {
			e := graph.Edge{U: rapid.Int32Range(0, int32(n)-1).Draw(t, "u"), V: rapid.Int32Range(0, int32(n)-1).Draw(t, "v")}
			edges = append(edges, e)
			cat, attr := edge(e.U, e.V)
			b.Edge(e.U, e.V, cat...)
			b.EdgeAttr(attr...)
		}
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		plain, err := graph.New(n, b.Directed, edges)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.Offsets, plain.Offsets) || !slices.Equal(g.Neighbors, plain.Neighbors) || g.Directed != b.Directed {
			t.Fatalf("%v has the rows %v %v", edges, g.Offsets, g.Neighbors)
		}
		for v := range int32(n) {
			cat, attr := node(v)
			if !slices.Equal(rows.Values(g.NodeCat, v, g.NodeCats), cat) || !slices.Equal(rows.Values(g.NodeAttr, v, g.NodeAttrs), attr) {
				t.Fatalf("node %d has other attributes", v)
			}
			for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
				cat, attr := edge(v, g.Neighbors[i])
				if !slices.Equal(rows.Values(g.EdgeCat, i, g.EdgeCats), cat) || !slices.Equal(rows.Values(g.EdgeAttr, i, g.EdgeAttrs), attr) {
					t.Fatalf("edge %d–%d has other attributes", v, g.Neighbors[i])
				}
			}
		}
	})
}

func TestBuilderErrors(t *testing.T) {
	var b Builder
	for _, c := range []struct {
		want string
		make func()
	}{
		{"", func() {}},
		{"", func() { b.Edge(0, 4); b.Edge(0, 0); b.Node() }},
		{"node 1 has 2 discrete attributes, want 1 as node 0 has", func() { b.Node(1); b.Node(1, 2) }},
		{"node 2 has no attributes, and others have", func() { b.Node(1); b.Node(1); b.Edge(0, 2) }},
		{"attributes before the first node", func() { b.NodeAttr(1); b.Node() }},
		{"node 1 makes it 3 continuous attributes, want 2 for each node, as node 0 has", func() { b.Node(); b.NodeAttr(1, 2); b.Node(); b.NodeAttr(3) }},
		{"2 continuous attributes of 2 nodes, want 2 for each", func() { b.Node(); b.NodeAttr(1, 2); b.Node() }},
		{"node 1 makes it 1 continuous attributes, want 0 for each node, as node 0 has", func() { b.Node(); b.Node(); b.NodeAttr(1) }},
		{"edge 1–2 has 0 discrete attributes, want 1 as the first edge has", func() { b.Edge(0, 1, 3); b.Edge(1, 2) }},
		{"attributes before the first edge", func() { b.EdgeAttr(1) }},
		{"1 continuous attributes of 2 edges, want 1 for each", func() { b.Edge(0, 1); b.EdgeAttr(1); b.Edge(1, 2) }},
		{"edge 1–2 makes it 1 continuous attributes, want 0 for each edge, as the first has", func() { b.Edge(0, 1); b.Edge(1, 2); b.EdgeAttr(1) }},
		{"edge -1–0, want nodes 0 to 1048575", func() { b.Edge(-1, 0) }},
		{"edge 0–2000000000, want nodes 0 to 1048575", func() { b.Edge(0, 2e9) }},
		{"more than 2 nodes; raise MaxNodes if that is right", func() { b.MaxNodes = 2; b.Node(); b.Node(); b.Node() }},
	} {
		c.make()
		g, err := b.Graph()
		if c.want == "" && (err != nil || g.Check() != nil) || c.want != "" && (g != nil || err == nil || err.Error() != "sources: Builder: "+c.want) {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
	b.MaxNodes = 0
	b.Edge(1, 0) // after all these errors
	if g, err := b.Graph(); err != nil || g.N() != 2 || g.M() != 1 {
		t.Errorf("%v, %v", g, err)
	}
}
