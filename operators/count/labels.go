package count

import (
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Bins rounds continuous attributes for Around: x falls into the bin
// ⌊x/w⌋ for the width w of its channel. Bins are widths and not quantiles, so that a bin means
// the same for later graphs. A width of 0 leaves the channel out.
type Bins struct {
	Nodes []float32 // a width for each channel of node_attr; none: all are left out
	Edges []float32 // of edge_attr
}

// BinsOf returns bins for graphs like g: the width of a channel is the power of 2 up to an eighth of the
// deviation of its finite values, and 0 if these are all the same.
func BinsOf(g *graph.Graph) Bins {
	return Bins{Nodes: widthsOf(g.NodeAttr, g.NodeAttrs), Edges: widthsOf(g.EdgeAttr, g.EdgeAttrs)}
}

func widthsOf(x []float32, channels int) (widths []float32) {
	for c := range channels {
		a := attributes{}
		for i := c; i < len(x); i += channels {
			if finite(float64(x[i])) {
				a.sorted = append(a.sorted, float64(x[i]))
			}
		}
		slices.Sort(a.sorted) // sums are the same for any numbering
		width := float32(0)
		if n := len(a.sorted); n > 0 && a.sorted[0] < a.sorted[n-1] {
			_, deviation := a.moments()
			width = float32(math.Ldexp(1, a.widest(deviation)-4))
		}
		widths = append(widths, width)
	}
	return widths
}

func (b Bins) check() error {
	for _, widths := range [][]float32{b.Nodes, b.Edges} {
		for _, w := range widths {
			if !(w >= 0) || math.IsInf(float64(w), 0) {
				return fmt.Errorf("a bin is %v wide, want a number from 0", w)
			}
		}
	}
	return nil
}

// fits compares the number of widths with the channels of g.
func (b Bins) fits(g *graph.Graph) error {
	if n := len(b.Nodes); n > 0 && n != g.NodeAttrs && g.N() > 0 {
		return fmt.Errorf("there are %d continuous node attributes, Bins has %d widths", g.NodeAttrs, n)
	}
	if n := len(b.Edges); n > 0 && n != g.EdgeAttrs && len(g.Neighbors) > 0 {
		return fmt.Errorf("there are %d continuous edge attributes, Bins has %d widths", g.EdgeAttrs, n)
	}
	return nil
}

// bin returns the number of the bin of x, and one of its own for NaN.
func bin(x, width float32) uint64 {
	at := math.Floor(float64(x) / float64(width))
	switch {
	case at != at:
		return 1 << 63
	case at >= math.MaxInt64:
		return math.MaxInt64
	case at < -math.MaxInt64:
		return 1<<63 + 1
	}
	return uint64(int64(at))
}

// labeler hashes the labels of nodes and edges.
type labeler struct {
	g     *graph.Graph
	nodes bool // they have labels
	edges bool
	ins   []int32 // degrees of arriving arcs, if the graph is directed and they are part of a label
}

var (
	kindNode   = Kind("node")
	kindEdge   = Kind("edge")
	kindDegree = Kind("degree")
)

// reset begins a graph.
func (l *labeler) reset(g *graph.Graph) {
	l.g, l.nodes, l.edges = g, g.NodeCats+g.SparseCard > 0, g.EdgeCats > 0
	l.ins = l.ins[:0]
	if !l.nodes && g.Directed {
		l.countArriving()
	}
}

// countArriving sets ins.
func (l *labeler) countArriving() {
	l.ins = scratch.Resize(l.ins, l.g.N())
	clear(l.ins)
	for _, v := range l.g.Neighbors {
		l.ins[v]++
	}
}

// node hashes the label of a node: its discrete attributes, and the sparse one with
// its length in front; or its degree.
func (l *labeler) node(v int32) uint64 {
	g := l.g
	if !l.nodes {
		h := kindDegree.Add(uint64(g.Degree(v)))
		if g.Directed {
			h = h.Add(uint64(l.ins[v]))
		}
		return uint64(h)
	}
	h := addAll(kindNode, g.NodeCat[int(v)*g.NodeCats:int(v+1)*g.NodeCats])
	if g.SparseCard > 0 {
		set := g.Sparse(v)
		h = h.Add(uint64(len(set)))
		for _, x := range set {
			h = h.Add(uint64(x))
		}
	}
	return uint64(h)
}

// hashes returns the hashes of the labels of all nodes and of all CSR entries, each in the
// memory of the last ones where that is enough, and nil if there are no labels.
func (l *labeler) hashes(nodes, edges []uint64) (_, _ []uint64) {
	if !l.nodes {
		nodes = nil
	} else {
		nodes = scratch.Resize(nodes, l.g.N())
	}
	for v := range nodes {
		nodes[v] = l.node(int32(v))
	}
	if !l.edges {
		return nodes, nil
	}
	edges = scratch.Resize(edges, len(l.g.Neighbors))
	for i := range edges {
		edges[i] = uint64(l.entry(int32(i)))
	}
	return nodes, edges
}

// entry hashes the label of a CSR entry.
func (l *labeler) entry(i int32) Hash {
	if !l.edges {
		return kindEdge
	}
	g := l.g
	return addAll(kindEdge, g.EdgeCat[int(i)*g.EdgeCats:int(i+1)*g.EdgeCats])
}

func addAll(h Hash, values []int32) Hash {
	for _, x := range values {
		h = h.Add(uint64(x))
	}
	return h
}

// plain returns g without attributes and directions: an edge for each pair of
// nodes with an arc between them.
func plain(g *graph.Graph) (*graph.Graph, error) {
	if !g.Directed {
		return &graph.Graph{Offsets: g.Offsets, Neighbors: g.Neighbors}, nil
	}
	edges := make([]graph.Edge, 0, len(g.Neighbors))
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			edges = append(edges, graph.Edge{U: v, V: u})
		}
	}
	return graph.New(g.N(), false, edges)
}

// LabelsOf hashes the labels of the nodes of g and of its CSR entries, for kernels that compare
// more than counts. Equal labels have equal hashes in all programs. nodes or edges are nil if
// the graph has no such labels; degrees do not replace them.
func LabelsOf(g *graph.Graph) (nodes, edges []uint64) {
	var l labeler
	l.reset(g)
	return l.hashes(nil, nil)
}

// Size counts the nodes and the edges, or arcs: two ids. It is a baseline for all other
// counters.
type Size struct{}

// String returns "size".
func (Size) String() string { return describe(Size{}) }

var kindNodes, kindEdges = Kind("nodes"), Kind("edges")

// Prepare implements Counter.
func (Size) Prepare() (Worker, error) { return sizeCounter{}, nil }

type sizeCounter struct{ Size }

func (sizeCounter) Count(in Input, bag *Bag) error {
	if n := in.Graph.N(); n > 0 {
		bag.Add(uint64(kindNodes), float64(n))
	}
	if m := in.Graph.M(); m > 0 {
		bag.Add(uint64(kindEdges), float64(m))
	}
	return nil
}

// Labels counts the labels of the nodes: their discrete attributes, or degrees
// if there are none.
type Labels struct{}

// String returns "labels".
func (l Labels) String() string { return describe(l) }

// Prepare implements Counter.
func (l Labels) Prepare() (Worker, error) { return &labelCounter{Labels: l}, nil }

type labelCounter struct {
	Labels
	labels labeler
}

var kindLabel = Kind("label")

func (l *labelCounter) Count(in Input, bag *Bag) error {
	l.labels.reset(in.Graph)
	for v := range int32(in.Graph.N()) {
		bag.Add(uint64(kindLabel.Add(l.labels.node(v))), 1)
	}
	return nil
}
