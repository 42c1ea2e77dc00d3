package sources

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Nodes reads one graph whose nodes have classes, and maybe attributes and a
// split. It is a zip or a directory, whose files stand there or in one folder
// of it:
//
//	edges.txt     an edge "u v" per line; nodes are numbered from 0
//	labels.txt    the class of each node, a line per node: any text; -1 = unknown
//	features.txt  "index:value …", a line per node, which may be empty (optional)
//	split.txt     train, val, test or none, a line per node              (optional)
//
// or, where Edges is set, an edge list and a file of labels as [EdgeList] reads
// them, with classes that may be missing.
//
// The number of nodes is the number of lines of labels.txt. Edges are
// undirected; what [EdgeList] says of comments, self-loops and repeats holds
// here too. The classes are the distinct labels, ascending as numbers if all
// are numbers, else as text, and become the column node_target.
//
// # Features
//
// Where all values are 1 (or 0, which is as good as absent), the features of a
// node are a set of indices, column node_sparse: words of a text, say, of which
// there may be thousands. Other values are kept as continuous attributes,
// column node_attr, when there are few, at most 64 columns, or when a quarter
// of them or more are not zero. A wide table of weights with few entries, such
// as TF-IDF, becomes a set of the indices whose value is not zero; the weights
// are dropped and counted in [NodesStats].
//
// # Cost
//
// O(bytes read + m log m); the whole graph is in memory when Open returns, and
// becomes one record of one row, whose graph_id and pos are 0.
type Nodes struct {
	// Path is a zip file or a directory.
	Path string
	// FS is read in place of Path if set, which is then only its name in
	// messages; Edges and Labels are opened there too.
	FS fs.FS
	// Name is the folder, for a place that holds several sets. The default is
	// the only one there is.
	Name string
	// Edges and Labels name the two files that are read in place of Path. Each
	// may be packed by gzip.
	Edges, Labels string
	// Identity adds to each node's set of indices one that no other node has. A
	// network can then learn who is in a field, and not only what they are
	// like: it says nothing of graphs that it has not seen, but needs no
	// features. The index of node v is v, behind those of the features.
	Identity bool
	// MaxBytes bounds the unpacked size of each file. The default is 1 GiB.
	MaxBytes int64
}

// Part is a part of a split.
type Part int8

// The parts, as split.txt calls them.
const (
	None Part = iota
	Train
	Val
	Test
)

var partNames = [...]string{"none", "train", "val", "test"}

// String returns the name in split.txt.
func (p Part) String() string {
	if p < 0 || int(p) >= len(partNames) {
		return fmt.Sprintf("Part(%d)", int8(p))
	}
	return partNames[p]
}

// NodesStats says what was read.
type NodesStats struct {
	EdgeCounts
	Isolated int64 // nodes without an edge
	Features int64 // entries of features.txt that are not 0
	Bare     int64 // nodes without such an entry
	Weights  int64 // entries whose value, neither 0 nor 1, was dropped
}

// NodeSet is a graph whose nodes are to be told apart.
type NodeSet struct {
	Graph *graph.Graph
	// IDs holds the number of every node in its file, ascending. It is nil
	// where node v has the number v.
	IDs []int32
	// Class is the class of every node, an index into Classes, or -1.
	Class   []int32
	Classes []string
	// Split is the part that each node belongs to; nil where there is no split.
	Split []Part
	Stats NodesStats
}

// Part returns the nodes of a part, ascending, of which the class is known.
func (n *NodeSet) Part(p Part) []int32 {
	var nodes []int32
	for v, q := range n.Split {
		if q == p && n.Class[v] >= 0 {
			nodes = append(nodes, int32(v))
		}
	}
	return nodes
}

// Layout describes the record of the set.
func (n *NodeSet) Layout() record.Layout {
	l := record.Layout{Directed: n.Graph.Directed, NodeClasses: n.Classes}
	for i := range n.Graph.NodeAttrs {
		l.NodeAttr = append(l.NodeAttr, record.Channel{Name: fmt.Sprint("feature_", i)})
	}
	if n.Graph.SparseCard > 0 {
		l.NodeSparse = record.Channel{Name: "features", Card: n.Graph.SparseCard}
	}
	return l
}

// String names the file, for the plan of a pipeline.
func (s Nodes) String() string {
	switch {
	case s.Edges != "":
		return "Nodes(" + s.Edges + ")"
	case s.Name != "":
		return "Nodes(" + s.Path + ", " + s.Name + ")"
	}
	return "Nodes(" + s.Path + ")"
}

// Read reads the set without making a record of it.
func (s Nodes) Read(ctx context.Context) (*NodeSet, error) {
	switch {
	case s.MaxBytes < 0:
		return nil, fmt.Errorf("sources: Nodes: MaxBytes is %d, want at least 0", s.MaxBytes)
	case s.Edges == "" && s.Path == "" && s.FS == nil:
		return nil, fmt.Errorf("sources: Nodes: no Path and no Edges")
	case s.Edges != "" && s.Labels == "":
		return nil, fmt.Errorf("sources: Nodes: Edges without Labels")
	case s.MaxBytes == 0:
		s.MaxBytes = 1 << 30
	}
	read := s.readFolder
	if s.Edges != "" {
		read = s.readLists
	}
	n, err := read(ctx)
	if err != nil {
		return nil, err
	}
	n.Stats.Isolated = isolated(n.Graph)
	if s.Identity {
		return n, n.Identify()
	}
	return n, nil
}

func (s Nodes) readLists(ctx context.Context) (*NodeSet, error) {
	net, err := EdgeList{Path: s.Edges, FS: s.FS, Labels: s.Labels, Partial: true, MaxBytes: s.MaxBytes}.Read(ctx)
	if err != nil {
		return nil, err
	}
	return &NodeSet{
		Graph: net.Graph, IDs: net.IDs, Class: net.NodeClass, Classes: net.Classes,
		Stats: NodesStats{EdgeCounts: net.Stats.EdgeCounts, Bare: int64(net.Graph.N())},
	}, nil
}

// Identify does what Nodes.Identity asks for: it puts an index of its own behind
// those of each node.
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

// Standardize gives each continuous attribute mean 0 and deviation 1 over all
// nodes; one that is the same everywhere becomes 0. It looks at no class.
func (n *NodeSet) Standardize() {
	x, c := n.Graph.NodeAttr, n.Graph.NodeAttrs
	for a := range c {
		var sum, squares float64
		for i := a; i < len(x); i += c {
			sum += float64(x[i])
		}
		mean := sum / float64(n.Graph.N())
		for i := a; i < len(x); i += c {
			squares += (float64(x[i]) - mean) * (float64(x[i]) - mean)
		}
		scale := 0.
		if squares > 0 {
			scale = 1 / math.Sqrt(squares/float64(n.Graph.N()))
		}
		for i := a; i < len(x); i += c {
			x[i] = float32((float64(x[i]) - mean) * scale)
		}
	}
}

// Open reads the set and returns a *[NodesReader].
func (s Nodes) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	n, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	return n.Open(ctx, mem)
}

// Open streams a set that was read before: a NodeSet is a source as well.
func (n *NodeSet) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	return &NodesReader{set: n, build: record.NewBuilder(mem, n.Layout())}, nil
}

// String says how large the set is, for the plan of a pipeline.
func (n *NodeSet) String() string { return fmt.Sprintf("NodeSet(%d nodes)", n.Graph.N()) }

// NodesReader hands out the graph of [Nodes].
type NodesReader struct {
	set   *NodeSet
	build *record.Builder
	err   error
}

// Set returns what was read.
func (r *NodesReader) Set() *NodeSet { return r.set }

// Schema returns the schema of the record.
func (r *NodesReader) Schema() *arrow.Schema { return r.build.Schema() }

// Next returns the record with the graph, and io.EOF after it.
func (r *NodesReader) Next(ctx context.Context) (arrow.Record, error) {
	if r.err == nil {
		r.err = ctx.Err()
	}
	if r.err == nil {
		r.err = r.build.Append(r.set.Graph, record.Row{NodeClass: r.set.Class})
	}
	if r.err != nil {
		return nil, r.err
	}
	r.err = io.EOF
	return r.build.Record(), nil
}

// Close ends the reading. The record that was handed out stays valid.
func (r *NodesReader) Close() error {
	r.build.Release()
	r.err = errClosed
	return nil
}

var _ flow.Source = (*NodeSet)(nil)
