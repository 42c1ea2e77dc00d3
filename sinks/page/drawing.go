package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sanflow/sanflow/flow/graph"
)

// drawing is a graph as SVG.
type drawing struct {
	Label         string // title of the drawing
	Side          int    // largest width on the page, in pixels
	Left          int    // least x; Width and Height have the unit of the coordinates
	Width, Height int
	Nodes, Edges  []mark
}

// mark is a node, a circle around X1, Y1, or an edge.
type mark struct {
	X1, Y1, X2, Y2, Size int     // places; Size is the radius of a node, or ten times the width of a line
	Opacity              float64 // 0 = 1
	Kind                 string  // class of the style
	Bond                 string  // type of a bond, such as double, which has two lines
	Dotted               bool
	Title                string
	Text                 string // in a circle
	Beside               string // the text next to a circle, such as a number or an id
	BesideX, BesideY     int    // its centre
	Asked                bool   // a root, which has a ring around it
}

// radius returns the radius of a node in a drawing of n nodes.
func radius(n int) int { return max(12, 22-n/3) }

// newDrawing places the nodes of a graph in a drawing of the width side on the page. Below 200, the width fits the graph, so that nodes are as large as in
// large drawings. From 600 on, the width grows with the graph up to 2400, so that an edge is longer than two nodes are wide. look sets the style of a mark: it
// is called with v, v for a node, and with the ends of an arc or of an edge, the smaller node first.
func newDrawing(g *graph.Graph, label string, side int, look func(u, v int32, m *mark)) *drawing {
	const margin = 34
	d := &drawing{Label: label, Side: side, Width: 600}
	widest := 0.
	if g.N() > 1 {
		widest = slices.Max(distances(g))
	}
	switch {
	case side < 200:
		d.Width = 2*margin + int(60*widest)
		d.Side = min(side, d.Width*3/5)
	case side >= 600:
		d.Width = min(2400, max(d.Width, 2*margin+int(46*widest), int(60*math.Sqrt(float64(g.N())))))
		d.Side = d.Width
	}
	inner := float64(d.Width - 2*margin)
	at := Layout(g)
	low, high := 0., 0.
	for _, p := range at {
		low, high = min(low, p.Y), max(high, p.Y)
	}
	d.Height = 2*margin + int(math.Round((high-low)/2*inner))
	place := func(v int32) (int, int) {
		return margin + int(math.Round((at[v].X+1)/2*inner)), margin + int(math.Round((at[v].Y-low)/2*inner))
	}
	for v := range int32(g.N()) {
		m := mark{Size: radius(g.N())}
		m.X1, m.Y1 = place(v)
		look(v, v, &m)
		d.Nodes = append(d.Nodes, m)
		for _, u := range g.Adj(v) {
			if g.Directed || v < u {
				m := mark{Size: 40}
				m.X1, m.Y1 = place(v)
				m.X2, m.Y2 = place(u)
				look(v, u, &m)
				d.Edges = append(d.Edges, parallel(m)...)
			}
		}
	}
	d.letter()
	return d
}

// letter places the texts beside circles: at the first free place below, above, right or left of a circle. A text without a free place is
// left out; the title of the circle has it. The drawing grows to contain all texts.
func (d *drawing) letter() {
	type box struct{ x, y, w, h int } // the centre and half of the sides
	var taken []box
	for _, m := range d.Nodes {
		taken = append(taken, box{m.X1, m.Y1, m.Size, m.Size})
	}
	left, right := 0, d.Width
	for i := range d.Nodes {
		m := &d.Nodes[i]
		if m.Beside == "" {
			continue
		}
		w, away := 4*utf8.RuneCountInString(m.Beside)+2, m.Size+9
		if m.Asked {
			away += 8
		}
		free := func(b box) bool {
			return !slices.ContainsFunc(taken, func(t box) bool { return abs(b.x-t.x) < b.w+t.w && abs(b.y-t.y) < b.h+t.h })
		}
		places := []box{{m.X1, m.Y1 + away, w, 7}, {m.X1, m.Y1 - away, w, 7}, {m.X1 + away + w, m.Y1, w, 7}, {m.X1 - away - w, m.Y1, w, 7}}
		at := slices.IndexFunc(places, free)
		if at < 0 {
			m.Beside = ""
			continue
		}
		b := places[at]
		taken = append(taken, b)
		m.BesideX, m.BesideY = b.x, b.y
		left, right, d.Height = min(left, b.x-b.w), max(right, b.x+b.w), max(d.Height, b.y+b.h)
	}
	if d.Left = left; d.Side == d.Width {
		d.Side = right - left
	}
	d.Width = right - left
}

func abs(x int) int { return max(x, -x) }

// parallel returns the lines of an edge: as many as the order of its bond. An aromatic bond has two, one of them dotted.
func parallel(m mark) []mark {
	lines := map[string]int{"double": 2, "triple": 3, "quadruple": 4, "aromatic": 2}[m.Bond]
	if lines == 0 {
		return []mark{m}
	}
	dx, dy := float64(m.X2-m.X1), float64(m.Y2-m.Y1)
	length := max(1, math.Hypot(dx, dy))
	m.Size = m.Size / lines
	apart := 5 + float64(m.Size)/10
	all := make([]mark, lines)
	for i := range all {
		by := apart * (float64(i) - float64(lines-1)/2)
		x, y := int(math.Round(-dy/length*by)), int(math.Round(dx/length*by))
		all[i] = m
		all[i].X1, all[i].X2, all[i].Y1, all[i].Y2 = m.X1+x, m.X2+x, m.Y1+y, m.Y2+y
		all[i].Dotted = m.Bond == "aromatic" && i == 1
	}
	return all
}

// Small is a thumbnail.
func (d drawing) Small() *drawing {
	d.Side = min(d.Side, 110)
	return &d
}

// Outside is the radius of the ring of what was asked.
func (m mark) Outside() int { return m.Size + 6 }

// FontSize is that of the text of a mark, in the unit of the coordinates.
func (m mark) FontSize() int {
	return max(7, min(6*m.Size/5, 3*m.Size/max(1, len([]rune(m.Text))))*5/6)
}

// Stroke is the width of an edge.
func (m mark) Stroke() string { return fmt.Sprintf("%.1f", float64(m.Size)/10) }

// short returns at most n characters of a text. A blank replaces characters that cannot be printed: control characters, and characters that
// change the direction of text.
func short(s string, n int) string {
	var b strings.Builder
	for _, c := range s {
		if n--; n == 0 && b.Len()+utf8.RuneLen(c) < len(s) {
			return b.String() + "…"
		}
		if !unicode.IsPrint(c) {
			c = ' '
		}
		b.WriteRune(c)
	}
	return b.String()
}

//go:embed page.html
var html string

// pages are the templates. Text of any length and origin passes through short.
var pages = template.Must(template.New("").Funcs(template.FuncMap{"short": func(s string) string { return short(s, 200) }}).Parse(html))
