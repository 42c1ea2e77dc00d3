package page

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sinks"
)

const (
	mostDrawn = 400 // nodes
	mostWords = 200 // in the table of a page
)

// Explanation is the page of a sinks.Explanation: its weights, drawn into the graph, and its
// words. Of more than 400 nodes those with the largest weights are drawn, and of more than 200 words the
// first are listed.
type Explanation struct {
	Title   string // "" = Explanation
	Graph   *graph.Graph
	Reasons *sinks.Explanation
	// Type is the text in a node, up to three characters, and Name is the name of a node, by
	// default its number. Both may be nil.
	Type, Name func(v int32) string
	Tables     []Table // below the words
}

// Table is a table of text, of which the first 200 rows are shown.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Shown are the rows that are shown, each text cut after 200 characters.
func (t Table) Shown() (rows [][]string) {
	for _, row := range t.Rows[:min(mostWords, len(t.Rows))] {
		var cells []string
		for _, text := range row {
			cells = append(cells, short(text, 200))
		}
		rows = append(rows, cells)
	}
	return rows
}

// Write writes the page.
func (p Explanation) Write(w io.Writer) error {
	c, err := p.content()
	if err != nil {
		return err
	}
	return explanationPage.Execute(w, c)
}

// explained is the content of the page.
type explained struct {
	*sinks.Explanation
	Title, Probabilities string
	Drawing              *drawing
	Undrawn              int
	Top                  []sinks.WordWeight
	Omitted              int
	Tables               []Table
	name                 func(v int32) string
}

// Where names the nodes of an occurrence.
func (e explained) Where(nodes []int32) string {
	var names []string
	for _, v := range nodes {
		names = append(names, name(e.name, v))
	}
	return "[" + strings.Join(names, " ") + "]"
}

func (p Explanation) content() (page explained, err error) {
	e := p.Reasons
	page = explained{Explanation: e, Title: cmp.Or(p.Title, "Explanation"), Top: e.Words[:min(mostWords, len(e.Words))], Tables: p.Tables, name: p.Name}
	page.Omitted = len(e.Words) - len(page.Top)
	if len(e.Probs) <= 20 {
		page.Probabilities = strings.Trim(fmt.Sprintf("%.4g", e.Probs), "[]")
	}
	if len(e.Nodes) > 0 {
		page.Drawing, err = p.draw()
		page.Undrawn = len(e.Nodes) - mostDrawn
	}
	return page, err
}

// How says what the weights are.
func (e explained) How() string {
	switch e.Method {
	case "exact":
		return "The weights are exact: they are what the model adds."
	case "occlusion":
		return "The weight of a node or an edge is by how much the sum falls without it (occlusion)."
	case "votes":
		return "The weight of a node is by how much the sum falls where the model prefers no class there (votes)."
	}
	return ""
}

// name is what a node is called.
func name(of func(int32) string, v int32) string {
	if of == nil {
		return strconv.Itoa(int(v))
	}
	return short(of(v), 100)
}

// draw draws the nodes with the largest weights.
func (p Explanation) draw() (*drawing, error) {
	listed := slices.Clone(p.Reasons.Nodes)
	slices.SortStableFunc(listed, func(a, b sinks.NodeWeight) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
	listed = listed[:min(len(listed), mostDrawn)]
	slices.SortFunc(listed, func(a, b sinks.NodeWeight) int { return cmp.Compare(a.ID, b.ID) })
	nodes := make([]int32, len(listed))
	most := 0.0
	for i, v := range listed {
		nodes[i] = v.ID
		most = max(most, math.Abs(v.Weight))
	}
	edges := map[graph.Edge]float64{}
	for _, e := range p.Reasons.Edges {
		edges[graph.Edge{U: e.Source, V: e.Target}] = e.Weight
		most = max(most, math.Abs(e.Weight))
	}
	g, err := part(p.Graph, nodes)
	if err != nil {
		return nil, err
	}
	return newDrawing(g, "The graph; nodes and edges of larger weight have stronger colours. The weights of words are in the table.", 600, func(u, v int32, m *mark) {
		what, weight := "node "+name(p.Name, nodes[u]), listed[u].Weight
		if u != v {
			what, weight = fmt.Sprintf("edge %s–%s", name(p.Name, nodes[u]), name(p.Name, nodes[v])), edges[graph.Edge{U: nodes[u], V: nodes[v]}]
		} else if p.Type != nil {
			m.Text = short(p.Type(nodes[u]), 3)
		}
		strength := 0.
		if most > 0 {
			strength = math.Abs(weight) / most
		}
		m.Title, m.Kind = fmt.Sprintf("%s: %+.4g", what, weight), "plus"
		if weight < 0 {
			m.Kind = "minus"
		}
		if !(strength > 0) { // also of no number
			strength = 0
		}
		m.Opacity = 0.08 + 0.92*strength
		if u != v {
			m.Size, m.Opacity = 30+int(90*strength), 0.3+0.7*strength
		}
	}), nil
}

// reasons are the answer, its sum and the drawing.
const reasons = `{{define "reasons"}}<p>{{if .Class}}Explained class: <b>{{.Class}}</b>; predicted: <b>{{.Predicted}}</b>.{{if .Probabilities}} Probabilities, in the order of the classes: {{.Probabilities}}.{{end}}{{else}}Predicted value: <b>{{.Value}}</b>.{{end}}</p>
<p>The {{if .Class}}score of the class, its logit minus the mean of all{{else}}value{{end}}, is {{printf "%+.4g" .Sum}} = bias {{printf "%+.4g" .Bias}} + whole graph {{printf "%+.4g" .Graph}} + nodes + edges. {{.How}}</p>
{{if .Drawing}}<figure>{{template "drawing" .Drawing}}
<figcaption><span class="plus">■</span> speaks for it; <span class="minus">■</span>, dashed, against it. The stronger the colour, the larger the weight.{{if gt .Undrawn 0}} {{.Undrawn}} nodes with smaller weights are not drawn.{{end}}</figcaption></figure>{{else}}<p>There are no nodes to draw.</p>{{end}}
{{end}}`

var explanationPage = template.Must(template.New("").Parse(parts + reasons + `{{template "head" .Title}}<main>
<h1>{{.Title}}</h1>
{{template "reasons" .}}{{if .Top}}<h2>Words</h2>
<table>
<caption>Patterns that the model counts, the largest weight first: what each adds to the {{if .Class}}score{{else}}value{{end}}{{if .Omitted}}; {{.Omitted}} more are left out{{end}}</caption>
<thead><tr><th scope="col" class="number">weight</th><th scope="col" class="number">count</th><th scope="col">word</th><th scope="col">nodes of its occurrences</th></tr></thead>
<tbody>
{{range .Top}}<tr><td class="number">{{printf "%+.4f" .Weight}}</td><td class="number">{{printf "%.4g" .Occurrences}}</td><td>{{.Text}}{{if .Shared}} (shares a weight){{end}}</td><td>{{range .Members}}{{$.Where .}} {{end}}{{if .Capped}}…{{end}}</td></tr>
{{end}}</tbody>
</table>{{end}}
{{range .Tables}}<h2>{{.Title}}</h2>
<table>
<thead><tr>{{range .Head}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Shown}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>{{end}}
</main>
</body>
</html>
`))
