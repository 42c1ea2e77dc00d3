package page

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
)

const (
	mostMotifs   = 100
	mostExamples = 12
)

// Atlas is the page of a sinks.Atlas. Of more than 100 motifs, or 12 examples of one, the first are shown.
type Atlas struct {
	Title string // "" = Atlas
	Atlas *sinks.Atlas
	// Layout has the words of the attributes of the graphs, as in Explanation. It may be empty.
	Layout record.Layout
	// GraphName is the id of a graph of the data, by default its number.
	GraphName func(graph int64) string
}

// chapter is a motif on the page.
type chapter struct {
	sinks.Motif
	Number   int
	Head     string
	Share    float64 // of the graphs, in percent
	Drawing  *drawing
	Where    []string // ids of the graphs of examples
	Examples []plate
}

type plate struct {
	*drawing
	Caption string
}

// Write writes the page.
func (p Atlas) Write(w io.Writer) error {
	a := p.Atlas
	page := struct {
		*sinks.Atlas
		Title           string
		Chapters, Whole []chapter
		Unlisted        int
	}{Atlas: a, Title: cmp.Or(p.Title, "Atlas")}
	motifs, whole := a.Motifs[:min(len(a.Motifs), mostMotifs)], a.Whole[:min(len(a.Whole), mostMotifs)]
	page.Unlisted = len(a.Motifs) + len(a.Whole) - len(motifs) - len(whole)
	for i, m := range motifs {
		c := p.chapter(m)
		c.Number = i + 1
		page.Chapters = append(page.Chapters, c)
	}
	for _, m := range whole {
		page.Whole = append(page.Whole, p.chapter(m))
	}
	return pages.ExecuteTemplate(w, "atlas", page)
}

// chapter lays out a motif.
func (p Atlas) chapter(m sinks.Motif) (c chapter) {
	c = chapter{Motif: m, Head: short(m.Text, 70), Share: 100 * float64(m.Graphs) / float64(max(1, p.Atlas.Graphs))}
	m.Examples = slices.DeleteFunc(slices.Clone(m.Examples), func(e sinks.Example) bool { return e.Drawn == nil })
	if m.Pattern != nil {
		if chemistry := chemistryOf(&p.Layout); chemistry != nil {
			c.Head = short(chemistry.pattern(m.Pattern.Drawn, m.Text), 70)
		}
		c.Drawing = p.example(*m.Pattern, 190)
		c.Drawing.Label = "The motif: " + c.Head
	}
	for _, e := range m.Examples[:min(len(m.Examples), mostExamples)] {
		c.Where = append(c.Where, p.graphName(e.Graph))
		c.Examples = append(c.Examples, plate{p.example(e, 260), fmt.Sprintf("graph %s, weight %+.3g", p.graphName(e.Graph), e.Weight)})
	}
	return c
}

// example draws an example, its members in colour.
func (p Atlas) example(e sinks.Example, side int) *drawing {
	members, faint := 0, map[graph.Edge]bool{}
	for _, x := range e.Edges {
		faint[graph.Edge{U: x.Source, V: x.Target}] = !x.Member
	}
	for _, v := range e.Nodes {
		if v.Member {
			members++
		}
	}
	label := fmt.Sprintf("Graph %s, of which %d of the %d nodes drawn belong to the motif", p.graphName(e.Graph), members, len(e.Nodes))
	c := chemistryOf(&p.Layout)
	return newDrawing(e.Drawn, label, side, func(u, v int32, m *mark) {
		if u != v {
			if m.Kind = "member"; faint[graph.Edge{U: u, V: v}] {
				m.Kind = "faint"
			}
			m.Bond = c.order(e.Drawn, u, v)
			return
		}
		n := e.Nodes[u]
		m.Title, m.Text = fmt.Sprint("node ", n.ID), short(labelOf(e.Drawn, &p.Layout, c, u), 4)
		if c != nil {
			m.Title = fmt.Sprint("atom ", n.ID+1)
		}
		switch {
		case n.Root:
			m.Kind = "root"
		case n.Member:
			m.Kind = "member"
		default:
			m.Kind = "faint"
		}
	})
}

// Head names a motif: of molecules as in Explanation if the word depends on all attributes, others by their word.
func (p Atlas) Head(m sinks.Motif) string { return p.chapter(m).Head }

// graphName returns the id of the graph at position at, or the position if graphs have no ids.
func (p Atlas) graphName(at int64) string {
	if p.GraphName == nil {
		return fmt.Sprint(at)
	}
	return short(p.GraphName(at), 40)
}
