package count

import (
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// labeler hashes the labels of nodes and edges.
type labeler struct {
	g     *graph.Graph
	nodes bool // nodes have labels
	edges bool
	ins   []int32 // in-degrees, if they are part of a label
}

var (
	kindNode   = Kind("node")
	kindEdge   = Kind("edge")
	kindDegree = Kind("degree")
)

// reset sets the graph whose labels l hashes.
func (l *labeler) reset(g *graph.Graph) {
	l.g, l.nodes, l.edges = g, g.NodeCats+g.SparseCard > 0, g.EdgeCats > 0
	l.ins = l.ins[:0]
	if !l.nodes && g.Directed {
		l.countArriving()
	}
}

// countArriving sets ins to the in-degrees.
func (l *labeler) countArriving() {
	l.ins = scratch.Resize(l.ins, l.g.N())
	clear(l.ins)
	for _, v := range l.g.Neighbors {
		l.ins[v]++
	}
}

// node returns the hash of the label of a node: its discrete attributes and the sparse one with its
// length, or its degree.
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

// hashes returns the hashes of the labels of all nodes and of all CSR entries, nil without labels.
// It reuses the memory of its arguments.
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

// entry returns the hash of the label of a CSR entry.
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

// plain returns g without attributes and directions. It has an edge for each pair of nodes with an
// arc between them.
func plain(g *graph.Graph) (*graph.Graph, error) {
	if !g.Directed {
		return g.Bare(), nil
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
type Labels struct {
	// Each counts, where nodes have several discrete attributes, each of them alone too, each but the first together with
	// the first, and each discrete attribute of the edges, or arcs.
	Each bool
}

// String returns "labels", or "labels(each)".
func (l Labels) String() string { return describe(l) }

// Prepare implements Counter.
func (l Labels) Prepare() (Worker, error) { return &labelCounter{Labels: l}, nil }

type labelCounter struct {
	Labels
	labels labeler
}

var kindLabel, kindPart, kindPair, kindEdgePart = Kind("label"), Kind("label part"), Kind("label parts"), Kind("edge label part")

func (l *labelCounter) Count(in Input, bag *Bag) error {
	l.labels.reset(in.Graph)
	for v := range int32(in.Graph.N()) {
		bag.Add(uint64(kindLabel.Add(l.labels.node(v))), 1)
	}
	l.parts(in.Graph, func(id Hash, _ part) { bag.Add(uint64(id), 1) })
	return nil
}

// part is a discrete attribute of a node, alone or together with the first one, or of an edge.
type part struct {
	channel int
	value   int32
	beside  bool     // the word has the first attribute too
	nodes   [2]int32 // the node twice, or both ends of the edge
}

// parts calls show with the words of Each.
func (l *labelCounter) parts(g *graph.Graph, show func(id Hash, p part)) {
	if !l.Each || g.NodeCats < 2 {
		return
	}
	for v := range int32(g.N()) {
		label := g.NodeCat[int(v)*g.NodeCats : int(v+1)*g.NodeCats]
		for c, x := range label {
			show(kindPart.Add(uint64(c)).Add(uint64(x)), part{c, x, false, [2]int32{v, v}})
			if c > 0 {
				show(kindPair.Add(uint64(label[0])).Add(uint64(c)).Add(uint64(x)), part{c, x, true, [2]int32{v, v}})
			}
		}
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			u := g.Neighbors[i]
			if !g.Directed && u < v {
				continue
			}
			for c, x := range g.EdgeCat[int(i)*g.EdgeCats : int(i+1)*g.EdgeCats] {
				show(kindEdgePart.Add(uint64(c)).Add(uint64(x)), part{c, x, false, [2]int32{v, u}})
			}
		}
	}
}
