package dot

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph/encoding/dot"
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
		{"graph { a:n:e -- b:c -- \"a\" -- <b>; \"x\\\"y\\\nz\\\\\" ; 1.5a -.5 -- .5; Node [] Edge[a=b;c=d,e=f] []}", "a-b a-<b> -.5-.5 x\"yz\\\\ 1.5"},
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
		{"", "sources: x:1: expected one of strict, graphx or digraph; got: end-of-file"},
		{"graph {\n a --\n}", `sources: x:3: expected one of "{", subgraph or id; got: "}"`},
		{"graph {\n a -- b\n", "sources: x:3: expected one of "},
		{"graph {\n a -- b [c]\n", `sources: x:2: expected "="; got: "]"`},
		{"graph { a -> b }", "sources: x:1: -> belongs in a digraph, and -- in a graph"},
		{"digraph {\n\n a -> b -- c }", "sources: x:3: -> belongs in a digraph, and -- in a graph"},
		{"graph {} digraph {}\ngraph {a->b}", "sources: x:2: -> belongs in a digraph, and -- in a graph"},
		{"graph {} x", `sources: x:1: expected one of `},
		{"graph { ; }", `sources: x:1: expected one of `},
		{"graph { a -- node [] }", `sources: x:1: expected one of "{", subgraph or id; got: "node"`},
		{"graph { subgraph s }", `sources: x:1: expected "{"; got: "}"`},
		{"graph {\n/*\n*/ \"a\nb\" -- 'c' }", `sources: x:4: expected one of "{", subgraph or id; got: unknown/invalid token "'"`},
		{"graph { \"a\n }", `sources: x:1: "\"a\n }" has no end`},
		{"graph { <<a>\n }", `sources: x:1: "<<a>\n }" has no end`},
		{"graph { /* }", `sources: x:1: "/* }" has no end`},
		{"\x00\x01", "sources: x:1: expected one of strict, graphx or digraph; got: unknown/invalid token"},
		{"graph {" + strings.Repeat("{", 1200) + "a" + strings.Repeat("}", 1200) + "}", "sources: x:1: subgraphs nested more than 1000 deep"},
		// What Graphviz reads and gonum does not, or otherwise.
		{"graph {\n a, b -- c }", `sources: x:2: expected one of `},
		{"graph {\n \"a\" + \"b\" }", "sources: x:2: texts joined by + are not read"},
		{"graph {\n sUBGRAPH x {a} }", "sources: x:2: sUBGRAPH is read in the spellings subgraph, Subgraph, subGraph, SubGraph, SUBGRAPH"},
		{"graph {\n 5sUBGRAPH x {a} }", "sources: x:2: sUBGRAPH is read in the spellings "},
		{"dIGRAPH { a -> b }", "sources: x:1: dIGRAPH is read in the spellings "},
		{"graph {\n\n\"a\\\\\nb\" }", `sources: x:3: "\"a\\\\\nb\"": two backslashes at a line end`},
		{"graph { \"\xff\" }", "sources: x:1: expected one of "},
		{"graph { <a<b<c>>> }", "sources: x:1: expected one of "},
		{"graph { {} [a=b] }", "sources: x:1: expected one of "},
		{"graph {a" + strings.Repeat("--a", 1<<21+1) + "}", "sources: x:1: more than 2097152 edges are written"},
		{"graph {\n\n" + strings.Repeat("x", 1000) + " = = }", `sources: x:3: expected id; got: "="`},
		{"graph { = \"" + strings.Repeat("x", 1000) + "\" }", "sources: x:1: expected one of "},
		{readtest.DOTProduct(10000), "sources: x: more than 1073741824 bytes of memory up to here; raise Memory if that is right"},
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

// Any text gives graphs, or one line that names the place; and what is written out
// again by names is read back.
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
