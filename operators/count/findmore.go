package count

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
)

// Find implements Finder. An interval concerns its node or edge, an interval of two nodes their
// edge, and a number of a channel the whole graph.
func (a *attributes) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	g := in.Graph
	var ends []graph.Edge // edge of each CSR entry
	if g.EdgeAttrs > 0 {
		for v := range int32(g.N()) {
			for _, u := range g.Adj(v) {
				ends = append(ends, edgeOf(g, v, u))
			}
		}
	}
	return a.words(in, func(id Hash, word *attributeWord) {
		w := *word
		o := Occurrence{ID: uint64(id), Count: 1, Text: func() string { return a.text(w, &names) }}
		switch {
		case w.entry < 0:
		case w.edges:
			o.Edges = ends[w.entry : w.entry+1]
		case w.beside >= 0:
			o.Edges = []graph.Edge{edgeOf(g, int32(w.entry), w.beside)}
		default:
			o.Nodes = []int32{int32(w.entry)}
		}
		emit(o)
	})
}

// text returns a word of the current channel as text.
func (a *attributes) text(w attributeWord, names *Dictionary) string {
	name := fmt.Sprint("node attribute ", w.channel)
	if w.edges {
		name = fmt.Sprint("edge attribute ", w.channel)
	}
	if w.number != "" {
		return name + ": " + w.number + " " + w.tile.String()
	}
	name += " " + intervalText(a.x[w.entry], w.width)
	switch {
	case w.labelled:
		return name + " of " + names.spelled(&a.labels, int32(w.entry))
	case w.beside >= 0:
		return name + " beside " + intervalText(a.x[w.beside], w.width)
	}
	return name
}

func intervalText(x, width float64) string {
	switch {
	case x != x:
		return "missing"
	case !finite(x):
		return "not finite"
	}
	low := math.Floor(x/width) * width
	return "from " + number(low) + " to " + number(low+width)
}

// edgeOf returns the edge, or the arc, from u to v.
func edgeOf(g *graph.Graph, u, v int32) graph.Edge {
	if !g.Directed && u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

// Find implements Finder. A word of a node concerns the node, a word of an edge the edge.
func (a *aroundCounter) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	g := in.Graph
	return a.run(in, func(id Hash, word *aroundWord) {
		w := *word
		o := Occurrence{ID: uint64(id), Count: 1, Text: func() string { return w.at.text(names, g.EdgeCats-1) + w.text(&names) }}
		if w.entry < 0 {
			o.Nodes = []int32{w.node}
		} else {
			o.Edges = []graph.Edge{edgeOf(g, w.node, g.Neighbors[w.entry])}
		}
		emit(o)
	})
}

// text returns a word as text, without the position of the node.
func (w aroundWord) text(names *Dictionary) string {
	text := ""
	switch w.kind {
	case kindAround:
		text = index(names.Sparse, w.value)
	case kindAroundCat:
		text = names.node(w.channel, w.value)
	case kindAroundSize:
		text = "degree " + doublingText(uint64(w.value))
	case kindAroundAttr:
		name, offset := named(names.NodeNumber, "number", w.channel)
		text = inText(name, w.low, w.high, offset)
	case kindAroundEdge:
		text = "edge " + names.edge(w.channel, w.value)
	case kindAroundEdgeAttr:
		name, offset := named(names.EdgeNumber, "number", w.channel)
		text = "edge " + inText(name, w.low, w.high, offset)
	}
	if w.class < 0 {
		return text
	}
	if text != "" {
		text += ", "
	}
	name, _ := named(names.NodeNumber, "number", w.class)
	return text + fmt.Sprintf("about %.3g of %s around", w.about, name)
}

// text returns the position as text.
func (p standing) text(names Dictionary, last int) string {
	if p.ring == 0 {
		return "of the root: "
	}
	text := fmt.Sprintf("at distance %d", p.ring)
	for ways, by := p.ways, " by "; ways != 0; ways, by = ways&(ways-1), ", " {
		way := bits.TrailingZeros64(ways)
		text += by + wayText(names, 0, way/secondEdges, firstEdges)
		if p.ring > 1 {
			text += " " + wayText(names, last, way%secondEdges, secondEdges)
		}
	}
	return text + ": "
}

// wayText returns the name of value x of an edge of a way. of is the number of values.
func wayText(names Dictionary, channel, x, of int) string {
	if x == of-1 {
		return "other"
	}
	return value(names.Edge, channel, int32(x))
}

// Find implements Finder. A word of a node around the ends concerns that node; all other words
// concern the two ends.
func (s *pairCounter) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	var bag Bag
	said := map[uint64]pairWord{}
	err := s.words(in, func(id Hash, w pairWord) {
		if w.kind == kindPairNode || w.kind == kindPairDegree {
			emit(Occurrence{ID: uint64(id), Count: 1, Nodes: []int32{int32(w.of)}, Text: func() string { return w.text(&names) }})
			return
		}
		bag.Add(uint64(id), 1)
		said[uint64(id)] = w
	})
	if err != nil {
		return err
	}
	for _, e := range bag.Entries() {
		emit(Occurrence{ID: e.ID, Count: e.Count, Nodes: in.Roots, Text: func() string { return said[e.ID].text(&names) }})
	}
	return nil
}

// text returns a word as text.
func (w pairWord) text(names *Dictionary) string {
	text := fmt.Sprintf("a node %s and %s away from the ends", hopsText(w.where/beyond), hopsText(w.where%beyond))
	switch w.kind {
	case kindPairNode:
		return text
	case kindPairDegree:
		return text + ", of degree " + doublingText(w.digits)
	case kindNumber:
		return pairName(w.of) + " " + w.tile.String()
	case kindFeature:
		return "both have " + index(names.Sparse, int32(w.of))
	case kindAlike:
		return "how alike the ends are"
	}
	if w.of == math.MaxInt {
		return "the ends are far from each other"
	}
	return "the distance of the ends"
}

func hopsText(hops uint64) string {
	if hops == beyond-1 {
		return "more than 8"
	}
	return fmt.Sprint(hops)
}

var pairNames = [...]string{
	"smaller degree", "larger degree", "product of the degrees", "common neighbours", "index of Adamic and Adar",
	"common neighbours over all neighbours", "common neighbours over the smaller degree", "common neighbours over the root of the product of the degrees",
}

// pairName returns the name of score i of a pair; see pairCounter.numbers.
func pairName(i int) string {
	if i < len(pairNames) {
		return pairNames[i]
	}
	i -= len(pairNames)
	scale := [...]string{"edges", "both degrees", "the smaller degree", "the larger degree", "the root of the product of the degrees"}[i%5]
	return fmt.Sprintf("chance of a walk of %d times %s", i/5+2, scale)
}
