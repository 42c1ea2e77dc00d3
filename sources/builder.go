package sources

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Builder makes graphs edge by edge, one after another. The zero value is ready for undirected
// graphs:
//
//	var b sources.Builder
//	c, o := b.Node(carbon), b.Node(oxygen) // discrete attributes, if there are any
//	b.Edge(c, o, double)                   // once, in either direction
//	g, err := b.Graph()                    // and b is ready for the next
//
// Nodes are numbered from 0 in the order of the calls of Node. Edge adds missing nodes, so
// nodes without attributes need no call of Node. Self-loops are dropped. A repeated edge counts
// once, with its smallest attributes: see EdgeCounts. Graph returns the first error of the calls before it. One
// goroutine uses a Builder.
type Builder struct {
	// Directed makes each edge an arc from its first node to its second.
	Directed bool
	// MaxNodes bounds the number of nodes, since one untrusted edge 0–2000000000 would take
	// gigabytes. The default is 1 048 576.
	MaxNodes int

	nodes, below int // number of nodes made by Node; the largest node of an edge plus 1
	cat          []int32
	attr         []float32
	a            rows.Arcs
	nodeAttrs    int
	nodeCats     int
	err          error
	csr          rows.Csr
}

// Node adds a node with the given discrete attributes, indices from 0, and returns its number.
// All nodes of a graph have the same number of values.
func (b *Builder) Node(cat ...int32) int32 {
	v := b.nodes
	if v >= b.maxNodes() {
		b.fail("more than %d nodes; raise MaxNodes if that is right", b.maxNodes())
		return int32(v)
	}
	if v == 0 {
		b.nodeCats = len(cat)
	} else if len(cat) != b.nodeCats {
		b.fail("node %d has %d discrete attributes, want %d as node 0 has", v, len(cat), b.nodeCats)
	}
	b.nodes++
	b.cat = append(b.cat, cat...)
	return int32(v)
}

// NodeAttr sets continuous attributes of the last node. All nodes of a graph have the same
// number of them.
func (b *Builder) NodeAttr(x ...float32) {
	if b.nodes == 0 {
		b.fail("attributes before the first node")
		return
	}
	b.attr = append(b.attr, x...)
	if b.nodes == 1 {
		b.nodeAttrs = len(b.attr)
	}
	if len(b.attr) != b.nodes*b.nodeAttrs {
		b.fail("node %d makes it %d continuous attributes, want %d for each node, as node 0 has", b.nodes-1, len(b.attr), b.nodeAttrs)
	}
}

// Edge adds an edge with the given discrete attributes, indices from 0. All edges of a graph
// have the same number of them.
func (b *Builder) Edge(u, v int32, cat ...int32) {
	if top := int(max(u, v)); min(u, v) < 0 || top >= b.maxNodes() {
		b.fail("edge %d–%d, want nodes 0 to %d", u, v, b.maxNodes()-1)
		return
	}
	if len(b.a.Ends) == 0 {
		b.a.Cats = len(cat)
	} else if len(cat) != b.a.Cats {
		b.fail("edge %d–%d has %d discrete attributes, want %d as the first edge has", u, v, len(cat), b.a.Cats)
	}
	if len(b.a.Ends) >= math.MaxInt32/2 {
		b.fail("more than %d edges", math.MaxInt32/2)
		return
	}
	b.below = max(b.below, int(max(u, v))+1)
	b.a.Ends = append(b.a.Ends, graph.Edge{U: u, V: v})
	b.a.Cat = append(b.a.Cat, cat...)
}

// EdgeAttr sets continuous attributes of the last edge. All edges of a graph have the same
// number of them.
func (b *Builder) EdgeAttr(x ...float32) {
	m := len(b.a.Ends)
	if m == 0 {
		b.fail("attributes before the first edge")
		return
	}
	b.a.Attr = append(b.a.Attr, x...)
	if m == 1 {
		b.a.Attrs = len(b.a.Attr)
	}
	if len(b.a.Attr) != m*b.a.Attrs {
		b.fail("edge %d–%d makes it %d continuous attributes, want %d for each edge, as the first has",
			b.a.Ends[m-1].U, b.a.Ends[m-1].V, len(b.a.Attr), b.a.Attrs)
	}
}

// Graph returns the graph and begins a new one. O(n + m).
func (b *Builder) Graph() (*graph.Graph, error) {
	n := max(b.nodes, b.below)
	switch {
	case n > b.nodes && b.nodeCats+b.nodeAttrs > 0:
		b.fail("node %d has no attributes, and others have", b.nodes)
	case len(b.attr) != b.nodes*b.nodeAttrs:
		b.fail("%d continuous attributes of %d nodes, want %d for each", len(b.attr), b.nodes, b.nodeAttrs)
	case len(b.a.Attr) != len(b.a.Ends)*b.a.Attrs:
		b.fail("%d continuous attributes of %d edges, want %d for each", len(b.a.Attr), len(b.a.Ends), b.a.Attrs)
	}
	var g *graph.Graph
	err := b.err
	if err == nil {
		g = &graph.Graph{NodeCats: b.nodeCats, NodeAttrs: b.nodeAttrs}
		g.NodeCat, g.NodeAttr = append(g.NodeCat, b.cat...), append(g.NodeAttr, b.attr...)
		err = reading.Build(&b.csr, n, b.Directed, &b.a, g)
	}
	b.a.Reset(0)
	b.a.Cats, b.a.Attrs = 0, 0
	b.cat, b.attr, b.nodes, b.below, b.nodeCats, b.nodeAttrs, b.err = b.cat[:0], b.attr[:0], 0, 0, 0, 0, nil
	return g, err
}

func (b *Builder) maxNodes() int { return min(cmp.Or(b.MaxNodes, 1<<20), math.MaxInt32-1) }

// fail records the first error.
func (b *Builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("sources: Builder: "+format, args...)
	}
}
