package dot

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph/encoding/dot"
	formats "gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

func TestSource(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"graph { a -- b -- c }", "a-b b-c"},
		{"strict graph G { a -- a; a -- b; b -- a [weight=2]; c }", "a-b c"},
		{"digraph { a -> b -> c -> a }", "a>b b>c c>a"},
		{"graph { b; a -- {b c} }", "b-a a-c"}, // gonum's decoder misses a -- b
		{"graph { {a b} -- {c d} }", "a-c a-d b-c b-d"},
		{"graph { subgraph s { a -- b } -- c; node [shape=box]; x=y }", "a-b a-c b-c"},
		{"graph {}", ""},
		{"graph { a -- b } digraph { a -> c }", "a>b b>a | a>c"},
		{"// x\ngraph { \"a b\" -- 2:p:n /* y */ }", "a b-2"},
		{"graph { a:n:e, b:c -- \"a\", <b>; \"x\\\"y\\\nz\" + \"\\\\\" ; 1.5a -.5 -- .5; Node [] Edge[a=b;c=d,e=f] []}", "a-b a-<b> b-<b> -.5-.5 x\"yz\\\\ 1.5"},
		{"graph { subgraph x {a} subgraph y { b subgraph x { c } } subgraph x {} -- d ; a = b c = d}", "a-d b c"},
		{"# 1\ngraph {a\n#b\n}\n", "a"},
		{"graph g1 {a--b} strict graph \"g 2\" {a--a} graph<<b>g</b>>{subgraph {} -- {} subgraph s {a--b}--c [x=y]; }", "a-b | a | a-b a-c b-c"},
	} {
		graphs, err := Source{Reader: strings.NewReader(c.text)}.Read(context.Background())
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var all []string
		for _, g := range graphs {
			all = append(all, spell(g))
		}
		if got := strings.Join(all, " | "); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}

// spell lists the edges by names, then isolated nodes.
func spell(g Graph) string {
	var s []string
	met := make([]bool, len(g.Names))
	for u := range int32(g.Graph.N()) {
		for _, v := range g.Graph.Adj(u) {
			met[u], met[v] = true, true
			if g.Graph.Directed {
				s = append(s, g.Names[u]+">"+g.Names[v])
			} else if u < v {
				s = append(s, g.Names[u]+"-"+g.Names[v])
			}
		}
	}
	for v, m := range met {
		if !m {
			s = append(s, g.Names[v])
		}
	}
	return strings.Join(s, " ")
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "sources: x:1: no graph"},
		{"graph {\n a --\n}", `sources: x:3: "}", want the other end of an edge`},
		{"graph {\n a -- b\n", "sources: x:3: the text ends, want a node, a statement or }"},
		{"graph {\n a -- b [c]\n", `sources: x:2: "]", want = and the value of the attribute`},
		{"graph { a -> b }", "sources: x:1: -> belongs in a digraph, and -- in a graph"},
		{"digraph {\n\n a -> b -- c }", "sources: x:3: -> belongs in a digraph, and -- in a graph"},
		{"graph {} x", `sources: x:1: "x", want graph or digraph`},
		{"graph { ; }", `sources: x:1: ";", want a node, a statement or }`},
		{"graph { a -- node [] }", `sources: x:1: "node", want the other end of an edge`},
		{"graph { subgraph s }", `sources: x:1: "}", want {`},
		{"graph {\n/*\n*/ \"a\nb\" -- 'c' }", `sources: x:4: "'" is no token of DOT`},
		{"graph { \"a\n }", "sources: x:1: a text without its closing quote"},
		{"graph { <<a>\n }", "sources: x:1: an HTML text without its closing >"},
		{"graph { /* }", "sources: x:1: a comment without its end"},
		{"\x00\x01", `sources: x:1: "\x00" is no token of DOT`},
		{"graph {" + strings.Repeat("{", 1200) + "a" + strings.Repeat("}", 1200) + "}", "sources: x:1: subgraphs nested more than 1000 deep"},
		{readtest.DOTProduct(10000), "sources: x:1: more than 1073741824 bytes of memory up to here; raise Memory if that is right"},
	} {
		_, err := Source{Path: "x", Reader: strings.NewReader(c.text)}.Read(context.Background())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := (Source{Path: "x", Reader: strings.NewReader("graph {}"), MaxBytes: 4}).Read(context.Background()); err == nil {
		t.Error("more than MaxBytes: no error")
	}
}

// What gonum writes is read back.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var text bytes.Buffer
	var want []*graph.Graph
	for range 20 {
		g := readtest.Random(rng, 1+rng.IntN(12), false)
		d := simple.NewUndirectedGraph()
		for v := range int32(g.N()) {
			d.AddNode(simple.Node(v))
		}
		for v := range int32(g.N()) {
			for _, u := range g.Adj(v) {
				d.SetEdge(simple.Edge{F: simple.Node(v), T: simple.Node(u)})
			}
		}
		b, err := dot.Marshal(d, "g", "", " ")
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(b, '\n'))
		want = append(want, g)
	}
	got, _, _, err := readtest.All(t, Source{Reader: strings.NewReader(readtest.Pack(t, text.String())), Rows: 3})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d graphs, want %d; %v", len(got), len(want), err)
	}
	for i := range got {
		if !readtest.Same(&got[i].G, want[i]) {
			t.Errorf("graph %d differs", i)
		}
	}
}

// Any text gives what gonum's parser sees, or one line that names the place; and
// what is written out again by names is read back.
func FuzzSource(f *testing.F) {
	f.Add("graph { a -- {b c}; b }")
	f.Add("strict digraph \"x\" { a:p:n -> b [k=v]; subgraph s { c } }\ngraph { a -- a }")
	f.Add("graph { a -> }")
	f.Add("graph { subgraph s {a} subgraph s {\"b\\\"\"} -- <<b>> [x=y,z=1.5;] node [] edge[] u=v }")
	f.Add("digraph{a,b->-.5->{c subgraph t{}->d}\n#x\n/*}*/e;\"f\"+\"g\"}//")
	f.Fuzz(func(t *testing.T, text string) {
		s := Source{Path: "x", Reader: strings.NewReader(text), MaxBytes: 1 << 16, Memory: 1 << 24}
		graphs, err := s.Read(t.Context())
		readtest.Failure(t, err)
		if err == nil && len(graphs) == 0 {
			t.Fatal("neither a graph nor an error")
		}
		if len(text) > 1<<10 || strings.HasPrefix(text, "\x1f\x8b") {
			return
		}
		if want, ok := gonumDOT(text); ok {
			if got := spellAll(graphs); err != nil || got != want {
				t.Fatalf("%q is %s, %v; gonum sees %s", text, got, err, want)
			}
		}
		if err != nil {
			return
		}
		var again strings.Builder
		for _, g := range graphs {
			writeDOT(&again, g)
		}
		back, err := Source{Reader: strings.NewReader(again.String())}.Read(t.Context())
		if err != nil || spellAll(back) != spellAll(graphs) {
			t.Fatalf("%q is %s, %q is %s; %v", text, spellAll(graphs), again.String(), spellAll(back), err)
		}
	})
}

func spellAll(graphs []Graph) string {
	var all []string
	for _, g := range graphs {
		all = append(all, spell(g))
	}
	return strings.Join(all, " | ")
}

// writeDOT writes nodes in their order, then edges.
func writeDOT(b *strings.Builder, g Graph) {
	name := func(v int32) string {
		if n := g.Names[v]; strings.HasPrefix(n, "<") || strings.HasPrefix(n, `"<`) && strings.HasSuffix(n, `"`) {
			return n
		}
		return `"` + strings.ReplaceAll(g.Names[v], `"`, `\"`) + `"`
	}
	kind, op := "graph", "--"
	if g.Graph.Directed {
		kind, op = "digraph", "->"
	}
	fmt.Fprintln(b, kind, "{")
	for v := range int32(g.Graph.N()) {
		fmt.Fprintln(b, name(v))
	}
	for v := range int32(g.Graph.N()) {
		for _, u := range g.Graph.Adj(v) {
			fmt.Fprintln(b, name(v), op, name(u))
		}
	}
	fmt.Fprintln(b, "}")
}

// gonumDOT spells the graphs as gonum parses them.
func gonumDOT(text string) (all string, ok bool) {
	defer func() {
		if recover() != nil { // it reports some mistakes so
			ok = false
		}
	}()
	for _, word := range regexp.MustCompile(`(?i)strict|(di|sub)?graph|node|edge`).FindAllString(text, -1) {
		if word != strings.ToLower(word) && word != strings.ToUpper(word) {
			return "", false // to gonum no keyword; to Graphviz one
		}
	}
	file, err := formats.ParseString(text)
	if err != nil || len(file.Graphs) == 0 {
		return "", false
	}
	directed := slices.ContainsFunc(file.Graphs, func(g *ast.Graph) bool { return g.Directed })
	var graphs []Graph
	for _, src := range file.Graphs {
		b := treeDOT{number: map[string]int32{}, directed: src.Directed}
		b.statements(src.Stmts, &cluster{})
		if b.mixed {
			return "", false // gonum takes a -- b in a digraph, where Graphviz does not
		}
		g, err := graph.New(len(b.names), src.Directed, b.edges)
		if err != nil {
			return "", false
		}
		g.Directed = directed
		graphs = append(graphs, Graph{g, b.names})
	}
	return spellAll(graphs), true
}

// treeDOT walks the tree of a graph.
type treeDOT struct {
	directed, mixed bool

	number map[string]int32
	names  []string
	edges  []graph.Edge
}

// statements adds the nodes that the statements name to those of a subgraph.
func (b *treeDOT) statements(list []ast.Stmt, in *cluster) {
	add := func(nodes []int32) []int32 {
		in.nodes = append(in.nodes, nodes...)
		return nodes
	}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.NodeStmt:
			add(b.end(s.Node, in))
		case *ast.EdgeStmt:
			from := add(b.end(s.From, in))
			for e := s.To; e != nil; e = e.To {
				b.mixed = b.mixed || e.Directed != b.directed
				to := add(b.end(e.Vertex, in))
				for _, u := range from {
					for _, v := range to {
						b.edges = append(b.edges, graph.Edge{U: u, V: v})
					}
				}
				from = to
			}
		case *ast.Subgraph:
			add(b.end(s, in))
		}
	}
}

func (b *treeDOT) end(v ast.Vertex, in *cluster) []int32 {
	if s, ok := v.(*ast.Subgraph); ok {
		sub := &cluster{}
		if name := plainName(s.ID); s.ID != "" {
			if in.named[name] == nil {
				if in.named == nil {
					in.named = map[string]*cluster{}
				}
				in.named[name] = sub
			}
			sub = in.named[name]
		}
		b.statements(s.Stmts, sub)
		return slices.Clone(sub.nodes)
	}
	name := plainName(v.(*ast.Node).ID)
	at, ok := b.number[name]
	if !ok {
		at = int32(len(b.names))
		b.number[name], b.names = at, append(b.names, name)
	}
	return []int32{at}
}

func plainName(id string) string {
	if !strings.HasPrefix(id, `"`) {
		return id
	}
	name := string(unquote([]byte(id)))
	if strings.HasPrefix(name, "<") {
		return `"` + name + `"`
	}
	return name
}
