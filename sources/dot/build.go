package dot

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// builder converts the syntax trees of a DOT text to graphs.
type builder struct {
	l      *reading.Lines
	pulse  reading.Pulse
	number map[string]int32
	names  []string
	a      rows.Arcs
	csr    rows.Csr
	room   reading.Room // memory charged for csr
}

// cluster is a graph or a subgraph. A second subgraph of the same name continues the first.
type cluster struct {
	nodes []int32 // sorted when the subgraph ends
	named map[string]*cluster
}

func (b *builder) graph(tree *ast.Graph) (g Graph, err error) {
	b.number, b.names = map[string]int32{}, nil
	b.a.Ends = b.a.Ends[:0]
	if err = b.statements(tree.Stmts, &cluster{}); err != nil {
		return g, err
	}
	n, m := len(b.names), len(b.a.Ends)
	g.Graph, g.Names = &graph.Graph{}, b.names
	// The factor 3 covers the graph and the Arrow buffer of its copy, which grows by doubling.
	if err = b.l.Take(3 * 4 * int64(n+1+2*m)); err != nil {
		return g, err
	}
	if err = b.room.AtLeast(b.l, rows.CsrBytes(n, m, 0)); err != nil {
		return g, err
	}
	return g, reading.Build(&b.csr, n, tree.Directed, &b.a, g.Graph)
}

// statements adds the nodes and edges of a graph or a subgraph.
func (b *builder) statements(list []ast.Stmt, in *cluster) (err error) {
	var from, to []int32 // nodes at the two ends of an edge; their memory is charged
	defer func() { b.l.Give(4 * int64(cap(from)+cap(to))) }()
	for _, s := range list {
		var vertex ast.Vertex
		var edge *ast.Edge
		switch s := s.(type) {
		case *ast.NodeStmt:
			vertex = s.Node
		case *ast.EdgeStmt:
			vertex, edge = s.From, s.To
		case *ast.Subgraph:
			vertex = s
		default: // statements of attributes are ignored
			continue
		}
		if to, err = b.end(vertex, in, to[:0]); err != nil {
			return err
		}
		for ; edge != nil; edge = edge.To {
			from, to = to, from
			if to, err = b.end(edge.Vertex, in, to[:0]); err != nil {
				return err
			}
			if err = b.join(from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// end appends the nodes at one end of an edge, and adds them to in.
func (b *builder) end(vertex ast.Vertex, in *cluster, end []int32) (_ []int32, err error) {
	if err = b.pulse.Beat(64); err != nil {
		return end, err
	}
	if node, ok := vertex.(*ast.Node); ok {
		name := plainName(node.ID)
		v, ok := b.number[name]
		if !ok {
			if err = b.l.Take(int64(len(name)) + 100); err != nil { // covers the entries in names and number too
				return end, err
			}
			v = int32(len(b.names))
			b.number[name], b.names = v, append(b.names, name)
		}
		end, err = reading.Push(b.l, end, v)
	} else {
		end, err = b.subgraph(vertex.(*ast.Subgraph), in, end)
	}
	if err == nil {
		in.nodes, err = reading.Grow(b.l, in.nodes, len(end))
	}
	if err == nil {
		in.nodes = append(in.nodes, end...)
	}
	return end, err
}

// subgraph appends the nodes of a subgraph to one end of an edge.
func (b *builder) subgraph(tree *ast.Subgraph, in *cluster, end []int32) (_ []int32, err error) {
	name, named := plainName(tree.ID), tree.ID != ""
	sub := in.named[name]
	if sub == nil || !named {
		sub = &cluster{}
	}
	if named && in.named[name] == nil {
		if err = b.l.Take(int64(len(name)) + 200); err != nil {
			return end, err
		}
		if in.named == nil {
			in.named = map[string]*cluster{}
		}
		in.named[name] = sub
	}
	if err = b.statements(tree.Stmts, sub); err == nil {
		err = b.pulse.Beat(8 * len(sub.nodes))
	}
	if err != nil {
		return end, err
	}
	slices.Sort(sub.nodes)
	sub.nodes = slices.Compact(sub.nodes)
	if end, err = reading.Grow(b.l, end, len(sub.nodes)); err != nil {
		return end, err
	}
	if end = append(end, sub.nodes...); !named {
		b.l.Give(4 * int64(cap(sub.nodes)))
	}
	return end, nil
}

// join adds an edge for each pair of nodes of the two ends.
func (b *builder) join(from, to []int32) (err error) {
	product := int64(len(from)) * int64(len(to))
	if product > math.MaxInt32/2-int64(len(b.a.Ends)) {
		return b.l.Errorf("more than %d edges", math.MaxInt32/2)
	}
	// The memory of the graph is charged later; the check here fails early.
	later := 36 * (int64(len(b.a.Ends)) + product)
	if err = b.l.Take(later); err != nil {
		return err
	}
	b.l.Give(later)
	if b.a.Ends, err = reading.Grow(b.l, b.a.Ends, int(product)); err != nil {
		return err
	}
	for _, u := range from {
		if err = b.pulse.Beat(len(to)); err != nil {
			return err
		}
		for _, v := range to {
			b.a.Ends = append(b.a.Ends, graph.Edge{U: u, V: v})
		}
	}
	return nil
}

// escapes replaces the escape sequences of a quoted DOT name: \" is a quote, a backslash before a line end joins the lines, and \\ stays.
var escapes = strings.NewReplacer(`\\`, `\\`, `\"`, `"`, "\\\n", "", "\\\r\n", "")

// plainName returns a name as Graphviz reads it: "a" is a. The text "<a>" keeps its quotes, since it differs from
// the HTML text <a>.
func plainName(id string) string {
	if !strings.HasPrefix(id, `"`) {
		return id
	}
	name := escapes.Replace(id[1 : len(id)-1])
	if strings.HasPrefix(name, "<") {
		return `"` + name + `"`
	}
	return name
}
