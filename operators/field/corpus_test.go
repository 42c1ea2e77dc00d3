package field_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

type named struct {
	name string
	g    *graph.Graph
}

func build(n int, directed bool, edges []graph.Edge) *graph.Graph {
	g, err := graph.New(n, directed, edges)
	if err != nil {
		panic(err)
	}
	return g
}

// grid is a rows × cols grid in row-major order, with 4 or 8 neighbours.
func grid(rows, cols, neighbours int, wrap bool) *graph.Graph {
	var edges []graph.Edge
	steps := [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}}[:neighbours/2]
	for r := range rows {
		for c := range cols {
			for _, s := range steps {
				a, b := r+s[0], c+s[1]
				if wrap {
					a, b = (a+rows)%rows, (b+cols)%cols
				}
				if a >= 0 && a < rows && b >= 0 && b < cols {
					edges = append(edges, graph.Edge{U: int32(r*cols + c), V: int32(a*cols + b)})
				}
			}
		}
	}
	return build(rows*cols, false, edges)
}

func random(rng *rand.Rand, n, m int, directed bool) *graph.Graph {
	edges := make([]graph.Edge, m)
	for i := range edges {
		edges[i] = graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))}
	}
	return build(n, directed, edges)
}

// preferential attaches every new node to d earlier ends of edges.
func preferential(rng *rand.Rand, n, d int) *graph.Graph {
	var edges []graph.Edge
	ends := []int32{0}
	for v := 1; v < n; v++ {
		for range d {
			u := ends[rng.IntN(len(ends))]
			edges = append(edges, graph.Edge{U: u, V: int32(v)})
			ends = append(ends, u, int32(v))
		}
	}
	return build(n, false, edges)
}

func path(n int) []graph.Edge {
	var edges []graph.Edge
	for v := 1; v < n; v++ {
		edges = append(edges, graph.Edge{U: int32(v - 1), V: int32(v)})
	}
	return edges
}

func cycle(first, n int) []graph.Edge {
	var edges []graph.Edge
	for v := range n {
		edges = append(edges, graph.Edge{U: int32(first + v), V: int32(first + (v+1)%n)})
	}
	return edges
}

func petersen() *graph.Graph {
	var edges []graph.Edge
	for v := range int32(5) {
		edges = append(edges, graph.Edge{U: v, V: (v + 1) % 5}, graph.Edge{U: v, V: v + 5}, graph.Edge{U: v + 5, V: (v+2)%5 + 5})
	}
	return build(10, false, edges)
}

// cayley returns the graph on 4 × 4 pairs that joins pairs whose difference is
// one of the steps, or its negative.
func cayley(steps [][2]int) *graph.Graph {
	var edges []graph.Edge
	for v := range 16 {
		for _, s := range steps {
			edges = append(edges, graph.Edge{U: int32(v), V: int32((v/4+s[0])%4*4 + (v%4+s[1])%4)})
		}
	}
	return build(16, false, edges)
}

func shrikhande() *graph.Graph { return cayley([][2]int{{0, 1}, {1, 0}, {1, 1}}) }
func rook() *graph.Graph       { return cayley([][2]int{{0, 1}, {0, 2}, {1, 0}, {2, 0}}) }

// starOfTriangles is a hub with n triangles that share it.
func starOfTriangles(n int) *graph.Graph {
	var edges []graph.Edge
	for i := range int32(n) {
		edges = append(edges, graph.Edge{U: 0, V: 2*i + 1}, graph.Edge{U: 0, V: 2*i + 2}, graph.Edge{U: 2*i + 1, V: 2*i + 2})
	}
	return build(2*n+1, false, edges)
}

func star(n int) *graph.Graph {
	var edges []graph.Edge
	for v := 1; v < n; v++ {
		edges = append(edges, graph.Edge{U: 0, V: int32(v)})
	}
	return build(n, false, edges)
}

// spokes is a hub to which cycles of the given lengths are tied by one edge per
// node: refinement does not tell the cycles apart.
func spokes(lengths ...int) *graph.Graph {
	n := 1
	var edges []graph.Edge
	for _, l := range lengths {
		edges = append(edges, cycle(n, l)...)
		for v := range l {
			edges = append(edges, graph.Edge{U: 0, V: int32(n + v)})
		}
		n += l
	}
	return build(n, false, edges)
}

// withNodeAttributes gives g random discrete and continuous attributes.
func withNodeAttributes(rng *rand.Rand, g *graph.Graph, cats, attrs int) *graph.Graph {
	h := *g
	h.NodeCats, h.NodeAttrs = cats, attrs
	h.NodeCat = make([]int32, g.N()*cats)
	for i := range h.NodeCat {
		h.NodeCat[i] = int32(rng.IntN(3))
	}
	h.NodeAttr = make([]float32, g.N()*attrs)
	for i := range h.NodeAttr {
		h.NodeAttr[i] = float32(rng.IntN(3)) / 2
	}
	return &h
}

// withEdgeAttributes gives g random edge attributes.
func withEdgeAttributes(rng *rand.Rand, g *graph.Graph, cats, attrs int) *graph.Graph {
	h := *g
	h.EdgeCats, h.EdgeAttrs = cats, attrs
	h.EdgeCat = make([]int32, len(g.Neighbors)*cats)
	h.EdgeAttr = make([]float32, len(g.Neighbors)*attrs)
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			i := g.Entry(u, v)
			for c := range cats {
				h.EdgeCat[i*cats+c] = int32(rng.IntN(2))
			}
			for c := range attrs {
				h.EdgeAttr[i*attrs+c] = float32(rng.IntN(2))
			}
			if !g.Directed && v < u {
				j := g.Entry(v, u)
				copy(h.EdgeCat[i*cats:(i+1)*cats], h.EdgeCat[j*cats:])
				copy(h.EdgeAttr[i*attrs:(i+1)*attrs], h.EdgeAttr[j*attrs:])
			}
		}
	}
	return &h
}

func corpus() []named {
	rng := rand.New(rand.NewPCG(7, 8))
	list := []named{
		{"one node", build(1, false, nil)},
		{"no edges", build(5, false, nil)},
		{"path", build(9, false, path(9))},
		{"star", star(30)},
		{"cycle", build(12, false, cycle(0, 12))},
		{"petersen", petersen()},
		{"C6 and two C3", build(12, false, append(append(cycle(0, 6), cycle(6, 3)...), cycle(9, 3)...))},
		{"spokes 6 3 3", spokes(6, 3, 3)},
		{"spokes 8 4 4 5 3", spokes(8, 4, 4, 5, 3)},
		{"shrikhande", shrikhande()},
		{"rook", rook()},
		{"triangles", starOfTriangles(12)},
		{"grid", grid(5, 6, 4, false)},
		{"grid of 8", grid(6, 6, 8, false)},
		{"torus", grid(7, 8, 4, true)},
		{"random", random(rng, 60, 110, false)},
		{"sparse random", random(rng, 80, 70, false)},
		{"preferential", preferential(rng, 90, 1)},
		{"preferential 2", preferential(rng, 70, 2)},
		{"directed", random(rng, 50, 120, true)},
		{"directed cycle", build(12, true, cycle(0, 12))},
		{"directed star", build(9, true, arcs(star(9)))},
	}
	return list
}

// variants adds attributes to every graph of the corpus.
func variants() []named {
	rng := rand.New(rand.NewPCG(9, 10))
	var list []named
	for _, c := range corpus() {
		list = append(list, c,
			named{c.name + ", node attributes", withNodeAttributes(rng, c.g, 1, 1)},
			named{c.name + ", edge types", withEdgeAttributes(rng, c.g, 1, 0)},
			named{c.name + ", all attributes", withEdgeAttributes(rng, withNodeAttributes(rng, c.g, 2, 0), 1, 1)},
		)
	}
	return list
}

// dataGraph reads a graph of the benchmark data as undirected, or skips.
func dataGraph(tb testing.TB, name string) *graph.Graph {
	tb.Helper()
	edges := dataEdges(tb, name)
	n := int32(0)
	for _, e := range edges {
		n = max(n, e.U+1, e.V+1)
	}
	return build(int(n), false, edges)
}

func dataEdges(tb testing.TB, name string) []graph.Edge {
	tb.Helper()
	dir := os.Getenv("SANFLOW_DATA")
	f, err := os.Open(filepath.Join(dir, "graphs", name+".edges.gz"))
	if err != nil {
		tb.Skipf("needs the data sets: set SANFLOW_DATA to their folder: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	var edges []graph.Edge
	in := bufio.NewScanner(z)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		var u, v int
		if _, err := fmt.Sscan(in.Text(), &u, &v); err != nil {
			continue
		}
		edges = append(edges, graph.Edge{U: int32(u), V: int32(v)})
	}
	if err := in.Err(); err != nil {
		tb.Fatal(err)
	}
	return edges
}

func permutation(rng *rand.Rand, n int) []int32 {
	perm := make([]int32, n)
	for i, p := range rng.Perm(n) {
		perm[i] = int32(p)
	}
	return perm
}

// arcs lists the edges of g from the smaller to the greater number.
func arcs(g *graph.Graph) []graph.Edge {
	var edges []graph.Edge
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			if u < v {
				edges = append(edges, graph.Edge{U: u, V: v})
			}
		}
	}
	return edges
}
