package sinks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// findWords adds the occurrences of words in a graph to their examples.
func (a *atlas) findWords(ctx context.Context, row int64, rec arrow.Record, words []*candidate) error {
	wanted := map[uint64]*candidate{}
	for _, w := range words {
		wanted[w.id] = w
	}
	view, err := eachWord(ctx, rec, a.p.recipe, graph.IDs{}, func(view *countView, o count.Occurrence) {
		if w, ok := wanted[o.ID]; ok {
			w.meet(row, view, o)
		}
	})
	if view != nil {
		view.release()
	}
	return err
}

// meet adds an occurrence to the example for a graph.
func (w *candidate) meet(row int64, view *countView, o count.Occurrence) {
	if w.text == "" {
		w.text, w.whole = o.Text(), len(o.Nodes)+len(o.Edges) == 0
	}
	if w.whole {
		return
	}
	i := slices.IndexFunc(w.examples, func(e *example) bool { return e.graph == row })
	e := w.examples[i]
	edges := o.Edges
	if o.Members != nil {
		_, edges = o.Members()
	}
	nodes := sortedMembers(o)
	if e.nodes == nil {
		e.shown = showExample(view.in.Graph, view.names.Node, nearby(view.in.Graph, nodes, o.Nodes), nodes, edges, o.Nodes)
		e.shown.Graph, e.shown.Weight = row, e.weight
		if i == 0 {
			whole, _ := view.in.Graph.Without(nil, nil) // a copy, since the view borrows the graph
			e.first = &occurrence{id: o.ID, of: view.of, graph: whole, roots: slices.Clone(o.Nodes), nodes: nodes, edges: slices.Clone(edges)}
		}
	}
	e.nodes = append(e.nodes, nodes...)
	slices.Sort(e.nodes)
	e.nodes = slices.Compact(e.nodes)
}

// mostVaried bounds the nodes of a graph in which pattern varies attributes, since each variation costs a search for the word.
const mostVaried = 2000

// occurrence is an occurrence of a word in a copy of its graph.
type occurrence struct {
	id    uint64
	of    count.Counter
	graph *graph.Graph
	roots []int32      // nodes that locate the word; see count.Occurrence.Nodes
	nodes []int32      // nodes of the occurrence, ascending
	edges []graph.Edge // edges of the occurrence
}

// pattern returns the members alone. The word depends on an attribute of a member if the word does not occur when the attribute has another
// value. The other attributes become Unread; in a graph of more than mostVaried nodes, all attributes.
func (o *occurrence) pattern(ctx context.Context) (*Example, error) {
	g, there := o.graph, false
	var unread []*int32
	vary := func(values []int32, width int, entries ...int) error {
		for c := range width {
			old, other := values[entries[0]*width+c], int32(0)
			for i := c; i < len(values); i += width {
				other = max(other, values[i]+1)
			}
			set := func(x int32) {
				for _, i := range entries {
					values[i*width+c] = x
				}
			}
			there = g.N() > mostVaried
			if set(other); !there {
				_, err := count.Find(o.of, count.Input{Graph: g, Context: ctx}, count.Dictionary{}, func(x count.Occurrence) {
					there = there || x.ID == o.id && slices.Equal(x.Nodes, o.roots) && slices.Equal(sortedMembers(x), o.nodes)
				})
				if err != nil {
					return err
				}
			}
			if set(old); there {
				for _, i := range entries {
					unread = append(unread, &values[i*width+c])
				}
			}
		}
		return nil
	}
	for _, v := range o.nodes {
		if err := vary(g.NodeCat, g.NodeCats, int(v)); err != nil {
			return nil, err
		}
	}
	for _, e := range o.edges {
		entries := []int{int(g.Entry(e.U, e.V))}
		if !g.Directed {
			entries = append(entries, int(g.Entry(e.V, e.U)))
		}
		if err := vary(g.EdgeCat, g.EdgeCats, entries...); err != nil {
			return nil, err
		}
	}
	for _, x := range unread {
		*x = Unread
	}
	var others []graph.Edge
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			if !slices.ContainsFunc(o.edges, func(e graph.Edge) bool { return e.U == v && e.V == u || e.U == u && e.V == v }) {
				others = append(others, graph.Edge{U: v, V: u})
			}
		}
	}
	alone, err := g.Without(nil, others)
	if err != nil {
		return nil, err
	}
	e := showExample(alone, nil, o.nodes, o.nodes, o.edges, o.roots)
	return &e, nil
}

// nearby returns the nodes to show, ascending: the whole graph, or of a large graph the members and their neighbours.
func nearby(g *graph.Graph, members, roots []int32) (shown []int32) {
	if g.N() <= mostShown {
		return numbersTo(g.N())
	}
	show := func(nodes []int32) {
		for _, v := range nodes {
			if !slices.Contains(shown, v) && len(shown) < mostShown {
				shown = append(shown, v)
			}
		}
	}
	show(roots)
	show(members)
	for _, v := range slices.Clone(shown) {
		show(g.Adj(v))
	}
	slices.Sort(shown)
	return shown
}

// showExample returns the example of some nodes, ascending.
func showExample(g *graph.Graph, typeOf func(channel int, value int32) string, shown, members []int32, edges []graph.Edge, roots []int32) (e Example) {
	e.Drawn, _ = g.Only(shown) // no error: shown are nodes of g
	joined := map[graph.Edge]bool{}
	for _, edge := range edges {
		joined[edge], joined[graph.Edge{U: edge.V, V: edge.U}] = true, true
	}
	for _, v := range shown {
		_, member := slices.BinarySearch(members, v)
		n := ExampleNode{ID: v, Member: member, Root: slices.Contains(roots, v)}
		if g.NodeCats > 0 {
			x := g.NodeCat[int(v)*g.NodeCats]
			if typeOf != nil {
				n.Type = typeOf(0, x)
			}
			n.Type = cmp.Or(n.Type, fmt.Sprint(x))
		}
		e.Nodes = append(e.Nodes, n)
	}
	for i, v := range shown {
		for _, u := range g.Adj(v) {
			if j, ok := slices.BinarySearch(shown, u); ok && (g.Directed || v < u) {
				e.Edges = append(e.Edges, ExampleEdge{int32(i), int32(j), joined[graph.Edge{U: v, V: u}]})
			}
		}
	}
	return e
}
