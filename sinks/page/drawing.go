package page

import (
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
	Label         string // its title
	Side          int    // largest width on the page, in pixels
	Width, Height int    // of the coordinates
	Nodes, Edges  []mark
}

// mark is a node, a circle around X1, Y1, or an edge.
type mark struct {
	X1, Y1, X2, Y2, Size int     // radius, or width in tenths
	Opacity              float64 // 0 = 1
	Kind                 string  // class of the style
	Bond                 string  // type of a bond, of which more than single has several lines
	Dotted               bool
	Title                string
	Text                 string // in a circle
	Beside               string // below a circle, such as a number
	Asked                bool   // has a ring around it
}

// radius is that of a node of a drawing of n, the edges of whose square are 600 long.
func radius(n int) int { return max(6, 22-n/3) }

// newDrawing places the nodes of a graph in a drawing of some width on the page. One below 200 has nodes of the size that large
// ones have. mark is called for nodes by v, v, and then for
// edges and arcs, the smaller node of an edge first, and sets how they look.
func newDrawing(g *graph.Graph, label string, side int, look func(u, v int32, m *mark)) *drawing {
	const margin = 34
	d := &drawing{Label: label, Side: side, Width: 600}
	if side < 200 {
		d.Width = 2 * margin
		if g.N() > 1 {
			d.Width += int(60 * slices.Max(distances(g)))
		}
		d.Side = min(side, d.Width*3/5)
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
	return d
}

// parallel returns the lines of an edge: as many as the order of its bond, of which one of an aromatic bond is dotted.
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

// Below is where the text beside a circle stands.
func (m mark) Below() int { return m.Y1 + m.Size + 8 }

// Outside is the radius of the ring of what was asked.
func (m mark) Outside() int { return m.Size + 6 }

// FontSize is that of the text of a mark, in the unit of the coordinates.
func (m mark) FontSize() int {
	return max(7, min(6*m.Size/5, 3*m.Size/max(1, len([]rune(m.Text))))*5/6)
}

// Stroke is the width of an edge.
func (m mark) Stroke() string { return fmt.Sprintf("%.1f", float64(m.Size)/10) }

// part is the subgraph of some nodes of a graph, with their numbers there.
func part(g *graph.Graph, nodes []int32) (*graph.Graph, error) {
	at := make(map[int32]int32, len(nodes))
	for i, v := range nodes {
		at[v] = int32(i)
	}
	var edges []graph.Edge
	for i, v := range nodes {
		for _, u := range g.Adj(v) {
			if j, ok := at[u]; ok && (g.Directed || v < u) {
				edges = append(edges, graph.Edge{U: int32(i), V: j})
			}
		}
	}
	return graph.New(len(nodes), g.Directed, edges)
}

// short is a text of at most n characters. A blank takes the place of those that are not seen: control characters and those that turn
// the direction of the text around them.
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

// texts are the functions of templates: text of any length and origin passes through short.
var texts = template.FuncMap{"short": func(s string) string { return short(s, 200) }}

// parts are the templates that the pages share.
const parts = `{{define "head"}}<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{short .}}</title>
<style>
:root { color-scheme: light; --back: #fff; --ink: #1a1a1a; --soft: #595959; --rule: #d0d0d0; --panel: #f6f6f6; --plus: #0072b2; --minus: #d55e00; --mark: #e69f00 }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --back: #16181b; --ink: #e8e8e8; --soft: #a8a8a8; --rule: #44484d; --panel: #1f2226; --plus: #56b4e9; --minus: #f0a050; --mark: #f0e442 } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62em; margin: 1.5em auto; padding: 0 1em; color: var(--ink); background: var(--back) }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere }
a { color: var(--plus) }
a:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px }
code { overflow-wrap: anywhere }
svg { width: 100%; height: auto; display: block }
svg text { font-family: system-ui, sans-serif; text-anchor: middle; dominant-baseline: central; fill: var(--ink); stroke: none }
circle { stroke: var(--ink); stroke-width: 1.5; fill: var(--back) }
circle.asked { fill: none; stroke: var(--mark); stroke-width: 5 } text.beside { fill: var(--soft); paint-order: stroke; stroke: var(--back); stroke-width: 3 } p.lead { font-size: 1.2em; overflow-wrap: anywhere }
circle.back { fill: var(--back); stroke: none }
line { stroke: var(--soft) }
line.plus { stroke: var(--plus) } circle.plus { fill: var(--plus); stroke: var(--plus) } span.plus { color: var(--plus) }
line.minus { stroke: var(--minus); stroke-dasharray: 7 5 } circle.minus { fill: var(--minus); stroke: var(--minus); stroke-dasharray: 4 3 } span.minus { color: var(--minus) }
line.faint { opacity: .7 } circle.faint { stroke: var(--soft) }
line.member { stroke: var(--plus) } circle.member { fill: var(--plus); stroke: var(--plus) } circle.root { fill: var(--mark); stroke: var(--ink); stroke-width: 3 }
text.member { fill: var(--back) } text.root { fill: #000 } text.faint { fill: var(--soft) }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
caption { text-align: left; color: var(--soft); padding: .3em 0 }
td, th { text-align: left; vertical-align: top; padding: .25em .6em; border-bottom: 1px solid var(--rule); overflow-wrap: anywhere }
th { overflow-wrap: normal } td.picture { min-width: 5em } thead th.number { width: 6em } span.asked { color: var(--mark) } td.number, th.number { text-align: right } td.number { white-space: nowrap; overflow-wrap: normal }
.motif { border-top: 1px solid var(--rule); margin-top: 2em; break-inside: avoid-page }
.sides { display: grid; grid-template-columns: minmax(0, 17em) 1fr; gap: 1.5em }
.plates svg { height: 11em }
.plates { display: grid; grid-template-columns: repeat(auto-fill, minmax(13em, 1fr)); gap: 1em }
@media (max-width: 40em) { .sides { grid-template-columns: minmax(0, 1fr) } main, section, nav { overflow-x: auto } table { font-size: .85em } td, th { padding: .25em .35em } td:not(.number) { min-width: 6em } }
figure { margin: 0 } figcaption, .soft { color: var(--soft); font-size: .9em }
@media print { body { max-width: none } a { color: inherit } svg { print-color-adjust: exact; -webkit-print-color-adjust: exact } figure, tr { break-inside: avoid } }
</style>
</head>
<body>
{{end}}{{define "drawing"}}<svg style="max-width:{{.Side}}px" viewBox="0 0 {{.Width}} {{.Height}}" role="img"><title>{{short .Label}}</title>
{{range .Edges}}<line x1="{{.X1}}" y1="{{.Y1}}" x2="{{.X2}}" y2="{{.Y2}}"{{with .Kind}} class="{{.}}"{{end}}{{if .Dotted}} style="stroke-dasharray:2 4"{{end}} stroke-width="{{.Stroke}}"{{with .Opacity}} opacity="{{printf "%.2f" .}}"{{end}}>{{with .Title}}<title>{{.}}</title>{{end}}</line>
{{end}}{{range .Nodes}}{{if .Asked}}<circle cx="{{.X1}}" cy="{{.Y1}}" r="{{.Outside}}" class="asked"/>{{end}}{{if .Opacity}}<circle cx="{{.X1}}" cy="{{.Y1}}" r="{{.Size}}" class="back"/>{{end}}<circle cx="{{.X1}}" cy="{{.Y1}}" r="{{.Size}}"{{with .Kind}} class="{{.}}"{{end}}{{with .Opacity}} fill-opacity="{{printf "%.2f" .}}"{{end}}>{{with .Title}}<title>{{.}}</title>{{end}}</circle>{{if .Text}}<text x="{{.X1}}" y="{{.Y1}}" font-size="{{.FontSize}}"{{with .Kind}} class="{{.}}"{{end}}>{{.Text}}</text>{{end}}{{if .Beside}}<text x="{{.X1}}" y="{{.Below}}" font-size="13" class="beside">{{.Beside}}</text>{{end}}
{{end}}</svg>{{end}}`
