package page

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
)

const (
	mostDrawn     = 400 // most nodes of a drawing
	mostWords     = 200 // most rows of a table
	mostNamed     = 12  // most nodes with names in a drawing of more than 24 nodes, or neighbours of roots with names
	mostPictures  = 40  // most fragments that are drawn
	mostExplained = 100 // most explanations of a page
	mostIndexed   = 10000
	mostOpen      = 20 // most rows of a table without numbers of nodes that show before the reader opens the rest
)

// Explanation is the page of a sinks.Explanation: the answer in a line, its parts (see Parts), drawn into the graph, and the
// words. Of more than 400 nodes those with the largest weights are drawn, and of more than 200 parts or words the
// first are listed.
type Explanation struct {
	Title   string // "" = Explanation
	ID      string // of what is explained, in the index of Explanations
	Target  string // the one that is explained, of a model of several targets
	Graph   *graph.Graph
	Reasons *sinks.Explanation
	// Layout has the words of the attributes of Graph. The first discrete one is the text in a node. Molecules, in the columns
	// of molecules.Layout, are drawn with their bonds, and their fragments named as in chemistry. It may be empty.
	Layout record.Layout
	// Name is the name of a node, by default its number, of atoms from 1.
	Name    func(v int32) string
	Seconds bool    // times are in seconds: columns of earlier.IsDuration are written in the largest unit that fits
	Tables  []Table // below the parts
}

// Table is a table of text, of which the first 200 rows are shown, each text cut after 200 characters.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Shown are the rows that are shown.
func (t Table) Shown() [][]string { return t.Rows[:min(mostWords, len(t.Rows))] }

// Omitted is the number of the others.
func (t Table) Omitted() int { return len(t.Rows) - len(t.Shown()) }

// Sheet is a page of tables.
type Sheet struct {
	Title  string
	Tables []Table
}

// Write writes the page.
func (p Sheet) Write(w io.Writer) error { return pages.ExecuteTemplate(w, "sheet", p) }

// Explanations is one page of explanations, several of them with an index. The first 100 are shown, and the index lists 10 000.
type Explanations struct {
	Title string // "" = that of the only one, or Explanations
	All   []Explanation
}

// Write writes the page of one explanation.
func (p Explanation) Write(w io.Writer) error {
	return Explanations{All: []Explanation{p}}.Write(w)
}

// Write writes the page.
func (p Explanations) Write(w io.Writer) error {
	title := cmp.Or(p.Title, "Explanations")
	if len(p.All) == 1 {
		title = cmp.Or(p.Title, p.All[0].Title, "Explanation")
	}
	page := struct {
		Title    string
		All      []explained
		Unlisted int
	}{Title: title, Unlisted: max(0, len(p.All)-mostIndexed)}
	for i, e := range p.All[:min(len(p.All), mostIndexed)] {
		parts, err := e.Parts()
		if err != nil {
			return err
		}
		at := e.brief(parts)
		if i < mostExplained {
			if at, err = e.content(parts); err != nil {
				return err
			}
			at.Anchor = i + 1
		}
		at.ID = short(cmp.Or(e.ID, e.Title, fmt.Sprint(i+1)), 100)
		page.All = append(page.All, at)
	}
	return pages.ExecuteTemplate(w, "explanation", page)
}

// explained is an explanation on the page and in its index.
type explained struct {
	*sinks.Explanation
	Anchor                       int // number of its section; 0 = only in the index
	Title, Probabilities         string
	ID, Answer, Probability, Why string
	Drawing                      *drawing
	Undrawn                      int
	Molecule                     bool
	Sections                     []section
	Top                          []sinks.WordWeight
	Omitted                      int
	Tables                       []Table
	of                           Explanation
}

// section is a table of the parts of some kinds.
type section struct {
	Title, Caption, Name, Value string
	Sum                         float64
	Rows                        []row
	Omitted                     int
	Places, Numbered, Figures   bool
	Rest                        *section // rows that show when the reader opens them; nil if all rows show
}

type row struct {
	Part
	Number        int // number of the node in the drawing; 0 = none
	Picture       *drawing
	Label, Places string
}

// sections are the tables of a page, in its order, each with the kinds of its parts.
var sections = []struct {
	kinds                       []string
	title, caption, name, value string
}{
	{[]string{Column}, "Numbers", "Columns that the model reads, and what each adds. A name that ends in deviations counts standard deviations of the rows before with the same key", "column", "value"},
	{[]string{Own}, "Its own words", "Attributes of what was asked, and what each adds", "word", ""},
	{[]string{Asked, Node}, "Nodes", "What each node adds; around what was asked, with its edges towards it", "node", "type"},
	{[]string{Edge}, "Edges", "What each edge adds", "edge", ""},
	{[]string{Fragment, Word}, "Fragments", "Equal subgraphs, at how many places they are, and what all patterns about them add together", "fragment", ""},
	{[]string{Bias, Whole}, "The rest", "What is not about a part of the graph: what the model says before it sees anything, and the sum of all words about the whole", "", ""},
}

// Where names the nodes of an occurrence.
func (e explained) Where(nodes []int32) string { return e.of.places([][]int32{nodes}) }

// brief returns the line of the explanation in the index.
func (p Explanation) brief(parts []Part) (page explained) {
	page.Explanation, page.of, page.Why = p.Reasons, p, p.because(parts)
	page.Answer, page.Probability = p.answer()
	return page
}

func (p Explanation) content(parts []Part) (page explained, err error) {
	e := p.Reasons
	page = p.brief(parts)
	page.Title = cmp.Or(p.Title, "Explanation")
	page.Top, page.Tables, page.Molecule = e.Words[:min(mostWords, len(e.Words))], p.Tables, chemistryOf(&p.Layout) != nil
	page.Omitted = len(e.Words) - len(page.Top)
	page.Probabilities = probabilities(e)
	numbers := map[int32]string{} // number of each node in its table
	for _, s := range sections {
		at := section{Title: s.title, Caption: s.caption, Name: s.name, Value: s.value, Figures: s.kinds[0] == Column}
		for _, part := range parts {
			if !slices.Contains(s.kinds, part.Kind) {
				continue
			}
			at.Sum += part.Weight
			if len(at.Rows) == mostWords {
				at.Omitted++
				continue
			}
			r := row{Part: part, Label: short(part.Text(), 200)}
			if r.Value = short(part.Value, 100); part.Kind == Column {
				r.Label = short(part.Name, 200)
			}
			if part.Kind == Fragment || part.Kind == Word {
				at.Places, r.Places = true, p.places(part.Nodes)
			}
			if len(part.Nodes) == 1 && e.Roots != nil {
				at.Numbered, r.Number = true, len(at.Rows)+1
				numbers[part.Nodes[0][0]] = strconv.Itoa(r.Number)
			}
			if part.of != nil && len(at.Rows) < mostPictures {
				r.Picture = p.picture(part.of)
			}
			at.Rows = append(at.Rows, r)
		}
		if !at.Numbered && len(at.Rows) > mostOpen {
			rest := section{Name: at.Name, Value: at.Value, Places: at.Places, Figures: at.Figures, Rows: at.Rows[mostOpen:]}
			for _, r := range rest.Rows {
				rest.Sum += r.Weight
			}
			at.Rows, at.Rest = at.Rows[:mostOpen], &rest
		}
		if len(at.Rows) > 0 {
			page.Sections = append(page.Sections, at)
		}
	}
	if len(e.Nodes) > 0 {
		page.Drawing, err = p.draw(numbers)
		page.Undrawn = len(e.Nodes) - mostDrawn
	}
	return page, err
}

// probabilities returns the classes with their probabilities; of more than 10 classes, the 10 most probable ones.
func probabilities(e *sinks.Explanation) string {
	const most = 10
	classes := min(len(e.Probs), len(e.Classes))
	order := make([]int, classes)
	for i := range order {
		order[i] = i
	}
	if classes > most {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(e.Probs[b], e.Probs[a]) })
	}
	var all []string
	for _, i := range order[:min(most, classes)] {
		all = append(all, fmt.Sprintf("%s %.4f", short(e.Classes[i], 40), e.Probs[i]))
	}
	if classes > most {
		all = append(all, fmt.Sprintf("%d others", classes-most))
	}
	return strings.Join(all, ", ")
}

// picture draws a fragment, in the colour of the sign of its weight.
func (p Explanation) picture(f *fragment) *drawing {
	c := chemistryOf(&p.Layout)
	return newDrawing(f.graph, f.name, 150, func(u, v int32, m *mark) {
		if m.Kind = "plus"; f.weight < 0 {
			m.Kind = "minus"
		}
		if u != v {
			m.Bond = c.order(f.graph, u, v)
			return
		}
		m.Opacity, m.Title = 0.2, p.name(f.nodes[u])
		m.Text = short(labelOf(f.graph, &p.Layout, c, u), 4)
	})
}

// draw draws up to mostDrawn nodes, the roots and then those with the largest weights. A node with a number has it in place of its type.
func (p Explanation) draw(numbers map[int32]string) (*drawing, error) {
	listed := slices.Clone(p.Reasons.Nodes)
	rank := func(v sinks.NodeWeight) float64 { // roots come first
		if slices.Contains(p.Reasons.Roots, v.ID) {
			return math.Inf(1)
		}
		return math.Abs(v.Weight)
	}
	slices.SortStableFunc(listed, func(a, b sinks.NodeWeight) int { return cmp.Compare(rank(b), rank(a)) })
	listed = listed[:min(len(listed), mostDrawn)]
	c := chemistryOf(&p.Layout)
	beside := map[int32]bool{}
	for i, v := range listed {
		beside[v.ID] = c != nil || len(numbers) == 0 && (i < mostNamed || len(listed) <= 2*mostNamed) || slices.Contains(p.Reasons.Roots, v.ID)
	}
	slices.SortFunc(listed, func(a, b sinks.NodeWeight) int { return cmp.Compare(a.ID, b.ID) })
	nodes := make([]int32, len(listed))
	most := 0.0
	for i, v := range listed {
		nodes[i] = v.ID
		most = max(most, math.Abs(v.Weight))
	}
	edges := map[graph.Edge]float64{}
	named := 0
	for _, e := range p.Reasons.Edges {
		for _, ends := range [2][2]int32{{e.Source, e.Target}, {e.Target, e.Source}} {
			if len(numbers) > 0 && named < mostNamed && !beside[ends[1]] && slices.Contains(p.Reasons.Roots, ends[0]) {
				beside[ends[1]] = true
				named++
			}
		}
		edges[graph.Edge{U: e.Source, V: e.Target}] = e.Weight
		most = max(most, math.Abs(e.Weight))
	}
	g, err := p.Graph.Only(nodes)
	if err != nil {
		return nil, err
	}
	return newDrawing(g, "The graph; nodes and edges of larger weight have stronger colours. The weights are in the tables.", 600, func(u, v int32, m *mark) {
		what, weight := "node "+p.name(nodes[u]), listed[u].Weight
		if u != v {
			what, weight = fmt.Sprintf("edge %s–%s", p.name(nodes[u]), p.name(nodes[v])), edges[graph.Edge{U: nodes[u], V: nodes[v]}]
			m.Bond = c.order(g, u, v)
		} else {
			m.Asked = slices.Contains(p.Reasons.Roots, nodes[u])
			m.Text = short(cmp.Or(numbers[nodes[u]], p.typeOf(nodes[u])), 4)
			if beside[nodes[u]] {
				m.Beside = short(p.name(nodes[u]), 24)
			}
		}
		strength := 0.
		if most > 0 {
			strength = math.Abs(weight) / most
		}
		m.Title, m.Kind = fmt.Sprintf("%s: %+.4g", what, weight), "plus"
		if weight < 0 {
			m.Kind = "minus"
		}
		if !(strength > 0) { // NaN too
			strength = 0
		}
		m.Opacity = 0.08 + 0.92*strength
		if u != v {
			m.Size, m.Opacity = 30+int(90*strength), 0.3+0.7*strength
		}
	}), nil
}
