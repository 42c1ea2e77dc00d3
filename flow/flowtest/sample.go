package flowtest

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Layout is the layout of Sample: every kind of attribute, words, classes and ids.
var Layout = record.Layout{
	NodeCat:     []record.Channel{record.WordsChannel("colour", []string{"blue", "red"})},
	NodeAttr:    []record.Channel{{Name: "x"}, {Name: "y"}},
	EdgeCat:     []record.Channel{{Name: "bond", Card: 2}},
	EdgeAttr:    []record.Channel{{Name: "length"}},
	Classes:     []string{"sparse", "dense"},
	NodeClasses: []string{"even", "odd"},
	NodeSparse:  record.Channel{Name: "words", Card: 100},
	NodeIDs:     graph.StringIDs,
}

// Sample returns the stream that operators are checked with: 12 undirected
// graphs with 0 to 9 nodes in records of 5, 1 and 6 rows, which the caller
// releases. Row i has graph_id 100+i and pos i.
func Sample(mem memory.Allocator) []arrow.Record {
	b := record.NewBuilder(mem, Layout)
	defer b.Release()
	var recs []arrow.Record
	for i, g := range Graphs(false) {
		Decorate(g)
		if err := b.Append(g, row(i, g)); err != nil {
			panic("flowtest: " + err.Error()) // the shapes below are at fault
		}
		if n := b.Rows(); len(recs) == 0 && n == 5 || len(recs) == 1 || i == len(shapes)-1 {
			recs = append(recs, b.Record())
		}
	}
	return recs
}

// Graphs returns the graphs of Sample without attributes; directed, their edges are
// arcs.
func Graphs(directed bool) []*graph.Graph {
	graphs := make([]*graph.Graph, len(shapes))
	for i, shape := range shapes {
		g, err := graph.New(shape.n, directed, shape.edges)
		if err != nil {
			panic("flowtest: " + err.Error()) // the shapes below are at fault
		}
		graphs[i] = g
	}
	return graphs
}

// shapes has connected and disconnected graphs, ones with much symmetry and
// with none, one node, and none at all.
var shapes = []struct {
	n     int
	edges []graph.Edge
}{
	{5, path(5)},
	{6, cycle(6)},
	{7, star(7)},
	{1, nil},
	{4, complete(4)},
	{0, nil},
	{9, append(cycle(4), graph.Edge{U: 5, V: 6}, graph.Edge{U: 6, V: 7})}, // two components, two lone nodes
	{6, append(path(6), graph.Edge{U: 1, V: 4}, graph.Edge{U: 2, V: 4})},
	{8, append(cycle(8), path(5)...)},
	{2, path(2)},
	{9, append(complete(5), graph.Edge{U: 4, V: 5}, graph.Edge{U: 5, V: 6}, graph.Edge{U: 6, V: 7}, graph.Edge{U: 7, V: 8})},
	{3, nil},
}

func path(n int32) (e []graph.Edge) {
	for v := range n - 1 {
		e = append(e, graph.Edge{U: v, V: v + 1})
	}
	return e
}

func cycle(n int32) []graph.Edge { return append(path(n), graph.Edge{U: n - 1, V: 0}) }

func star(n int32) (e []graph.Edge) {
	for v := range n - 1 {
		e = append(e, graph.Edge{U: 0, V: v + 1})
	}
	return e
}

func complete(n int32) (e []graph.Edge) {
	for v := range n {
		for u := range v {
			e = append(e, graph.Edge{U: u, V: v})
		}
	}
	return e
}

// Decorate gives g, which has none, the attributes of Layout; an edge has the same values in
// both directions.
func Decorate(g *graph.Graph) {
	g.NodeCats, g.NodeAttrs, g.EdgeCats, g.EdgeAttrs = 1, 2, 1, 1
	g.SparseCard, g.SparseOffsets = Layout.NodeSparse.Card, []int32{0}
	for v := range int32(g.N()) {
		g.NodeCat = append(g.NodeCat, v*v%3)
		g.NodeAttr = append(g.NodeAttr, float32(v)/4, float32(g.Degree(v)))
		for i := range v % 3 {
			g.NodeSparse = append(g.NodeSparse, v+11*i)
		}
		g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		for _, u := range g.Adj(v) {
			g.EdgeCat = append(g.EdgeCat, (u+v)%2)
			g.EdgeAttr = append(g.EdgeAttr, float32(u*v)/8)
		}
	}
}

func row(i int, g *graph.Graph) record.Row {
	r := record.Row{ID: 100 + int64(i), Pos: int64(i)}
	if g.M() > g.N() {
		r.Class = 1
	}
	var ids []string
	for v := range int32(g.N()) {
		r.NodeClass = append(r.NodeClass, v%2)
		ids = append(ids, fmt.Sprintf("%c of graph %d", 'z'-v, i)) // the ids do not ascend
	}
	var err error
	if r.NodeID, err = graph.IDsOfStrings(ids); err != nil {
		panic("flowtest: " + err.Error())
	}
	return r
}

// Mem returns a checked allocator over [record.Poison]. At the end of the test, after the cleanups
// registered later, all memory must be free.
func Mem(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(record.Poison{})
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}
