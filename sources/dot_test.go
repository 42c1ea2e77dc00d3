package sources

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
)

func TestDOT(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"graph { a -- b -- c }", "a-b b-c"},
		{"strict graph G { a -- a; a -- b; b -- a [weight=2]; c }", "a-b c"},
		{"digraph { a -> b -> c -> a }", "a>b b>c c>a"},
		{"graph { b; a -- {b c} }", "b-a a-c"}, // gonum's decoder misses a -- b
		{"graph { {a b} -- {c d} }", "a-c a-d b-c b-d"},
		{"graph { subgraph s { a -- b } -- c; node [shape=box]; x=y }", "a-b a-c b-c"},
		{"graph {}", ""},
		{"graph { a -- b } digraph { a -> c }", "a>b b>a | a>c"},
		{"// x\ngraph { \"a b\" -- 2:p:n /* y */ }", `"a b"-2`},
	} {
		graphs, err := DOT{Reader: strings.NewReader(c.text)}.Read(context.Background())
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
func spell(g NamedGraph) string {
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

func TestDOTErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "sources: x:1: expected one of"},
		{"graph {\n a --\n}", "sources: x:3: expected one of"},
		{"graph {\n a -- b\n", "sources: x:3: expected one of"},
		{"graph { a -> b }", `sources: x: undirected graph "" contains directed edge from "a" to "b"`},
		{"digraph { a -> b -- c }", "sources: x: "},
		{"\x00\x01", "sources: x:1: "},
		{"graph {" + strings.Repeat("{", 1200) + "a" + strings.Repeat("}", 1200) + "}", "sources: x: graph 0: subgraphs nested more than 1000 deep"},
		{bigProduct(), "sources: x: graph 0: more than 67108864 edges"},
	} {
		_, err := DOT{Path: "x", Reader: strings.NewReader(c.text)}.Read(context.Background())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := (DOT{Path: "x", Reader: strings.NewReader("graph {}"), MaxBytes: 4}).Read(context.Background()); err == nil {
		t.Error("more than MaxBytes: no error")
	}
}

// bigProduct is a short text that stands for 10⁸ edges.
func bigProduct() string {
	var a, b strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&a, " a%d", i)
		fmt.Fprintf(&b, " b%d", i)
	}
	return "graph { {" + a.String() + "} -- {" + b.String() + "} }"
}

// What gonum writes is read back.
func TestDOTRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var text bytes.Buffer
	var want []*graph.Graph
	for range 20 {
		g := randomGraph(rng, 1+rng.IntN(12), false)
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
	got, _, _, err := readAll(t, DOT{Reader: strings.NewReader(pack(t, text.String())), Rows: 3})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d graphs, want %d; %v", len(got), len(want), err)
	}
	for i := range got {
		if !sameGraph(&got[i].G, want[i]) {
			t.Errorf("graph %d differs", i)
		}
	}
}

func FuzzDOT(f *testing.F) {
	f.Add("graph { a -- {b c}; b }")
	f.Add("strict digraph \"x\" { a:p:n -> b [k=v]; subgraph s { c } }\ngraph { a -- a }")
	f.Add("graph { a -> }")
	f.Fuzz(func(t *testing.T, text string) {
		items, _, _, err := readAll(t, DOT{Path: "x", Reader: strings.NewReader(text), MaxBytes: 1 << 16})
		checkFailure(t, err)
		if err == nil && len(items) == 0 {
			t.Fatal("neither a graph nor an error")
		}
	})
}
