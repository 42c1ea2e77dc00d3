package readme_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/page"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
)

var update = flag.Bool("update", false, "write the picture of the README anew")

// The molecule of the picture, and the atoms of its nitro group.
const molecule = "Nc1ccc([N+](=O)[O-])c2ccccc12"

var nitro = []int32{5, 6, 7}

// drawMolecules returns a table of n molecules, a ring or a chain with two groups. Every second
// one has a nitro group, which is its class.
func drawMolecules(n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	bodies := []string{"c1cc(%s)ccc1%s", "c1ccc(%s)c(%s)c1", "c1cc(%s)c2ccc(%s)cc2c1", "c1cc(%s)cnc1%s", "C1CC(%s)CCC1%s", "CC(%s)CC%s"}
	groups := []string{"C", "N", "O", "Cl", "C=O", "OC", "C#N", "N(C)C", "C(=O)O", "C(=O)N"}
	var b bytes.Buffer
	b.WriteString("smiles,class\n")
	for i := range n {
		two := []any{groups[rng.IntN(len(groups))], groups[rng.IntN(len(groups))]}
		class := "other"
		if i%2 == 0 {
			two[rng.IntN(2)], class = "[N+](=O)[O-]", "nitro"
		}
		fmt.Fprintf(&b, bodies[rng.IntN(len(bodies))]+",%s\n", append(two, class)...)
	}
	return b.Bytes()
}

func drawn(n int, seed uint64) flow.Pipeline {
	files := fstest.MapFS{"drawn.csv": {Data: drawMolecules(n, seed)}}
	return flow.From(molecules.Source{Table: sources.CSV{Path: "drawn.csv", FS: files}, Targets: []record.TargetChannel{{Name: "class", Classes: []string{"nitro", "other"}}}})
}

// The picture of the README: a molecule, receptive fields of it as the operators make them,
// and the answer of a model with the weights of Predictor.Explain. The program makes the
// file; -update writes it.
func TestPicture(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	g, err := molecules.Parse(molecule)
	must(err)

	// Fields.
	const w, k = 3, 6
	var fields sinks.Collect
	defer fields.Release()
	must(flow.From(sources.Graphs{Items: []sources.Item{{Graph: g}}}).
		Via(operators.Select{W: w, By: labeling.Betweenness}).
		Via(operators.Assemble{K: k}).
		Via(operators.Normalize{K: k}).
		To(&fields).Run(ctx))
	members, _, err := record.FixedValues[int32](fields.Records()[0], record.Members)
	must(err)

	// The answer.
	const graphs, tests = 300, 200
	train := drawn(graphs, 1)
	schema, err := train.Schema(ctx)
	must(err)
	layout, err := record.LayoutOf(schema)
	must(err)
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: count.Standard(), DropGraph: true}}
	net := nn.Best()
	_, err = sinks.Fit{Net: net, Epochs: 10}.Run(ctx, recipe.Onto(train))
	must(err)
	var answers sinks.Answers
	must(recipe.Onto(drawn(tests, 2)).To(sinks.Predict{Net: net, Each: answers.Add}).Run(ctx))
	if right := answers.Correct(); right != tests {
		t.Errorf("%d of %d drawn molecules right, and the text of the picture says all", right, tests)
	}
	p, err := sinks.NewPredictor(net, recipe)
	must(err)
	defer p.Close()
	e, err := p.Explain(ctx, g, sinks.ExplainOptions{})
	must(err)
	heaviest := slices.Clone(e.Nodes)
	slices.SortFunc(heaviest, func(a, b sinks.NodeWeight) int {
		return int(math.Copysign(1, math.Abs(b.Weight)-math.Abs(a.Weight)))
	})
	for _, v := range heaviest[:len(nitro)] {
		if v.Weight < 0 || !slices.Contains(nitro, v.ID) {
			t.Errorf("node %d has the weight %v, among the largest", v.ID, v.Weight)
		}
	}

	d := drawing{g: g, at: page.Layout(g)}
	element := molecules.Layout().NodeCat[0]
	for v := range g.N() {
		symbol, _ := element.Word(g.NodeCat[v*g.NodeCats])
		d.symbols = append(d.symbols, symbol)
	}
	d.start("From a molecule to an answer with reasons",
		"Left: a molecule as a graph, three atoms marked as roots. Middle: the receptive fields of the roots. Right: the answer, with the weight of each atom and bond.")
	d.panel(0, "A graph", fmt.Sprintf("%d atoms, %d bonds; %d roots", g.N(), len(e.Edges), w))
	d.graph(func(u, v int32) (string, float64, string) {
		if rank := slices.Index(rootsOf(members, k), u); u == v && rank >= 0 {
			return "root", 0, fmt.Sprint(rank + 1)
		}
		return "plain", 0, d.symbols[u]
	})
	d.text(160, 357, "soft", "Roots have the largest betweenness.")

	d.panel(320, "Its receptive fields", fmt.Sprintf("root 1 and its %d nearest atoms, ranked", k-1))
	d.graph(func(u, v int32) (string, float64, string) {
		i, j := slices.Index(members[:k], u), slices.Index(members[:k], v)
		switch {
		case i < 0 || j < 0:
			return "faint", 0, ""
		case i == 0 && u == v:
			return "root", 0, "1"
		case u == v:
			return "member", 0, fmt.Sprint(i + 1)
		}
		return "plain", 0, ""
	})
	for row := range w {
		d.text(390, 335+24*row, "soft", fmt.Sprintf("root %d", row+1))
		for i, v := range members[row*k : (row+1)*k] {
			d.cell(430+26*i, 324+24*row, i == 0, d.symbols[v])
		}
	}

	d.panel(640, fmt.Sprintf("The answer: %s, %.0f %%", e.Class, 100*slices.Max(e.Probs)), "and the weights of atoms and bonds")
	largest := 0.0
	weights := map[graph.Edge]float64{}
	for _, v := range e.Nodes {
		weights[graph.Edge{U: v.ID, V: v.ID}] = v.Weight
	}
	for _, x := range e.Edges {
		weights[graph.Edge{U: x.Source, V: x.Target}] = x.Weight
	}
	for _, x := range weights {
		largest = max(largest, math.Abs(x))
	}
	d.graph(func(u, v int32) (string, float64, string) {
		text, weight := "", weights[graph.Edge{U: u, V: v}]
		if u == v {
			text = d.symbols[u]
		}
		switch strength := math.Round(4*math.Abs(weight)/largest) / 4; {
		case strength == 0:
			return "plain", 0, text
		case weight < 0:
			return "minus", strength, text
		default:
			return "plus", strength, text
		}
	})
	d.text(800, 334, "plus", "solid blue: for the class")
	d.text(800, 356, "minus", "dashed orange: against it")
	d.text(800, 378, "soft", fmt.Sprintf("learned from %d generated molecules", graphs))
	d.b.WriteString("</svg>\n")

	const file = "picture.svg"
	if *update {
		must(os.WriteFile(file, d.b.Bytes(), 0o666))
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the positions and the weights round differently on " + runtime.GOARCH)
	}
	if bytes.Contains(d.b.Bytes(), []byte("var(")) || bytes.Contains(d.b.Bytes(), []byte("$")) {
		t.Error("the picture has colors by name, which is black where a viewer does not know these")
	}
	if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, d.b.Bytes()) {
		t.Errorf("%s is not what the program makes (%v): go test ./examples/internal/readme -run Picture -update", file, err)
	}
}

// rootsOf returns the first member of each field.
func rootsOf(members []int32, k int) (roots []int32) {
	for field := range slices.Chunk(members, k) {
		roots = append(roots, field[0])
	}
	return roots
}

// drawing is an SVG of three panels, each with the same graph.
type drawing struct {
	g       *graph.Graph
	at      []page.Point
	symbols []string
	b       bytes.Buffer
	left    int // of the panel
}

// start writes the head. Colors are those of Okabe and Ito (2008), which color-blind readers can
// distinguish, on a background of their own.
func (d *drawing) start(title, text string) {
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 400" role="img" font-family="system-ui, sans-serif">
<title>%s</title>
<desc>%s</desc>
<style>
%s@media (prefers-color-scheme: dark) {
%s}
</style>
<rect class="sheet" x="0.5" y="0.5" width="959" height="399" rx="8"/>
`, title, text, light.Replace(style), dark.Replace(style))
}

// style has the colors by name. The picture has them as literals, which every viewer knows.
const style = `text { fill: $ink; font-size: 14px; text-anchor: middle }
text.title { font-size: 19px; font-weight: 600 } text.soft { fill: $soft } text.plus { fill: $plus } text.minus { fill: $minus }
line { stroke: $soft; stroke-width: 2 } circle, rect { fill: $back; stroke: $soft; stroke-width: 1.5 }
.sheet { stroke: $rule } .rule { stroke: $rule; stroke-width: 1 }
line.faint, circle.faint { stroke: $rule }
circle.member { stroke: $plus; stroke-width: 3 }
circle.root, rect.root { fill: $root; stroke: $ink } text.root { fill: #1a1a1a; font-weight: 600 }
line.plus { stroke: $plus } line.minus { stroke: $minus; stroke-dasharray: 5 3 }
circle.tint { stroke: none } circle.tint.plus { fill: $plus } circle.tint.minus { fill: $minus }
circle.rim { fill: none } circle.rim.plus { stroke: $plus } circle.rim.minus { stroke: $minus; stroke-dasharray: 4 3 }
`

var (
	light = strings.NewReplacer("$back", "#fff", "$ink", "#1a1a1a", "$soft", "#595959", "$rule", "#d0d0d0", "$plus", "#0072b2", "$minus", "#d55e00", "$root", "#e69f00")
	dark  = strings.NewReplacer("$back", "#16181b", "$ink", "#e8e8e8", "$soft", "#a8a8a8", "$rule", "#44484d", "$plus", "#56b4e9", "$minus", "#f0a050", "$root", "#f0e442")
)

func (d *drawing) text(x, y int, class, text string) {
	fmt.Fprintf(&d.b, "<text x=\"%d\" y=\"%d\" dy=\"0.35em\" class=\"%s\">%s</text>\n", x, y, class, text)
}

// panel begins a panel.
func (d *drawing) panel(left int, title, text string) {
	d.left = left
	if left > 0 {
		fmt.Fprintf(&d.b, "<line class=\"rule\" x1=\"%d\" y1=\"24\" x2=\"%d\" y2=\"376\"/>\n", left, left)
	}
	d.text(left+160, 36, "title", title)
	d.text(left+160, 62, "soft", text)
}

// cell draws a cell of a field.
func (d *drawing) cell(x, y int, root bool, text string) {
	class := "plain"
	if root {
		class = "root"
	}
	fmt.Fprintf(&d.b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"26\" height=\"22\"/>\n", class, x, y)
	d.text(x+13, y+11, class, text)
}

// graph draws the graph into the panel. look returns the class, the strength and the text of
// node u, where v is u, or of the edge of u and v.
func (d *drawing) graph(look func(u, v int32) (class string, strength float64, text string)) {
	x := func(v int32) int { return d.left + 160 + int(math.Round(126*d.at[v].X)) }
	y := func(v int32) int { return 198 + int(math.Round(126*d.at[v].Y)) }
	for u := range int32(d.g.N()) {
		for _, v := range d.g.Adj(u) {
			if u < v {
				class, strength, _ := look(u, v)
				fmt.Fprintf(&d.b, "<line class=\"%s\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" style=\"stroke-width:%g\"/>\n", class, x(u), y(u), x(v), y(v), 2+5*strength)
			}
		}
	}
	for v := range int32(d.g.N()) {
		class, strength, text := look(v, v)
		if strength > 0 { // the color over the background
			fmt.Fprintf(&d.b, "<circle cx=\"%[1]d\" cy=\"%[2]d\" r=\"14\" style=\"stroke:none\"/><circle class=\"tint %[3]s\" cx=\"%[1]d\" cy=\"%[2]d\" r=\"14\" fill-opacity=\"%[4]g\"/><circle class=\"rim %[3]s\" cx=\"%[1]d\" cy=\"%[2]d\" r=\"14\" style=\"stroke-width:3\"/>\n",
				x(v), y(v), class, strength/2)
			class = "plain"
		} else {
			fmt.Fprintf(&d.b, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"14\"/>\n", class, x(v), y(v))
		}
		if text != "" {
			d.text(x(v), y(v), class, text)
		}
	}
}
