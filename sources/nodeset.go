package sources

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Subset is one of the sets that a split divides the nodes into.
type Subset int8

// The subsets. A node of None is in none of the others.
const (
	None Subset = iota
	Train
	Val
	Test
)

var subsetNames = [...]string{"none", "train", "val", "test"}

// String returns the name in split.txt.
func (p Subset) String() string {
	if p < 0 || int(p) >= len(subsetNames) {
		return fmt.Sprintf("Subset(%d)", int8(p))
	}
	return subsetNames[p]
}

// NodeSet is a graph whose nodes are to be classified, or have a number to be learned.
type NodeSet struct {
	Graph *graph.Graph
	// IDs holds the id of every node in its file, ascending. There are none where
	// node v has the number v there.
	IDs graph.IDs
	// Class is the class of every node, an index into Classes, or -1.
	Class   []int32
	Classes []string
	// Targets are what is learned of every node in place of classes, (nodes, Channels.Targets), NaN where it is unknown: a
	// number, or several targets, as record.Row.Targets are. Class is not read then.
	Targets []float32
	// Split is the subset that each node belongs to; nil if there is no split.
	Split []Subset
	// Channels names the attributes of nodes and edges. Without it those of nodes are
	// feature_0, …, and features if they are sparse, and there are no others.
	Channels record.Layout
	Stats    EdgeCounts
	Notes    []string // as in [TableSet]
	// TableRows are those of [TableSet].
	TableRows *TableRows
}

// Learnable reports whether the class of a node is known, or its number, or one of several targets.
func (n *NodeSet) Learnable(v int32) bool {
	t := len(n.Channels.Targets)
	if t == 0 {
		return n.Class != nil && n.Class[v] >= 0
	}
	return slices.ContainsFunc(n.Targets[int(v)*t:int(v+1)*t], func(x float32) bool { return x == x })
}

// Value returns the number to be learned of every node, NaN where it is unknown. It is nil for classes and for
// several targets.
func (n *NodeSet) Value() []float32 {
	if len(n.Channels.Targets) == 1 {
		return n.Targets
	}
	return nil
}

// Subset returns the nodes of a subset, ascending, of which a target is known.
func (n *NodeSet) Subset(p Subset) []int32 {
	var nodes []int32
	for v, q := range n.Split {
		if q == p && n.Learnable(int32(v)) {
			nodes = append(nodes, int32(v))
		}
	}
	return nodes
}

// All returns all nodes, ascending.
func (n *NodeSet) All() []int32 {
	nodes := make([]int32, n.Graph.N())
	for v := range nodes {
		nodes[v] = int32(v)
	}
	return nodes
}

// Layout describes the record of the set.
func (n *NodeSet) Layout() record.Layout {
	l := n.Channels
	l.Directed, l.NodeClasses, l.NodeIDs = n.Graph.Directed, n.Classes, n.IDs.Kind()
	l.Classes, l.Real, l.Targets = nil, false, nil
	for i := len(l.NodeAttr); i < n.Graph.NodeAttrs; i++ {
		l.NodeAttr = append(l.NodeAttr, record.Channel{Name: fmt.Sprint("feature_", i)})
	}
	if n.Graph.SparseCard > 0 {
		l.NodeSparse = record.Channel{Name: "features", Card: n.Graph.SparseCard}
	}
	return l
}

// Identify adds to the set of indices of each node one that no other node has: that of node v is v plus the number of
// features. A network then learns from the identity of the nodes in a field, and cannot predict other graphs.
func (n *NodeSet) Identify() error {
	g := n.Graph
	if len(g.NodeSparse) > math.MaxInt32-g.N() || g.SparseCard > math.MaxInt32-g.N() {
		return fmt.Errorf("sources: Nodes: %d nodes with %d features do not fit 32-bit offsets", g.N(), len(g.NodeSparse))
	}
	offsets := make([]int32, 1, g.N()+1)
	all := make([]int32, 0, len(g.NodeSparse)+g.N())
	for v := range int32(g.N()) {
		all = append(all, g.Sparse(v)...)
		all = append(all, int32(g.SparseCard)+v)
		offsets = append(offsets, int32(len(all)))
	}
	g.SparseOffsets, g.NodeSparse, g.SparseCard = offsets, all, g.SparseCard+g.N()
	return nil
}

// Open streams a set that was read before: a NodeSet is a source as well.
func (n *NodeSet) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	item := indexed(1, func(int) (Item, error) { return Item{Graph: n.Graph, NodeClass: n.Class, NodeID: n.IDs}, nil })
	return &reading.ItemsReader{Item: item, Rows: 1, Build: record.NewBuilder(mem, n.Layout()), Report: n.Notes}, nil
}

// String returns the size of the set, for the plan of a pipeline.
func (n *NodeSet) String() string { return fmt.Sprintf("NodeSet(%d nodes)", n.Graph.N()) }

var _ flow.Source = (*NodeSet)(nil)
