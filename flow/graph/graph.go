package graph

import (
	"context"
	"fmt"
	"slices"
	"unsafe"
)

// Graph is one attributed graph in compressed sparse rows (CSR), as plain
// slices. Nodes are 0 … n-1.
//
// A Graph usually borrows its slices from an Arrow record (package record) and
// is then valid only as long as that record is; nothing in this module writes
// to them.
//
//	0 ── 1        Offsets   0   2   4   7  8
//	│  ╱          Neighbors 1 2 0 2 0 1 3 2
//	2 ── 3
type Graph struct {
	// Offsets has length n+1, starts at 0 and never falls: the neighbours of v
	// are Neighbors[Offsets[v]:Offsets[v+1]].
	Offsets []int32
	// Neighbors lists the adjacent nodes, ascending and without repeats per node. An undirected
	// edge occurs in the rows of both its ends; the row of a directed graph holds the heads of the
	// arcs that leave the node. There are no self-loops.
	Neighbors []int32

	// NodeCat is (n, NodeCats), row-major: the discrete attributes of each
	// node, one index ≥ 0 per attribute.
	NodeCat []int32
	// NodeAttr is (n, NodeAttrs), row-major: the continuous attributes.
	NodeAttr []float32
	// EdgeCat is (len(Neighbors), EdgeCats) and EdgeAttr is
	// (len(Neighbors), EdgeAttrs), row-major, one row per CSR entry. The two
	// entries of an undirected edge hold the same values.
	EdgeCat  []int32
	EdgeAttr []float32
	// NodeSparse holds the sparse attribute: a set of indices out of 0 … SparseCard-1 for each
	// node, such as the words of a text. Those of v are
	// NodeSparse[SparseOffsets[v]:SparseOffsets[v+1]], strictly ascending. SparseOffsets has length
	// n+1 and need not start at 0. If SparseCard is 0, there is no sparse attribute.
	SparseOffsets []int32
	NodeSparse    []int32

	// Degrees are, of a part that was cut out of a larger graph, the degrees of the nodes there: a node at the rim has fewer entries in
	// its row. nil: the rows are whole. A copy by Without or Renumber has those of its nodes.
	Degrees []int32

	NodeCats, NodeAttrs, EdgeCats, EdgeAttrs int
	SparseCard                               int
	Directed                                 bool
}

// N returns n, the number of nodes.
func (g *Graph) N() int {
	if len(g.Offsets) == 0 {
		return 0
	}
	return len(g.Offsets) - 1
}

// M returns m, the number of edges: of arcs if the graph is directed, of
// unordered pairs if it is not.
func (g *Graph) M() int {
	if g.Directed {
		return len(g.Neighbors)
	}
	return len(g.Neighbors) / 2
}

// Degree returns the number of CSR entries of v: its degree, or its
// out-degree if the graph is directed.
func (g *Graph) Degree(v int32) int { return int(g.Offsets[v+1] - g.Offsets[v]) }

// WholeDegree returns the degree of v in the graph that g was cut out of, see Degrees: what counts as a property of v.
func (g *Graph) WholeDegree(v int32) int {
	if g.Degrees != nil {
		return int(g.Degrees[v])
	}
	return g.Degree(v)
}

// Adj returns the neighbours of v, ascending. The slice is borrowed.
func (g *Graph) Adj(v int32) []int32 { return g.Neighbors[g.Offsets[v]:g.Offsets[v+1]] }

// Sparse returns the sparse attribute of v, ascending, if there is one. The
// slice is borrowed.
func (g *Graph) Sparse(v int32) []int32 {
	if g.SparseCard == 0 {
		return nil
	}
	return g.NodeSparse[g.SparseOffsets[v]:g.SparseOffsets[v+1]]
}

// HasNodeAttributes reports whether nodes have attributes of any kind.
func (g *Graph) HasNodeAttributes() bool { return g.NodeCats+g.NodeAttrs+g.SparseCard > 0 }

// Bare returns the graph without attributes. It shares the rows of g.
func (g *Graph) Bare() *Graph {
	return &Graph{Directed: g.Directed, Offsets: g.Offsets, Neighbors: g.Neighbors}
}

// Entry returns the CSR position of the edge u→v, which indexes EdgeCat and
// EdgeAttr, or -1 if there is none. O(log deg u).
func (g *Graph) Entry(u, v int32) int {
	i, ok := slices.BinarySearch(g.Adj(u), v)
	if !ok {
		return -1
	}
	return int(g.Offsets[u]) + i
}

// Transpose returns the rows of incoming arcs: the tails of the arcs that
// enter v are tails[offsets[v]:offsets[v+1]], ascending, and entry holds for
// each of them the CSR position of the arc in g. For an undirected graph
// offsets and tails equal Offsets and Neighbors. O(n + m).
func (g *Graph) Transpose() (offsets, tails, entry []int32) {
	n := g.N()
	offsets = make([]int32, n+1)
	for _, v := range g.Neighbors {
		offsets[v+1]++
	}
	for v := range n {
		offsets[v+1] += offsets[v]
	}
	tails = make([]int32, len(g.Neighbors))
	entry = make([]int32, len(g.Neighbors))
	next := slices.Clone(offsets[:n])
	for u := range int32(n) {
		for i := g.Offsets[u]; i < g.Offsets[u+1]; i++ {
			v := g.Neighbors[i]
			tails[next[v]], entry[next[v]] = u, i
			next[v]++
		}
	}
	return offsets, tails, entry
}

// Same reports whether g and h lie at the same place in memory. O(1).
func (g *Graph) Same(h *Graph) bool {
	own, other := g.attributes(), h.attributes()
	for i := range own {
		if !sameMemory(*own[i].cat, *other[i].cat) || !sameMemory(*own[i].attr, *other[i].attr) {
			return false
		}
	}
	return sameMemory(g.Offsets, h.Offsets) && sameMemory(g.Neighbors, h.Neighbors) &&
		sameMemory(g.Degrees, h.Degrees) && sameMemory(g.SparseOffsets, h.SparseOffsets) && sameMemory(g.NodeSparse, h.NodeSparse)
}

func sameMemory[T any](a, b []T) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// Check returns the first violation of the rules above. It costs O(n + m log m) and is for
// input of unknown origin and for tests.
func (g *Graph) Check() error { return g.CheckContext(context.Background()) }

// CheckContext is Check for large graphs: it ends with ctx, within some 100 000
// nodes.
func (g *Graph) CheckContext(ctx context.Context) error {
	n := g.N()
	if len(g.Offsets) > 0 && g.Offsets[0] != 0 {
		return fmt.Errorf("graph: offsets start at %d, want 0", g.Offsets[0])
	}
	for v := range n {
		if g.Offsets[v+1] < g.Offsets[v] {
			return fmt.Errorf("graph: offsets fall from %d to %d at node %d", g.Offsets[v], g.Offsets[v+1], v)
		}
	}
	if n > 0 && int(g.Offsets[n]) != len(g.Neighbors) {
		return fmt.Errorf("graph: offsets end at %d, want the %d neighbours", g.Offsets[n], len(g.Neighbors))
	}
	if n == 0 && len(g.Neighbors) > 0 {
		return fmt.Errorf("graph: %d neighbours without a node", len(g.Neighbors))
	}
	for v := range int32(n) {
		if v&(1<<14-1) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		adj := g.Adj(v)
		for i, u := range adj {
			switch {
			case u < 0 || int(u) >= n:
				return fmt.Errorf("graph: node %d has neighbour %d, want 0 to %d", v, u, n-1)
			case u == v:
				return fmt.Errorf("graph: node %d is its own neighbour", v)
			case i > 0 && u <= adj[i-1]:
				return fmt.Errorf("graph: neighbours of node %d are not strictly ascending", v)
			}
		}
	}
	attributes := g.attributes()
	for _, a := range attributes {
		if err := a.checkLen(g); err != nil {
			return err
		}
	}
	for _, a := range attributes {
		if err := a.notNegative(); err != nil {
			return err
		}
	}
	if err := g.checkSparse(); err != nil || g.Directed {
		return err
	}
	// Reverse entries are looked up last, since Entry needs sorted rows.
	for v := range int32(n) {
		if v&(1<<14-1) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			u := g.Neighbors[i]
			back := g.Entry(u, v)
			switch {
			case back < 0:
				return fmt.Errorf("graph: edge %d-%d lacks its other direction", v, u)
			case u > v && slices.ContainsFunc(attributes[:], func(a attribute) bool { return a.ofEdges && !a.sameRows(int(i), back) }):
				return fmt.Errorf("graph: edge %d-%d has other attributes in its other direction", v, u)
			}
		}
	}
	return nil
}

func (g *Graph) checkSparse() error {
	switch n := g.N(); {
	case g.SparseCard == 0:
		return nil
	case n > 0 && len(g.SparseOffsets) != n+1:
		return fmt.Errorf("graph: node_sparse has %d offsets, want %d", len(g.SparseOffsets), n+1)
	}
	last := int32(0)
	for i, end := range g.SparseOffsets {
		if end < last || int(end) > len(g.NodeSparse) {
			return fmt.Errorf("graph: offset %d of node_sparse is %d, want %d to %d", i, end, last, len(g.NodeSparse))
		}
		last = end
	}
	for v := range int32(g.N()) {
		set := g.Sparse(v)
		for i, x := range set {
			switch {
			case x < 0 || int(x) >= g.SparseCard:
				return fmt.Errorf("graph: node %d has the index %d in node_sparse, want 0 to %d", v, x, g.SparseCard-1)
			case i > 0 && x <= set[i-1]:
				return fmt.Errorf("graph: node_sparse of node %d is not strictly ascending", v)
			}
		}
	}
	return nil
}
