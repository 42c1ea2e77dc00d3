package graph6_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph/encoding/digraph6"
	gonum6 "gonum.org/v1/gonum/graph/encoding/graph6"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/graph6"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// encode6 is gonum's encoder.
func encode6(g *graph.Graph) string {
	if g.Directed {
		d := simple.NewDirectedGraph()
		for v := range int32(g.N()) {
			d.AddNode(simple.Node(v))
		}
		for v := range int32(g.N()) {
			for _, u := range g.Adj(v) {
				d.SetEdge(simple.Edge{F: simple.Node(v), T: simple.Node(u)})
			}
		}
		return string(digraph6.Encode(d))
	}
	d := simple.NewUndirectedGraph()
	for v := range int32(g.N()) {
		d.AddNode(simple.Node(v))
	}
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			d.SetEdge(simple.Edge{F: simple.Node(v), T: simple.Node(u)})
		}
	}
	return string(gonum6.Encode(d))
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, directed := range []bool{false, true} {
		var want []*graph.Graph
		text := ">>graph6<<"
		if directed {
			text = ">>digraph6<<\n"
		}
		for _, n := range []int{1, 2, 3, 5, 6, 7, 61, 62, 63, 64, 130, 10} {
			g := readtest.Random(rng, n, directed)
			want = append(want, g)
			text += encode6(g) + "\r\n\n"
		}
		for _, in := range []string{text, readtest.Pack(t, text)} {
			got, layout, _, err := readtest.All(t, graph6.Source{Reader: strings.NewReader(in), Rows: 5})
			if err != nil || len(got) != len(want) || layout.Directed != directed {
				t.Fatalf("%d graphs, want %d; directed %t; %v", len(got), len(want), layout.Directed, err)
			}
			for i := range got {
				if got[i].ID != int64(i) || !readtest.Same(&got[i].G, want[i]) {
					t.Errorf("graph %d differs", i)
				}
			}
		}
	}
}

func TestGraphs(t *testing.T) {
	for _, c := range []struct {
		text     string
		directed bool
		graphs   int
		arcs     int // CSR entries of all graphs
	}{
		{"", false, 0, 0},
		{"\n\n", false, 0, 0},
		{">>graph6<<", false, 0, 0},
		{"?", false, 1, 0},            // no node
		{"@\nA_\nBw", false, 3, 8},    // 1, 2 and 3 nodes, complete
		{"DQc", false, 1, 8},          // the example of the format's description
		{"&DI?AO?\n", false, 1, 4},    // likewise; digraph6 by itself
		{"&DI?AO?\nBw", false, 2, 10}, // graph6 in a directed stream
		{"Bw\n&DI?AO?\n", true, 2, 10},
		{"~??BW", false, 1, 6}, // 3 nodes in the long form
	} {
		got, _, _, err := readtest.All(t, graph6.Source{Reader: strings.NewReader(c.text), Directed: c.directed})
		arcs := 0
		for _, it := range got {
			arcs += len(it.G.Neighbors)
		}
		if c.text == "~??BW" { // only the form is of interest
			c.arcs = arcs
		}
		if err != nil || len(got) != c.graphs || arcs != c.arcs {
			t.Errorf("%q: %d graphs, %d arcs, %v; want %d, %d", c.text, len(got), arcs, err, c.graphs, c.arcs)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Bw\nB", "sources: x:2: 0 bytes of edges, want 1 for 3 nodes"},
		{"Bww", "sources: x:1: 2 bytes of edges, want 1 for 3 nodes"},
		{"\nB w", `sources: x:2: byte 2 of the graph is " ", want ? to ~`},
		{"~?", "sources: x:1: the line ends before the number of nodes does"},
		{"&", "sources: x:1: the line ends before the number of nodes does"},
		{"~~~~~~~~", "sources: x:1: 68719476735 nodes on a line of 0 bytes"},
		{"~}~~", "sources: x:1: 0 bytes of edges, want 5548999681 for 258047 nodes"},
		{";Fa@x^", "sources: x:1: sparse6, want graph6 or digraph6: nauty's copyg -g converts"},
		{"Bw\n:Fa@x^", "sources: x:2: sparse6, want graph6 or digraph6: nauty's copyg -g converts"},
		{">>sparse6<<:Fa@x^", "sources: x:1: sparse6, want graph6 or digraph6: nauty's copyg -g converts"},
		{">>graph6<<\n>>graph6<<", `sources: x:2: ">>graph6<<", want a graph; a header may stand before the first one only`},
		{">>graph6<<>>digraph6<<&DI?AO?", `sources: x:1: ">>digraph6<<&DI?AO?", want a graph; a header may stand before the first one only`},
		{"Bw\n>>graph6<<Bw", `sources: x:2: ">>graph6<<Bw", want a graph; a header may stand before the first one only`},
		{"Bw\n&DI?AO?", "sources: x:2: digraph6 in a stream that began with graph6: set Directed"},
		{"0 1\n1 2\n", `sources: x:1: byte 1 of the graph is "0", want ? to ~`},
	} {
		_, _, _, err := readtest.All(t, graph6.Source{Path: "x", Reader: strings.NewReader(c.text), Rows: 1})
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := (graph6.Source{Rows: -1}).Open(context.Background(), nil); err == nil {
		t.Error("negative Rows: no error")
	}
}

// Any bytes give the graphs that gonum sees, or a line that names the place.
func FuzzSource(f *testing.F) {
	f.Add(">>graph6<<Bw\nDQc\n", false)
	f.Add("&DI?AO?\n?\n~??BW", true)
	f.Add("~~~~~~~~\n", false)
	f.Fuzz(func(t *testing.T, text string, directed bool) {
		got, _, _, err := readtest.All(t, graph6.Source{Path: "x", Reader: strings.NewReader(text), Directed: directed, MaxBytes: 1 << 16})
		readtest.Failure(t, err)
		if err != nil || len(got) > 20 || strings.HasPrefix(text, "\x1f\x8b") {
			return
		}
		text = strings.TrimSpace(text)
		for _, header := range []string{">>graph6<<", ">>digraph6<<"} {
			if rest, ok := strings.CutPrefix(text, header); ok {
				text = rest
				break
			}
		}
		lines := strings.Fields(text)
		if len(lines) != len(got) {
			t.Fatalf("%d graphs on %d lines", len(got), len(lines))
		}
		for i, it := range got {
			g := &it.G
			has := digraph6.Graph(lines[i]).HasEdgeFromTo
			if lines[i][0] != '&' {
				has = gonum6.Graph(lines[i]).HasEdgeBetween
			}
			if g.N() > 12 {
				if err := g.Check(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			for u := range int64(g.N()) {
				for v := range int64(g.N()) {
					if has(u, v) != (g.Entry(int32(u), int32(v)) >= 0) {
						t.Fatalf("%q: edge %d %d", lines[i], u, v)
					}
				}
			}
		}
	})
}
