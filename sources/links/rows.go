package links

import (
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// Classes are the classes of a pair.
func Classes() []string { return []string{"no link", "link"} }

// Layout describes the graphs of pairs, with the classes Classes, for the Expect of a saved recipe.
func Layout(g *graph.Graph) record.Layout {
	l := (&sources.NodeSet{Graph: g}).Layout()
	l.Classes = Classes()
	return l
}

// Rows is a source of a row for each pair of some folds, in order: the graph of the
// fold, the pair as its two roots, and class 1 for a link.
//
//	flow.From(links.Rows(folds...)).
//		Via(operators.Count{Of: []count.Counter{count.Pair{}}, DropGraph: true})
func Rows(folds ...Fold) sources.Rooted {
	src := sources.Rooted{W: 2}
	for _, f := range folds {
		src.Layout = Layout(f.Graph)
		g := sources.RootedGraph{Graph: f.Graph}
		for i, p := range f.Pairs {
			class := int32(0)
			if f.Link[i] {
				class = 1
			}
			g.Roots, g.Target = append(g.Roots, p[0], p[1]), append(g.Target, class)
		}
		src.Graphs = append(src.Graphs, g)
	}
	return src
}
