package sources

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Graphs streams graphs that are in memory. pos is the index of the graph, and so
// is graph_id if Item.ID is 0. The graphs are borrowed until the reader is closed,
// and copied into the records.
type Graphs struct {
	Items []Item
	// Layout describes attributes and targets. The zero Layout is derived from
	// Items: attributes of nodes and edges as the first graph with a node, and with an
	// edge, has them, named node_label,
	// node_attribute, node_sparse, edge_label, edge_attribute, with as many values
	// as occur; the classes 0 … largest Class if any item has one above 0, each below 2^20, else real
	// targets if any Value is not 0, else none; node classes likewise; ids of nodes if the first item has any.
	Layout record.Layout
	// Rows is the number of graphs per record. The default is 64.
	Rows int
}

// Item is a graph with its targets and ids.
type Item struct {
	Graph     *graph.Graph
	ID        int64     // graph_id; 0 = index in the stream
	Class     int32     // index into Layout.Classes
	Value     float32   // target if Layout.Real
	Targets   []float32 // values of Layout.Targets, as in record.Row
	NodeClass []int32   // class of each node if Layout.NodeClasses is set; -1 = unknown
	NodeID    graph.IDs // distinct ids of the nodes if Layout.NodeIDs is set
}

// String returns the number of graphs, for the plan of a pipeline.
func (s Graphs) String() string { return fmt.Sprintf("Graphs(%d)", len(s.Items)) }

// Open checks the settings and every graph: attributes and targets against the
// layout, the rest by [graph.Graph.Check]. O(n + m log m) in all.
func (s Graphs) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Rows < 0 {
		return nil, fmt.Errorf("sources: Graphs: Rows is %d, want at least 0", s.Rows)
	}
	if s.Layout.IsZero() {
		for i, item := range s.Items {
			if c := item.largestClass(); c >= maxClasses {
				return nil, fmt.Errorf("sources: Graphs: item %d: a class is %d, want less than %d where there is no Layout", i, c, maxClasses)
			}
		}
		s.Layout = layoutOf(s.Items)
	}
	for i, item := range s.Items {
		if err := item.check(ctx, &s.Layout); err != nil {
			return nil, fmt.Errorf("sources: Graphs: item %d: %w", i, err)
		}
	}
	item := indexed(len(s.Items), func(i int) (Item, error) { return s.Items[i], nil })
	return &reading.ItemsReader{Item: item, Rows: cmp.Or(s.Rows, 64), Build: record.NewBuilder(mem, s.Layout)}, nil
}

// maxClasses bounds the class names of a derived layout.
const maxClasses = 1 << 20

// layoutOf derives the layout that Graphs documents.
func layoutOf(items []Item) (l record.Layout) {
	if len(items) == 0 {
		return l
	}
	var class, nodeClass int32 = -1, -1
	for _, it := range items {
		class = max(class, it.Class)
		l.Real = l.Real || it.Value != 0
		for _, c := range it.NodeClass {
			nodeClass = max(nodeClass, c)
		}
	}
	l.NodeIDs = items[0].NodeID.Kind()
	if class > 0 {
		l.Classes, l.Real = reading.Numbers(class+1), false
	}
	l.NodeClasses = reading.Numbers(nodeClass + 1)
	if g := items[0].Graph; g != nil {
		l.Directed = g.Directed
	}
	first := func(describes func(g *graph.Graph) bool) *graph.Graph {
		i := slices.IndexFunc(items, func(it Item) bool { return it.Graph != nil && describes(it.Graph) })
		return cmp.Or(items[max(i, 0)].Graph, &graph.Graph{})
	}
	g := first(func(g *graph.Graph) bool { return g.N() > 0 })
	l.NodeCat = reading.Channels("node_label", nil, g.NodeCats)
	l.NodeAttr = reading.Channels("node_attribute", nil, g.NodeAttrs)
	if g.SparseCard > 0 {
		l.NodeSparse = record.Channel{Name: "node_sparse", Card: g.SparseCard}
	}
	g = first(func(g *graph.Graph) bool { return len(g.Neighbors) > 0 })
	l.EdgeCat = reading.Channels("edge_label", nil, g.EdgeCats)
	l.EdgeAttr = reading.Channels("edge_attribute", nil, g.EdgeAttrs)
	cards(l.NodeCat, items, func(g *graph.Graph) []int32 { return g.NodeCat })
	cards(l.EdgeCat, items, func(g *graph.Graph) []int32 { return g.EdgeCat })
	return l
}

// cards sets the number of values of each channel: the largest of a column in all items plus 1. of returns the values of a
// graph, row-major.
func cards(channels []record.Channel, items []Item, of func(g *graph.Graph) []int32) {
	for c := range channels {
		most := int32(0)
		for _, it := range items {
			if it.Graph == nil {
				continue
			}
			for x := of(it.Graph); c < len(x); x = x[min(len(x), len(channels)):] {
				most = max(most, x[c])
			}
		}
		channels[c].Card = int(most) + 1
	}
}

func (it *Item) largestClass() int32 {
	c := it.Class
	for _, of := range it.NodeClass {
		c = max(c, of)
	}
	return c
}

func (it *Item) check(ctx context.Context, l *record.Layout) error {
	if it.Graph == nil {
		return fmt.Errorf("no graph")
	}
	if err := it.Graph.CheckContext(ctx); err != nil {
		return err
	}
	if it.Class != 0 && len(l.Classes) == 0 && !l.Real {
		return fmt.Errorf("class %d, and the layout has no classes", it.Class)
	}
	r := it.row(0)
	return l.Holds(it.Graph, &r)
}

// row returns the record row of the item, which has index at in its stream.
func (it *Item) row(at int64) record.Row {
	return record.Row{ID: cmp.Or(it.ID, at), Pos: at, Class: it.Class, Value: it.Value, Targets: it.Targets, NodeClass: it.NodeClass, NodeID: it.NodeID}
}

// Records streams records that are in memory. It belongs to package flow, since sinks read their
// collected records.
type Records = flow.Records

// indexed returns an iterator over the items that of returns for 0 to n-1. After them it returns io.EOF.
func indexed(n int, of func(i int) (Item, error)) func() (*graph.Graph, record.Row, error) {
	i := -1
	return func() (*graph.Graph, record.Row, error) {
		if i++; i == n {
			return nil, record.Row{}, io.EOF
		}
		it, err := of(i)
		if err != nil {
			return nil, record.Row{}, err
		}
		return it.Graph, it.row(0), nil
	}
}

// ClassIndex returns the index of the class of that name, else of the class that is the same whole
// number in another spelling, as 1 and 1.0, else -1.
func ClassIndex(classes []string, name string) int32 {
	if i := slices.Index(classes, name); i >= 0 {
		return int32(i)
	}
	number, _ := reading.WholeNumber([]byte(name))
	return int32(slices.IndexFunc(classes, func(class string) bool {
		of, _ := reading.WholeNumber([]byte(class))
		return bytes.Equal(of, number)
	}))
}
