package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/graph"
)

// naive builds the graph from an adjacency matrix.
func naive(n int, directed bool, edges []graph.Edge) *graph.Graph {
	has := make([][]bool, n)
	for v := range has {
		has[v] = make([]bool, n)
	}
	for _, e := range edges {
		has[e.U][e.V] = true
		has[e.V][e.U] = has[e.V][e.U] || !directed
	}
	g := &graph.Graph{Offsets: []int32{0}, Neighbors: []int32{}, Directed: directed}
	for u := range n {
		for v := range n {
			if has[u][v] && u != v {
				g.Neighbors = append(g.Neighbors, int32(v))
			}
		}
		g.Offsets = append(g.Offsets, int32(len(g.Neighbors)))
	}
	return g
}

func FuzzNew(f *testing.F) {
	f.Add(uint8(0), false, []byte{})
	f.Add(uint8(1), true, []byte{0, 0})
	f.Add(uint8(4), false, []byte{0, 1, 1, 0, 0, 1, 2, 3, 3, 3})
	f.Add(uint8(4), true, []byte{0, 1, 1, 0, 0, 1, 2, 3, 3, 3, 4, 0})
	f.Add(uint8(3), false, []byte{255, 0, 1})
	f.Fuzz(func(t *testing.T, nodes uint8, directed bool, ends []byte) {
		n := int(nodes % 40)
		var edges []graph.Edge
		valid := true
		for ; len(ends) >= 2; ends = ends[2:] {
			e := graph.Edge{U: int32(int8(ends[0])), V: int32(int8(ends[1]))}
			valid = valid && e.U >= 0 && e.V >= 0 && int(e.U) < n && int(e.V) < n
			edges = append(edges, e)
		}
		before := slices.Clone(edges)
		g, err := graph.New(n, directed, edges)
		if !slices.Equal(edges, before) {
			t.Error("New has written to its edges")
		}
		if (err == nil) != valid {
			t.Fatalf("the error is %v; valid is %t", err, valid)
		}
		if err != nil {
			return
		}
		if want, got := fmt.Sprintf("%+v", naive(n, directed, edges)), fmt.Sprintf("%+v", g); got != want {
			t.Errorf("New makes\n%s, want\n%s", got, want)
		}
		if err := g.Check(); err != nil {
			t.Error(err)
		}
		checkTranspose(t, g)
	})
}

func checkTranspose(t interface{ Errorf(string, ...any) }, g *graph.Graph) {
	offsets, tails, entry := g.Transpose()
	n, i := g.N(), int32(0)
	for v := range int32(n) {
		if offsets[v] != i {
			t.Errorf("the incoming arcs of %d start at %d, want %d", v, offsets[v], i)
		}
		for u := range int32(n) {
			if e := g.Entry(u, v); e >= 0 {
				if tails[i] != u || entry[i] != int32(e) {
					t.Errorf("arc %d→%d stands as %d with entry %d, want entry %d", u, v, tails[i], entry[i], e)
				}
				i++
			}
		}
	}
	if int(i) != len(tails) || offsets[n] != i {
		t.Errorf("there are %d incoming arcs, want %d", len(tails), i)
	}
	if !g.Directed && len(g.Offsets) > 0 && (!slices.Equal(offsets, g.Offsets) || !slices.Equal(tails, g.Neighbors)) {
		t.Errorf("an undirected graph is not its own transpose")
	}
}

func TestNewBounds(t *testing.T) {
	for _, c := range []struct {
		n     int
		edges []graph.Edge
		want  string
	}{
		{-1, nil, "graph: -1 nodes, want 0 to 2147483646"},
		{1 << 31, nil, "graph: 2147483648 nodes, want 0 to 2147483646"},
		{2, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}}, "graph: edge 1 joins 1 and 2, want nodes 0 to 1"},
		{2, []graph.Edge{{U: -1, V: 1}}, "graph: edge 0 joins -1 and 1, want nodes 0 to 1"},
		{0, []graph.Edge{{U: 0, V: 0}}, "graph: edge 0 joins 0 and 0, want nodes 0 to -1"},
	} {
		if _, err := graph.New(c.n, false, c.edges); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
}

// attributed draws a graph with attributes of every kind.
func attributed(t *rapid.T) *graph.Graph {
	n := rapid.IntRange(0, 12).Draw(t, "n")
	directed := rapid.Bool().Draw(t, "directed")
	var edges []graph.Edge
	if n > 0 {
		node := rapid.Int32Range(0, int32(n-1))
		edges = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) graph.Edge {
			return graph.Edge{U: node.Draw(t, "u"), V: node.Draw(t, "v")}
		}), 0, 30).Draw(t, "edges")
	}
	g, err := graph.New(n, directed, edges)
	if err != nil {
		t.Fatal(err)
	}
	g.NodeCats, g.NodeAttrs, g.EdgeCats, g.EdgeAttrs = 1, 2, 2, 1
	g.SparseCard, g.SparseOffsets = 20, []int32{0}
	for v := range int32(n) {
		g.NodeSparse = append(g.NodeSparse, []int32{v, v + 7}[:v%3]...)
		g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		g.NodeCat = append(g.NodeCat, v)
		g.NodeAttr = append(g.NodeAttr, float32(v), float32(2*v))
		for _, u := range g.Adj(v) {
			a, b := v, u
			if !directed {
				a, b = min(u, v), max(u, v)
			}
			g.EdgeCat = append(g.EdgeCat, a, b)
			g.EdgeAttr = append(g.EdgeAttr, float32(a)+float32(b)/16)
		}
	}
	return g
}

func TestRenumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := attributed(t)
		n := g.N()
		var perm []int32
		for _, p := range rapid.Permutation(seq(n)).Draw(t, "perm") {
			perm = append(perm, int32(p))
		}
		h := g.Renumber(perm)
		if err := h.Check(); err != nil {
			t.Fatal(err)
		}
		if h.N() != n || h.M() != g.M() || h.Directed != g.Directed {
			t.Fatalf("%d nodes and %d edges, want %d and %d", h.N(), h.M(), n, g.M())
		}
		for v := range int32(n) {
			p := perm[v]
			if h.NodeCat[p] != v || h.NodeAttr[2*p+1] != float32(2*v) || h.Degree(p) != g.Degree(v) || !slices.Equal(h.Sparse(p), g.Sparse(v)) {
				t.Fatalf("node %d is not what %d was", p, v)
			}
			for _, u := range g.Adj(v) {
				e, f := g.Entry(v, u), h.Entry(p, perm[u])
				if f < 0 || !slices.Equal(g.EdgeCat[2*e:2*e+2], h.EdgeCat[2*f:2*f+2]) || g.EdgeAttr[e] != h.EdgeAttr[f] {
					t.Fatalf("edge %d-%d is not what %d-%d was", p, perm[u], v, u)
				}
			}
		}
		back := make([]int32, n)
		for v, p := range perm {
			back[p] = int32(v)
		}
		if want, got := fmt.Sprintf("%+v", g.Renumber(identity(n))), fmt.Sprintf("%+v", h.Renumber(back)); got != want {
			t.Fatalf("there and back is\n%s, want\n%s", got, want)
		}
	})
}

func TestTransposeLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var edges []graph.Edge
	for range 2000 {
		edges = append(edges, graph.Edge{U: rng.Int32N(300), V: rng.Int32N(300)})
	}
	g, err := graph.New(300, true, edges)
	if err != nil {
		t.Fatal(err)
	}
	checkTranspose(t, g)
}

func TestCheck(t *testing.T) {
	good := func() *graph.Graph {
		g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 2}, {U: 2, V: 3}})
		if err != nil {
			t.Fatal(err)
		}
		g.NodeCats, g.NodeCat = 1, make([]int32, 4)
		g.NodeAttrs, g.NodeAttr = 2, make([]float32, 8)
		g.EdgeCats, g.EdgeCat = 1, make([]int32, 8)
		g.EdgeAttrs, g.EdgeAttr = 1, make([]float32, 8)
		g.SparseCard, g.SparseOffsets, g.NodeSparse = 5, []int32{1, 3, 3, 4, 5}, []int32{9, 0, 4, 2, 2}
		return g
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	if err := (&graph.Graph{}).Check(); err != nil {
		t.Errorf("no graph at all: %v", err)
	}
	for _, c := range []struct {
		want  string
		spoil func(g *graph.Graph)
	}{
		{"offsets start at 1", func(g *graph.Graph) { g.Offsets[0] = 1 }},
		{"offsets fall from 7 to 1 at node 2", func(g *graph.Graph) { g.Offsets[2], g.Offsets[3] = 7, 1 }},
		{"offsets end at 7", func(g *graph.Graph) { g.Offsets[4] = 7 }},
		{"8 neighbours without a node", func(g *graph.Graph) { g.Offsets = nil }},
		{"node 0 has neighbour 4", func(g *graph.Graph) { g.Neighbors[1] = 4 }},
		{"node 0 has neighbour -1", func(g *graph.Graph) { g.Neighbors[0] = -1 }},
		{"node 3 is its own neighbour", func(g *graph.Graph) { g.Neighbors[7] = 3 }},
		{"neighbours of node 0 are not strictly ascending", func(g *graph.Graph) { g.Neighbors[1] = 1 }},
		{"edge 2-3 lacks its other direction", func(g *graph.Graph) { g.Neighbors[7] = 1 }},
		{"node_cat has 3 values, want 4 × 1", func(g *graph.Graph) { g.NodeCat = g.NodeCat[:3] }},
		{"node_attr has 9 values, want 4 × 2", func(g *graph.Graph) { g.NodeAttr = append(g.NodeAttr, 1) }},
		{"node_cat has 4 values, want 4 × 0", func(g *graph.Graph) { g.NodeCats, g.NodeCat[1] = 0, -1 }},
		{"edge_cat has 0 values, want 8 × 1", func(g *graph.Graph) { g.EdgeCat = nil }},
		{"edge_attr has 8 values, want 8 × 0", func(g *graph.Graph) { g.EdgeAttrs = 0 }},
		{"node_cat of node 2 is -1, want an index from 0", func(g *graph.Graph) { g.NodeCat[2] = -1 }},
		{"edge_cat of entry 3 is -5, want an index from 0", func(g *graph.Graph) { g.EdgeCat[3] = -5 }},
		{"edge 0-2 has other attributes in its other direction", func(g *graph.Graph) { g.EdgeCat[1] = 1 }},
		{"edge 2-3 has other attributes in its other direction", func(g *graph.Graph) { g.EdgeAttr[7] = 0.5 }},
		{"node_sparse has 4 offsets, want 5", func(g *graph.Graph) { g.SparseOffsets = g.SparseOffsets[1:] }},
		{"offset 2 of node_sparse is 0, want 3 to 5", func(g *graph.Graph) { g.SparseOffsets[2] = 0 }},
		{"offset 4 of node_sparse is 6, want 4 to 5", func(g *graph.Graph) { g.SparseOffsets[4] = 6 }},
		{"offset 0 of node_sparse is -1, want 0 to 5", func(g *graph.Graph) { g.SparseOffsets[0] = -1 }},
		{"node 3 has the index 5 in node_sparse, want 0 to 4", func(g *graph.Graph) { g.NodeSparse[4] = 5 }},
		{"node 3 has the index -1 in node_sparse, want 0 to 4", func(g *graph.Graph) { g.NodeSparse[4] = -1 }},
		{"node_sparse of node 0 is not strictly ascending", func(g *graph.Graph) { g.NodeSparse[2] = 0 }},
	} {
		g := good()
		c.spoil(g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, want %q", err, c.want)
		}
	}
	// One direction is enough where the graph is directed.
	if err := (&graph.Graph{Offsets: []int32{0, 1, 1}, Neighbors: []int32{1}, Directed: true}).Check(); err != nil {
		t.Error(err)
	}
}

// FuzzCheck makes sure that Check can be given anything, and that what passes
// can be walked.
func FuzzCheck(f *testing.F) {
	f.Add([]byte{0, 2, 4, 7, 8}, []byte{1, 2, 0, 2, 0, 1, 3, 2}, false)
	f.Add([]byte{}, []byte{}, false)
	f.Add([]byte{48}, []byte{}, false)
	f.Add([]byte{0, 200, 1}, []byte{1}, true)
	f.Fuzz(func(t *testing.T, offsets, neighbors []byte, directed bool) {
		g := &graph.Graph{Directed: directed}
		for _, o := range offsets {
			g.Offsets = append(g.Offsets, int32(int8(o)))
		}
		for _, v := range neighbors {
			g.Neighbors = append(g.Neighbors, int32(int8(v)))
		}
		if g.Check() != nil {
			return
		}
		checkTranspose(t, g)
		entries := 0
		for v := range int32(g.N()) {
			entries += g.Degree(v)
			for _, u := range g.Adj(v) {
				if g.Entry(v, u) < 0 {
					t.Errorf("%d is a neighbour of %d and has no entry", u, v)
				}
			}
		}
		if entries != len(g.Neighbors) {
			t.Errorf("%d entries, want %d", entries, len(g.Neighbors))
		}
	})
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func identity(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}
