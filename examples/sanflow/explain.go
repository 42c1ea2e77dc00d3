package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
)

func explain(ctx context.Context, args []string) error {
	c, html := &asking{}, ""
	c.explains = true
	f := flags("explain", "\nThe data are given by -data; -graph is the number of the graph there, from 0, and -class the\nclass to explain, by default the predicted one. Weights are in nats, those of the logit of the\nclass minus the mean over all classes, or in the unit of the number that was learned.")
	c.flags(f)
	f.StringVar(&c.json, "json", "", "file for the explanation as JSON")
	f.StringVar(&html, "html", "", "file for the explanation as a page of HTML")
	if err := c.load(f, args); err != nil {
		return err
	}
	defer c.p.Close()
	class := c.Class
	c.Class = ""
	number, err := strconv.Atoi("0" + c.Graph)
	switch {
	case err != nil:
		return cli.Usage(fmt.Errorf("-graph is %q, want the number of a graph, from 0", c.Graph))
	case c.task != "graphs" || c.edges != "":
		return cli.Usage(errors.New("graphs given by -data are explained; sinks.OpenGraph.Explain explains nodes and links"))
	}
	if err := c.needsData(); err != nil {
		return err
	}
	files, err := cli.CreateAll(c.json, html)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	src, err := c.graphs(ctx)
	if err != nil {
		return c.in(err)
	}
	at := &nth{left: number}
	if err := flow.From(src).To(at).Run(ctx); err != nil && !errors.Is(err, errFound) {
		return c.in(err)
	}
	if at.graph == nil {
		return fmt.Errorf("%s: there is no graph %d, but %d", c.name(), number, number-at.left)
	}
	p, err := c.p.For(at.layout)
	if err != nil {
		return err
	}
	defer p.Close()
	e, err := p.ExplainAs(ctx, at.graph, sinks.ExplainOptions{Class: class})
	if err != nil {
		return err
	}
	if c.json != "" {
		if err := files.JSON(c.json, e); err != nil {
			return err
		}
	}
	if html != "" {
		if err := files.Finish(html, func() ([]byte, error) { return explanationPage(at.graph, e, c.name(), number) }); err != nil {
			return err
		}
	}
	fmt.Printf("graph %d: class %s, weight %+.4g (bias %+.4g, whole graph %+.4g), %s\n", number, e.Class, e.Sum, e.Bias, e.Graph, e.Method)
	for _, w := range e.Words[:min(10, len(e.Words))] {
		fmt.Printf("%+10.4f  %g × %q\n", w.Weight, w.Occurrences, w.Text)
	}
	return nil
}

// errFound ends a run.
var errFound = errors.New("found")

// nth keeps a copy of a graph of a stream.
type nth struct {
	left   int
	graph  *graph.Graph
	layout record.Layout
}

func (*nth) Name() string { return "graph" }

func (n *nth) Open(in *arrow.Schema) (w flow.Writer, err error) {
	n.layout, err = record.LayoutOf(in)
	return n, err
}

func (*nth) Close(error) error { return nil }

func (n *nth) Write(_ context.Context, rec arrow.Record) error {
	if n.left >= int(rec.NumRows()) {
		n.left -= int(rec.NumRows())
		return nil
	}
	all, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	var g graph.Graph
	all.At(n.left, &g)
	if n.graph, err = g.Without(nil, nil); err != nil { // a copy
		return err
	}
	return errFound
}

const (
	mostDrawn = 400 // nodes
	mostWords = 200 // in the table of a page
)

// drawn is an element of a drawing.
type drawn struct {
	X1, Y1, X2, Y2, Width, Opacity float64
	Sign, Title                    string
}

// explanationPage is an explanation as HTML that needs no other file.
func explanationPage(g *graph.Graph, e *sinks.Explanation, data string, number int) ([]byte, error) {
	page := struct {
		*sinks.Explanation
		Data           string
		Number         int
		Probabilities  string
		DrawnN, DrawnE []drawn
		Top            []sinks.WordWeight
		Omitted        int
	}{Explanation: e, Data: data, Number: number, Top: e.Words[:min(mostWords, len(e.Words))]}
	page.Omitted = len(e.Words) - len(page.Top)
	if len(e.Probs) <= 20 {
		page.Probabilities = fmt.Sprintf("%.4g", e.Probs)
	}
	if g.N() <= mostDrawn {
		x := spread(g)
		most := 0.0
		for _, v := range e.Nodes {
			most = max(most, math.Abs(v.Weight))
		}
		for _, v := range e.Edges {
			most = max(most, math.Abs(v.Weight))
		}
		draw := func(w float64, name string) drawn {
			d := drawn{Sign: "plus", Title: fmt.Sprintf("%s: %+.4g", name, w), Opacity: 0.15}
			if w < 0 {
				d.Sign = "minus"
			}
			if most > 0 {
				d.Opacity += 0.85 * math.Abs(w) / most
			}
			return d
		}
		for _, v := range e.Edges {
			d := draw(v.Weight, fmt.Sprintf("edge %d–%d", v.Source, v.Target))
			d.X1, d.Y1, d.X2, d.Y2 = x[v.Source][0], x[v.Source][1], x[v.Target][0], x[v.Target][1]
			d.Width = 2 + 6*d.Opacity
			page.DrawnE = append(page.DrawnE, d)
		}
		for _, v := range e.Nodes {
			d := draw(v.Weight, fmt.Sprintf("node %d", v.ID))
			d.X1, d.Y1, d.Width = x[v.ID][0], x[v.ID][1], 4+6*d.Opacity
			page.DrawnN = append(page.DrawnN, d)
		}
	}
	var b bytes.Buffer
	err := explanationTemplate.Execute(&b, page)
	return b.Bytes(), err
}

// spread places the nodes in a square of 600 by springs (Fruchterman and Reingold, 1991),
// beginning on a circle.
func spread(g *graph.Graph) [][2]float64 {
	n := g.N()
	x, move := make([][2]float64, n), make([][2]float64, n)
	for v := range x {
		a := 2 * math.Pi * float64(v) / float64(n)
		x[v] = [2]float64{math.Cos(a), math.Sin(a)}
	}
	k := 2 / math.Sqrt(float64(max(1, n)))
	const rounds = 300
	for round := range rounds {
		clear(move)
		for v := range x {
			for u := range v {
				dx, dy := x[v][0]-x[u][0], x[v][1]-x[u][1]
				d := max(1e-3, math.Hypot(dx, dy))
				force := k * k / d
				if g.Entry(int32(u), int32(v)) >= 0 || g.Directed && g.Entry(int32(v), int32(u)) >= 0 {
					force -= d * d / k
				}
				force /= d
				move[v][0], move[v][1] = move[v][0]+dx*force, move[v][1]+dy*force
				move[u][0], move[u][1] = move[u][0]-dx*force, move[u][1]-dy*force
			}
		}
		step := 0.2 * (1 - float64(round)/rounds)
		for v := range x {
			// A weak pull to the middle keeps components together.
			dx, dy := move[v][0]-0.05*x[v][0], move[v][1]-0.05*x[v][1]
			scale := min(1, step/max(1e-9, math.Hypot(dx, dy)))
			x[v][0], x[v][1] = x[v][0]+dx*scale, x[v][1]+dy*scale
		}
	}
	for axis := range 2 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range x {
			low, high = min(low, p[axis]), max(high, p[axis])
		}
		for v := range x {
			x[v][axis] = math.Round(20 + 560*(x[v][axis]-low)/max(1e-9, high-low))
		}
	}
	return x
}

var explanationTemplate = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Explanation of graph {{.Number}}</title>
<style>
:root { color-scheme: light dark; --plus: #0072b2; --minus: #d55e00 }
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 1em auto; padding: 0 1em }
@media (prefers-color-scheme: dark) { :root { --plus: #56b4e9; --minus: #e69f00 } }
svg { width: 100%; max-width: 600px; height: auto }
.plus { stroke: var(--plus); fill: var(--plus) }
.minus { stroke: var(--minus); fill: var(--minus) }
line.minus, circle.minus { stroke-dasharray: 4 3 }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; padding: .2em .6em; border-bottom: 1px solid #8888; overflow-wrap: anywhere }
td:first-child { text-align: right; white-space: nowrap }
@media print { body { max-width: none } }
</style>
</head>
<body>
<h1>Graph {{.Number}} of {{.Data}}</h1>
<p>{{if .Class}}Explained class: <b>{{.Class}}</b>; predicted: <b>{{.Predicted}}</b>.{{if .Probabilities}} Probabilities: {{.Probabilities}}.{{end}}{{else}}Predicted value: <b>{{.Value}}</b>.{{end}}
Method: {{.Method}}. Sum {{printf "%+.4g" .Sum}} = bias {{printf "%+.4g" .Bias}} + whole graph {{printf "%+.4g" .Graph}} + nodes + edges.</p>
{{if .DrawnN}}<svg viewBox="0 0 600 600" role="img" aria-label="The graph; stronger colours have larger weights">
{{range .DrawnE}}<line x1="{{.X1}}" y1="{{.Y1}}" x2="{{.X2}}" y2="{{.Y2}}" class="{{.Sign}}" stroke-width="{{.Width}}" opacity="{{.Opacity}}"><title>{{.Title}}</title></line>
{{end}}{{range .DrawnN}}<circle cx="{{.X1}}" cy="{{.Y1}}" r="{{.Width}}" class="{{.Sign}}" opacity="{{.Opacity}}"><title>{{.Title}}</title></circle>
{{end}}</svg>
<p><span class="plus">■</span> speaks for it; <span class="minus">■</span>, dashed, against it.</p>{{else}}<p>The graph is too large to draw, or has no nodes.</p>{{end}}
{{if .Top}}<table>
<caption>Words by weight{{if .Omitted}}; {{.Omitted}} more are left out{{end}}</caption>
<thead><tr><th scope="col">weight</th><th scope="col">count</th><th scope="col">word</th><th scope="col">members</th></tr></thead>
<tbody>
{{range .Top}}<tr><td>{{printf "%+.4f" .Weight}}</td><td>{{.Occurrences}}</td><td>{{.Text}}{{if .Shared}} (shares a weight){{end}}</td><td>{{range .Members}}{{.}} {{end}}{{if .Capped}}…{{end}}</td></tr>
{{end}}</tbody>
</table>{{end}}
</body>
</html>
`))
