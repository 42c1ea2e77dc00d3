package sources

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// maxDOTDepth bounds how deep subgraphs are nested: a node is entered into each
// of those around it.
const maxDOTDepth = 1000

// dotParser reads the graphs of a text. It keeps no tree of the syntax and does
// not call itself: what it takes grows with the graphs, not with how they are
// written. gonum's parser does, and cannot be stopped; the tests compare with it,
// and with Graphviz.
type dotParser struct {
	dotScanner
	kind  dotKind // of the token in hand
	token []byte
	pulse pulse

	directed bool
	number   map[string]int32
	names    []string
	a        arcs
	csr      csr
	stack    []dotFrame // the graph, and the subgraphs within which the text is
	end      []int32    // nodes at the end of an edge that was read last
}

// dotSub is a graph or subgraph. One that is named again goes on.
type dotSub struct {
	nodes []int32 // of a subgraph, ascending when it is closed
	named map[string]*dotSub
}

// dotFrame is a graph whose statements are being read.
type dotFrame struct {
	*dotSub
	from  []int32 // the end before, of an edge whose other end follows
	joins bool
	kept  bool // it has a name, so that its nodes are needed after it
}

// advance goes on to the next token.
func (p *dotParser) advance() (err error) {
	if err = p.pulse.beat(64); err == nil {
		p.kind, p.token, err = p.next()
	}
	return err
}

// accept goes on, if the token in hand is of that kind.
func (p *dotParser) accept(kind dotKind) (bool, error) {
	if p.kind != kind {
		return false, nil
	}
	return true, p.advance()
}

func (p *dotParser) want(kind dotKind, what string) error {
	if p.kind != kind {
		return p.unexpected(what)
	}
	return p.advance()
}

func (p *dotParser) unexpected(want string) error {
	if p.kind == dotEnd {
		return p.l.errorf("the text ends, want %s", want)
	}
	return p.l.errorf("%s, want %s", quote(p.token), want)
}

// id reads a name. Quotes are taken away, as Graphviz does: "a" is a. But "<a>" is
// not <a>, and keeps them.
func (p *dotParser) id(want string) ([]byte, error) {
	switch p.kind {
	case dotID:
		name := p.token
		return name, p.advance()
	case dotQuoted:
	default:
		return nil, p.unexpected(want)
	}
	name := slices.Clip(unquote(p.token)) // what is appended goes to other memory
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
		if p.kind != dotQuoted {
			return nil, p.unexpected("a text in quotes behind +")
		}
		name = append(name, unquote(p.token)...)
	}
}

// graph reads the next graph.
func (p *dotParser) graph() (g NamedGraph, err error) {
	if _, err = p.accept(dotStrict); err != nil {
		return g, err
	}
	p.directed = p.kind == dotDigraph
	if !p.directed && p.kind != dotGraph {
		return g, p.unexpected("graph or digraph")
	}
	if err = p.advance(); err != nil {
		return g, err
	}
	if p.kind == dotID || p.kind == dotQuoted {
		if _, err = p.id("a name"); err != nil {
			return g, err
		}
	}
	if err = p.want('{', "{"); err != nil {
		return g, err
	}
	p.number, p.names = map[string]int32{}, nil
	p.a.u, p.a.v = p.a.u[:0], p.a.v[:0]
	p.stack = append(p.stack[:0], dotFrame{dotSub: &dotSub{}})
	for len(p.stack) > 0 {
		if err = p.statement(); err != nil {
			return g, err
		}
	}
	n, m := len(p.names), len(p.a.u)
	g.Graph, g.Names = &graph.Graph{}, p.names
	// Three times: the graph, and what an Arrow buffer takes for its copy.
	if err = p.l.take(3 * 4 * int64(n+1+2*m)); err != nil {
		return g, err
	}
	if err = p.csr.room.atLeast(p.l, csrBytes(n, m, 0)); err != nil {
		return g, err
	}
	return g, p.csr.build(n, p.directed, &p.a, g.Graph)
}

// statement reads one statement of the innermost graph, or what is behind the
// subgraph that begins or ends there.
func (p *dotParser) statement() (err error) {
	f := &p.stack[len(p.stack)-1]
	switch p.kind {
	case '}':
		if f.joins {
			return p.unexpected("the other end of an edge")
		}
		return p.close()
	case dotSubgraph, '{':
		return p.open()
	case dotGraph, dotNode, dotEdge:
		if f.joins {
			return p.unexpected("the other end of an edge")
		}
		if err = p.advance(); err != nil {
			return err
		}
		if p.kind != '[' {
			return p.unexpected("attributes in brackets")
		}
		return p.finish()
	}
	name, err := p.id("a node, a statement or }")
	if err != nil {
		return err
	}
	if p.kind == '=' && !f.joins {
		if err = p.advance(); err == nil {
			_, err = p.id("a value")
		}
		if err == nil {
			_, err = p.accept(';')
		}
		return err
	}
	p.end = p.end[:0]
	for {
		if err = p.node(name); err != nil {
			return err
		}
		more, err := p.accept(',')
		if err != nil {
			return err
		}
		if !more {
			return p.join()
		}
		if name, err = p.id("a node"); err != nil {
			return err
		}
	}
}

// node adds a node to the end of an edge, and reads its port.
func (p *dotParser) node(name []byte) (err error) {
	v, ok := p.number[string(name)]
	if !ok {
		if err = p.l.take(int64(len(name)) + 100); err != nil { // and its places in names and number
			return err
		}
		v = int32(len(p.names))
		text := string(name)
		p.number[text] = v
		p.names = append(p.names, text)
	}
	if p.end, err = push(p.l, p.end, v); err != nil {
		return err
	}
	for range 2 {
		if port, err := p.accept(':'); err != nil || !port {
			return err
		}
		if _, err = p.id("a port"); err != nil {
			return err
		}
	}
	return nil
}

// open begins a subgraph.
func (p *dotParser) open() error {
	if len(p.stack) > maxDOTDepth {
		return p.l.errorf("subgraphs nested more than %d deep", maxDOTDepth)
	}
	around := p.stack[len(p.stack)-1]
	var sub *dotSub
	keyword, err := p.accept(dotSubgraph)
	if err != nil {
		return err
	}
	if keyword && (p.kind == dotID || p.kind == dotQuoted) {
		name, err := p.id("a name")
		if err != nil {
			return err
		}
		if sub = around.named[string(name)]; sub == nil {
			if err := p.l.take(int64(len(name)) + 200); err != nil {
				return err
			}
			if around.named == nil {
				around.named = map[string]*dotSub{}
			}
			sub = &dotSub{}
			around.named[string(name)] = sub
		}
	}
	kept := sub != nil
	if !kept {
		sub = &dotSub{}
	}
	p.stack = append(p.stack, dotFrame{dotSub: sub, kept: kept})
	return p.want('{', "{")
}

// close ends the innermost graph. A subgraph is then the end of an edge.
func (p *dotParser) close() (err error) {
	last := len(p.stack) - 1
	f := p.stack[last]
	sub := f.dotSub
	p.l.give(4 * int64(cap(f.from)))
	p.stack[last] = dotFrame{}
	p.stack = p.stack[:last]
	if err = p.advance(); err != nil || last == 0 {
		return err
	}
	if err = p.pulse.beat(8 * len(sub.nodes)); err != nil {
		return err
	}
	slices.Sort(sub.nodes)
	sub.nodes = slices.Compact(sub.nodes)
	if p.end, err = grow(p.l, p.end[:0], len(sub.nodes)); err != nil {
		return err
	}
	p.end = append(p.end, sub.nodes...)
	if !f.kept {
		p.l.give(4 * int64(cap(sub.nodes)))
		sub.nodes = nil
	}
	return p.join()
}

// join joins the end of an edge with the one before it, and goes on to the next
// end or to the next statement.
func (p *dotParser) join() (err error) {
	f := &p.stack[len(p.stack)-1]
	if f.joins {
		product := int64(len(f.from)) * int64(len(p.end))
		if product > math.MaxInt32/2-int64(len(p.a.u)) {
			return p.l.errorf("more than %d edges", math.MaxInt32/2)
		}
		// What the graph will take is not charged yet, but has to be there.
		later := 36 * (int64(len(p.a.u)) + product)
		if err = p.l.take(later); err != nil {
			return err
		}
		p.l.give(later)
		if p.a.u, err = grow(p.l, p.a.u, int(product)); err != nil {
			return err
		}
		if p.a.v, err = grow(p.l, p.a.v, int(product)); err != nil {
			return err
		}
		for _, u := range f.from {
			if err = p.pulse.beat(len(p.end)); err != nil {
				return err
			}
			for _, v := range p.end {
				p.a.u, p.a.v = append(p.a.u, u), append(p.a.v, v)
			}
		}
		f.joins = false
	}
	if len(p.stack) > 1 { // f is a subgraph
		if f.nodes, err = grow(p.l, f.nodes, len(p.end)); err != nil {
			return err
		}
		f.nodes = append(f.nodes, p.end...)
	}
	if p.kind != dotLine && p.kind != dotArc {
		return p.finish()
	}
	if (p.kind == dotArc) != p.directed {
		return p.l.errorf("-> belongs in a digraph, and -- in a graph")
	}
	if f.from, err = grow(p.l, f.from[:0], len(p.end)); err != nil {
		return err
	}
	f.from, f.joins = append(f.from, p.end...), true
	return p.advance()
}

// finish reads the attributes of a statement and its semicolon.
func (p *dotParser) finish() error {
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
