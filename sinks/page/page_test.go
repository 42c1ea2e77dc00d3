package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// checkPage writes a page twice, and reports what no page may have.
func checkPage(t *testing.T, p interface{ Write(io.Writer) error }) string {
	t.Helper()
	var page, again bytes.Buffer
	if err := errors.Join(p.Write(&page), p.Write(&again)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page.Bytes(), again.Bytes()) {
		t.Error("the page has other bytes the second time")
	}
	text := page.String()
	for _, bad := range []string{"<script", "<b ", "<svg onload", "\u202e", "\x1b", "http:", "https:", "src=", "NaN\"", "Inf\"", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if page.Len() > 4<<20 {
		t.Errorf("the page has %d bytes", page.Len())
	}
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return text
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}

// hostile are names that a page must not take as its own text: of HTML and SVG, with controls that turn text around, and long.
var hostiles = []string{`</title><script>alert(1)</script>"'<b onclick=x>&amp;`, `</svg><svg onload=alert(1)>`, "\u202e\u2067txt.exe\x1b[31m", "אב" + strings.Repeat("<b x>", 1<<15)}

// A page shows names as they are, whatever they hold, and asks no other host for anything.
func TestExplanationPage(t *testing.T) {
	for _, hostile := range hostiles {
		explainHostile(t, hostile)
	}
}

func explainHostile(t *testing.T, hostile string) {
	t.Helper()
	g, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var long []sinks.WordWeight
	for range 2 * mostWords {
		long = append(long, sinks.WordWeight{Text: hostile, Weight: math.NaN(), Members: [][]int32{{0, 1}}, Capped: true})
	}
	for _, e := range []*sinks.Explanation{
		{},
		{Class: hostile, Predicted: hostile, Probs: []float32{0.5, float32(math.NaN())}, Sum: math.Inf(1), Words: long},
		{Nodes: []sinks.NodeWeight{{ID: 2, Weight: math.NaN()}, {ID: 0, Weight: -1}}, Edges: []sinks.EdgeWeight{{Source: 0, Target: 1, Weight: 0}}},
		{Probs: make([]float32, 1<<20), Classes: slices.Repeat([]string{hostile}, 1<<20), Class: hostile},
		{Roots: []int32{1}, Method: "exact", Nodes: []sinks.NodeWeight{{ID: 1, Weight: 1}}, Edges: []sinks.EdgeWeight{{Source: 0, Target: 1, Weight: math.NaN()}}, Columns: []sinks.ColumnWeight{{Name: hostile, Weight: -1}}, Words: long},
		{Method: "exact", Words: []sinks.WordWeight{{Text: hostile, Weight: 1}, {Text: hostile, Weight: 2, Members: [][]int32{{0, 1}, {2}}}}},
	} {
		name := func(int32) string { return hostile }
		checkPage(t, Explanation{Title: hostile, Graph: g, Reasons: e, Name: name, Tables: []Table{{hostile, []string{hostile}, slices.Repeat([][]string{{hostile, strings.Repeat(hostile, 1+(1<<20)/len(hostile))}}, 1000)}}})
	}
	checkPage(t, Explanation{Graph: &graph.Graph{}, Reasons: &sinks.Explanation{}})
	atoms := record.Layout{NodeCat: []record.Channel{record.WordsChannel("element", []string{hostile}), record.WordsChannel("hydrogens", []string{hostile})}, EdgeCat: []record.Channel{record.WordsChannel("type", []string{hostile})}}
	var b sources.Builder
	b.Node(0, 0)
	b.Node(0, 0)
	b.Edge(0, 1, 0)
	if g, err = b.Graph(); err != nil {
		t.Fatal(err)
	}
	reasons := &sinks.Explanation{Method: "exact", Nodes: []sinks.NodeWeight{{}, {ID: 1}}, Words: []sinks.WordWeight{{Weight: 2, Members: [][]int32{{0, 1}}}}}
	checkPage(t, Explanation{Graph: g, Reasons: reasons, Layout: atoms})
	many := Explanations{Title: hostile, All: slices.Repeat([]Explanation{{ID: hostile, Title: hostile, Graph: g, Reasons: reasons, Layout: atoms}}, mostExplained+20)}
	text := checkPage(t, many)
	for part, want := range map[string]int{"<tr><td class=\"brief\"><a href=\"#e": mostExplained, "<section id=\"e": mostExplained, "120 answers": 1} {
		if n := strings.Count(text, part); n != want {
			t.Errorf("the page has %q %d times, want %d", part, n, want)
		}
	}
}

// A long table shows its largest parts. The reader opens the rest, whose number and sum are said.
func TestLongTables(t *testing.T) {
	const parts = 50
	e := &sinks.Explanation{Method: "exact"}
	rest := 0.0
	for i := range parts {
		weight := 1 / float64(i+1)
		if e.Columns = append(e.Columns, sinks.ColumnWeight{Name: fmt.Sprintf("column %02d", i), Weight: weight}); i >= mostOpen {
			rest += weight
		}
	}
	text := strings.ReplaceAll(checkPage(t, Explanation{Graph: &graph.Graph{}, Reasons: e}), "&#43;", "+")
	open, folded, ok := strings.Cut(text, fmt.Sprintf("<details><summary>%d smaller, %+.4f together</summary>", parts-mostOpen, rest))
	for i := range parts {
		name := fmt.Sprintf("<td>column %02d</td>", i)
		if !ok || strings.Count(text, name) != 1 || i >= mostOpen && strings.Contains(open, name) || i < mostOpen && strings.Contains(folded, name) {
			t.Fatalf("column %d is not where it should be", i)
		}
	}
}

// A path is drawn straight, all its nodes in order, and arcs count either way.
func TestLayout(t *testing.T) {
	const n = 7
	for _, directed := range []bool{false, true} {
		var edges []graph.Edge
		for v := range int32(n - 1) {
			edges = append(edges, graph.Edge{U: v, V: v + 1})
		}
		g, err := graph.New(n, directed, edges)
		if err != nil {
			t.Fatal(err)
		}
		p := Layout(g)
		for v, q := range p {
			want := -1 + 2*float64(v)/(n-1)
			if p[0].X > 0 {
				want = -want
			}
			if math.Abs(q.X-want) > 0.1 || math.Abs(q.Y) > 0.1 {
				t.Errorf("directed %v: node %d is at %.3f, %.3f, want %.3f, 0", directed, v, q.X, q.Y, want)
			}
		}
	}
	apart, err := graph.New(2, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Layout(apart) {
		if math.IsNaN(p.X) || math.IsNaN(p.Y) {
			t.Error("two nodes without an edge have no place")
		}
	}
}

// The page of an atlas shows names as they are, and has bounds.
func TestAtlasPage(t *testing.T) {
	for _, hostile := range hostiles {
		atlasOf(t, hostile)
	}
}

func atlasOf(t *testing.T, hostile string) {
	t.Helper()
	drawn, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	if err != nil {
		t.Fatal(err)
	}
	m := sinks.Motif{Text: hostile, Class: hostile, Alike: 2, Strength: math.NaN()}
	for range 20 {
		m.Examples = append(m.Examples, sinks.Example{
			Drawn: drawn,
			Nodes: []sinks.ExampleNode{{ID: 3, Type: hostile, Member: true, Root: true}, {ID: 4, Member: true}, {ID: 9}},
			Edges: []sinks.ExampleEdge{{Source: 0, Target: 1, Member: true}, {Source: 1, Target: 2}},
		})
	}
	m.Pattern = &m.Examples[0]
	a := &sinks.Atlas{Classes: []string{hostile}, Graphs: 3}
	for range 2 * mostMotifs {
		a.Motifs = append(a.Motifs, m)
	}
	text := checkPage(t, Atlas{Title: hostile, Atlas: a, GraphName: func(int64) string { return hostile }})
	for _, part := range []string{"100 motifs are left out", `href="#m100"`, `id="m100"`} {
		if !strings.Contains(text, part) {
			t.Errorf("the page has no %q", part)
		}
	}
	checkPage(t, Atlas{Atlas: &sinks.Atlas{}})
	checkPage(t, Atlas{Atlas: &sinks.Atlas{Motifs: []sinks.Motif{{Strength: math.NaN()}, {}}}})
}
