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

// findWords finds the occurrences of words in a graph.
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
	nodes, edges := o.Nodes, o.Edges
	if o.Members != nil {
		nodes, edges = o.Members()
	}
	nodes = slices.Clone(nodes)
	for _, edge := range o.Edges {
		nodes = append(nodes, edge.U, edge.V)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	if e.nodes == nil {
		e.shown = showExample(view.in.Graph, view.names.Node, nodes, edges, o.Nodes)
		e.shown.Graph, e.shown.Weight = row, e.weight
	}
	e.nodes = append(e.nodes, nodes...)
	slices.Sort(e.nodes)
	e.nodes = slices.Compact(e.nodes)
}

// showExample returns the whole graph, or for a large graph the members and their neighbours.
func showExample(g *graph.Graph, typeOf func(channel int, value int32) string, members []int32, edges []graph.Edge, roots []int32) (e Example) {
	shown, at := []int32{}, map[int32]int32{}
	show := func(v int32) {
		if _, ok := at[v]; !ok && len(shown) < mostShown {
			at[v] = 0
			shown = append(shown, v)
		}
	}
	for _, v := range roots {
		show(v)
	}
	for _, v := range members {
		show(v)
	}
	if g.N() <= mostShown {
		for v := range int32(g.N()) {
			show(v)
		}
	} else {
		for _, v := range slices.Clone(shown) {
			for _, u := range g.Adj(v) {
				show(u)
			}
		}
	}
	slices.Sort(shown)
	var gone []int32
	for v := range int32(g.N()) {
		if _, ok := at[v]; !ok {
			gone = append(gone, v)
		}
	}
	e.Drawn, _ = g.Without(gone, nil) // no error: gone are nodes of g
	joined := map[graph.Edge]bool{}
	for _, edge := range edges {
		joined[edge], joined[graph.Edge{U: edge.V, V: edge.U}] = true, true
	}
	for i, v := range shown {
		at[v] = int32(i)
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
			if j, ok := at[u]; ok && (g.Directed || v < u) {
				e.Edges = append(e.Edges, ExampleEdge{int32(i), j, joined[graph.Edge{U: v, V: u}]})
			}
		}
	}
	return e
}
