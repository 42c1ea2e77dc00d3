package dot

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// maxDepth bounds the nesting of subgraphs. The parser recurses once per level, and each node is added to
// every enclosing subgraph.
const maxDepth = 1000

// parser reads the graphs of a text without building a syntax tree. The parser of gonum/graph/formats/dot
// builds a tree of 16 times the text, cannot be cancelled, and rejects node lists (a, b -- c), concatenated
// strings ("a" + "b") and keywords such as SubGraph. The tests compare with it and with Graphviz.
type parser struct {
	scanner
	kind  tokenKind // kind of the current token
	token []byte
	pulse reading.Pulse

	directed bool
	number   map[string]int32
	names    []string
	a        rows.Arcs
	csr      rows.Csr
	room     reading.Room // memory charged for csr
}

// cluster is a graph or a subgraph. A second subgraph of the same name continues the first.
type cluster struct {
	nodes []int32 // nodes of a subgraph; sorted when the subgraph ends
	named map[string]*cluster
}

// advance reads the next token.
func (p *parser) advance() (err error) {
	if err = p.pulse.Beat(64); err == nil {
		p.kind, p.token, err = p.next()
	}
	return err
}

// accept consumes the current token if it has that kind.
func (p *parser) accept(kind tokenKind) (bool, error) {
	if p.kind != kind {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) want(kind tokenKind, what string) error {
	if p.kind != kind {
		return p.unexpected(what)
	}
	return p.advance()
}

func (p *parser) unexpected(want string) error {
	if p.kind == tokenEnd {
		return p.l.Errorf("the text ends, want %s", want)
	}
	return p.l.Errorf("%s, want %s", reading.Quote(p.token), want)
}

// id reads a name. As in Graphviz, quotes are removed: "a" is a. The string "<a>" keeps its quotes, since it
// differs from the HTML text <a>.
func (p *parser) id(want string) ([]byte, error) {
	switch p.kind {
	case tokenID:
		name := p.token
		return name, p.advance()
	case tokenQuoted:
	default:
		return nil, p.unexpected(want)
	}
	name := slices.Clip(unquote(p.token)) // append must not overwrite the text of the file
	for {
		if err := p.advance(); err != nil {
			return nil, err
		}
		more, err := p.accept('+')
		if err == nil && !more && len(name) > 0 && name[0] == '<' {
			name = slices.Concat([]byte{'"'}, name, []byte{'"'})
		}
		if err != nil || !more {
			return name, err
		}
		if p.kind != tokenQuoted {
			return nil, p.unexpected("a text in quotes behind +")
		}
		name = append(name, unquote(p.token)...)
	}
}

// optional reads a name if the current token is one.
func (p *parser) optional() ([]byte, error) {
	if p.kind != tokenID && p.kind != tokenQuoted {
		return nil, nil
	}
	return p.id("a name")
}

func (p *parser) graph() (g Graph, err error) {
	if _, err = p.accept(tokenStrict); err != nil {
		return g, err
	}
	p.directed = p.kind == tokenDigraph
	if !p.directed && p.kind != tokenGraph {
		return g, p.unexpected("graph or digraph")
	}
	if err = p.advance(); err == nil {
		_, err = p.optional()
	}
	if err != nil {
		return g, err
	}
	p.number, p.names = map[string]int32{}, nil
	p.a.Ends = p.a.Ends[:0]
	if err = p.statements(&cluster{}, 0); err != nil {
		return g, err
	}
	n, m := len(p.names), len(p.a.Ends)
	g.Graph, g.Names = &graph.Graph{}, p.names
	// The factor 3 covers the graph and the Arrow buffer of its copy, which grows by doubling.
	if err = p.l.Take(3 * 4 * int64(n+1+2*m)); err != nil {
		return g, err
	}
	if err = p.room.AtLeast(p.l, rows.CsrBytes(n, m, 0)); err != nil {
		return g, err
	}
	return g, reading.Build(&p.csr, n, p.directed, &p.a, g.Graph)
}

// statements reads the statements of a graph or subgraph, with the braces.
func (p *parser) statements(in *cluster, depth int) error {
	if err := p.want('{', "{"); err != nil {
		return err
	}
	for p.kind != '}' {
		if err := p.statement(in, depth); err != nil {
			return err
		}
	}
	return p.advance()
}

func (p *parser) statement(in *cluster, depth int) error {
	switch p.kind {
	case tokenGraph, tokenNode, tokenEdge:
		if err := p.advance(); err != nil {
			return err
		}
		if p.kind != '[' {
			return p.unexpected("attributes in brackets")
		}
		return p.attributes()
	}
	var from, end []int32 // nodes at the two ends of an edge; their memory is charged
	defer func() { p.l.Give(4 * int64(cap(from)+cap(end))) }()
	for joins := false; ; joins = true {
		from, end = end, from[:0]
		var err error
		if p.kind == tokenSubgraph || p.kind == '{' {
			end, err = p.subgraph(in, end, depth)
		} else {
			what := "a node, a statement or }"
			if joins {
				what = "the other end of an edge"
			}
			var value bool
			if end, value, err = p.nodes(end, what, joins); value {
				return err
			}
		}
		if err == nil && joins {
			err = p.join(from, end)
		}
		if err == nil && depth > 0 {
			if in.nodes, err = reading.Grow(p.l, in.nodes, len(end)); err == nil {
				in.nodes = append(in.nodes, end...)
			}
		}
		if err != nil {
			return err
		}
		if p.kind != tokenLine && p.kind != tokenArc {
			return p.attributes()
		}
		if (p.kind == tokenArc) != p.directed {
			return p.l.Errorf("-> belongs in a digraph, and -- in a graph")
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
}

// nodes appends the nodes of a list to one end of an edge. It also reads an assignment such as rank=same, and
// then returns value.
func (p *parser) nodes(end []int32, what string, joins bool) (_ []int32, value bool, err error) {
	for {
		name, err := p.id(what)
		if err != nil {
			return end, false, err
		}
		if p.kind == '=' && !joins && len(end) == 0 {
			if err = p.advance(); err == nil {
				_, err = p.id("a value")
			}
			if err == nil {
				_, err = p.accept(';')
			}
			return end, true, err
		}
		if end, err = p.node(end, name); err != nil {
			return end, false, err
		}
		if more, err := p.accept(','); err != nil || !more {
			return end, false, err
		}
		what = "a node"
	}
}

// node appends a node to one end of an edge, and skips its port.
func (p *parser) node(end []int32, name []byte) (_ []int32, err error) {
	v, ok := p.number[string(name)]
	if !ok {
		if err = p.l.Take(int64(len(name)) + 100); err != nil { // covers the entries in names and number too
			return end, err
		}
		v = int32(len(p.names))
		text := string(name)
		p.number[text] = v
		p.names = append(p.names, text)
	}
	if end, err = reading.Push(p.l, end, v); err != nil {
		return end, err
	}
	for range 2 {
		if port, err := p.accept(':'); err != nil || !port {
			return end, err
		}
		if _, err = p.id("a port"); err != nil {
			return end, err
		}
	}
	return end, nil
}

// subgraph appends the nodes of a subgraph to one end of an edge.
func (p *parser) subgraph(in *cluster, end []int32, depth int) ([]int32, error) {
	if depth++; depth > maxDepth {
		return end, p.l.Errorf("subgraphs nested more than %d deep", maxDepth)
	}
	var name []byte
	keyword, err := p.accept(tokenSubgraph)
	if err == nil && keyword {
		name, err = p.optional()
	}
	if err != nil {
		return end, err
	}
	sub, named := in.named[string(name)], name != nil
	if sub == nil || !named {
		sub = &cluster{}
	}
	if named && in.named[string(name)] == nil {
		if err := p.l.Take(int64(len(name)) + 200); err != nil {
			return end, err
		}
		if in.named == nil {
			in.named = map[string]*cluster{}
		}
		in.named[string(name)] = sub
	}
	if err = p.statements(sub, depth); err == nil {
		err = p.pulse.Beat(8 * len(sub.nodes))
	}
	if err != nil {
		return end, err
	}
	slices.Sort(sub.nodes)
	sub.nodes = slices.Compact(sub.nodes)
	if end, err = reading.Grow(p.l, end, len(sub.nodes)); err != nil {
		return end, err
	}
	if end = append(end, sub.nodes...); !named {
		p.l.Give(4 * int64(cap(sub.nodes)))
	}
	return end, nil
}

// join adds an edge for each pair of nodes of the two ends.
func (p *parser) join(from, end []int32) (err error) {
	product := int64(len(from)) * int64(len(end))
	if product > math.MaxInt32/2-int64(len(p.a.Ends)) {
		return p.l.Errorf("more than %d edges", math.MaxInt32/2)
	}
	// The memory of the graph is charged later; the check here fails early.
	later := 36 * (int64(len(p.a.Ends)) + product)
	if err = p.l.Take(later); err != nil {
		return err
	}
	p.l.Give(later)
	if p.a.Ends, err = reading.Grow(p.l, p.a.Ends, int(product)); err != nil {
		return err
	}
	for _, u := range from {
		if err = p.pulse.Beat(len(end)); err != nil {
			return err
		}
		for _, v := range end {
			p.a.Ends = append(p.a.Ends, graph.Edge{U: u, V: v})
		}
	}
	return nil
}

// attributes skips the attribute lists of a statement and its semicolon.
func (p *parser) attributes() error {
	for p.kind == '[' {
		if err := p.advance(); err != nil {
			return err
		}
		for p.kind != ']' {
			if _, err := p.id("an attribute or ]"); err != nil {
				return err
			}
			if err := p.want('=', "= and the value of the attribute"); err != nil {
				return err
			}
			if _, err := p.id("the value of the attribute"); err != nil {
				return err
			}
			if p.kind == ',' || p.kind == ';' {
				if err := p.advance(); err != nil {
					return err
				}
			}
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	_, err := p.accept(';')
	return err
}
