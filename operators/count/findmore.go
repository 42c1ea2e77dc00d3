package count

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/sanflow/sanflow/flow/graph"
)

// Find implements Finder. An interval concerns its node or edge, an interval of two nodes their
// edge, and a number of a channel the whole graph.
func (a *attributes) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	g := in.Graph
	a.labels.reset(g)
	for c := range min(g.NodeAttrs, MostChannels) {
		a.channel(g.NodeAttr, g.NodeAttrs, g.N(), c)
		node := []int32{0}
		a.find(kindNodeAttr.Add(uint64(c)), fmt.Sprint("node attribute ", c), emit, func(i int) Occurrence {
			node[0] = int32(i)
			return Occurrence{Nodes: node}
		}, g, &names)
	}
	var ends []graph.Edge
	if g.EdgeAttrs > 0 {
		for v := range int32(g.N()) {
			for _, u := range g.Adj(v) {
				ends = append(ends, edgeOf(g, v, u))
			}
		}
	}
	for c := range min(g.EdgeAttrs, MostChannels) {
		a.channel(g.EdgeAttr, g.EdgeAttrs, len(g.Neighbors), c)
		a.find(kindEdgeAttr.Add(uint64(c)), fmt.Sprint("edge attribute ", c), emit, func(i int) Occurrence {
			return Occurrence{Edges: ends[i : i+1]}
		}, nil, &names)
	}
	return nil
}

// find emits the words that count adds. about returns the location of value i.
func (a *attributes) find(h Hash, name string, emit func(Occurrence), about func(i int) Occurrence, g *graph.Graph, names *Dictionary) {
	mean, deviation := a.moments()
	if n := len(a.sorted); n > 0 {
		for i, x := range [...]float64{mean, deviation, a.sorted[0], a.sorted[n/2], a.sorted[n-1]} {
			h, what := h.Add(0).Add(uint64(i)), [...]string{"mean", "deviation", "least", "middle", "largest"}[i]
			if x < 0 {
				h, x, what = h.Add(1), -x, "minus "+what
			}
			tiles(h, x, func(id uint64, text func() string) {
				emit(Occurrence{ID: id, Count: 1, Text: func() string { return name + ": " + what + " " + text() }})
			})
		}
	}
	widest := a.widest(deviation)
	for e := widest - 2; e <= widest; e++ {
		h, width := h.Add(1).Add(uint64(e)), math.Ldexp(1, e)
		for i, x := range a.x {
			o := about(i)
			o.ID, o.Count = uint64(h.Add(interval(x, width))), 1
			o.Text = func() string { return name + " " + intervalText(x, width, 0) }
			emit(o)
		}
		if g == nil || e == widest-2 {
			continue
		}
		for v := range int32(g.N()) {
			own := interval(a.x[v], width)
			if a.labels.nodes {
				o := about(int(v))
				o.ID, o.Count = uint64(h.Add(own).Add(0).Add(a.labels.node(v))), 1
				o.Text = func() string {
					return name + " " + intervalText(a.x[v], width, 0) + " of " + names.spelled(&a.labels, v)
				}
				emit(o)
			}
			for _, u := range g.Adj(v) {
				if other := interval(a.x[u], width); other <= own || g.Directed {
					emit(Occurrence{
						ID: uint64(h.Add(own).Add(1).Add(other)), Count: 1, Edges: []graph.Edge{edgeOf(g, v, u)},
						Text: func() string {
							return name + " " + intervalText(a.x[v], width, 0) + " beside " + intervalText(a.x[u], width, 0)
						},
					})
				}
			}
		}
	}
}

func intervalText(x, width, offset float64) string {
	switch {
	case x != x:
		return "missing"
	case !finite(x):
		return "not finite"
	}
	low, text := math.Floor(x/width)*width+offset, number
	if offset != 0 { // three digits of a large number would not distinguish values
		text = func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	}
	return "from " + text(low) + " to " + text(low+width)
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
	var bag Bag
	g := in.Graph
	a.at = func(v int32, at standing) {
		where := at.text(names, g.EdgeCats-1)
		node := []int32{v}
		show := func(id Hash, text func() string) {
			emit(Occurrence{ID: uint64(id), Count: 1, Nodes: node, Text: func() string { return where + text() }})
		}
		for _, i := range g.Sparse(v) {
			show(at.in(kindAround).Add(uint64(i)), func() string { return index(names.Sparse, i) })
		}
		for i := range g.NodeCats {
			x := g.NodeCat[int(v)*g.NodeCats+i]
			show(at.in(kindAroundCat).Add(uint64(i)).Add(uint64(x)), func() string { return names.node(i, x) })
		}
		if g.SparseCard == 0 {
			digits := uint64(bits.Len(uint(g.Degree(v))))
			show(at.in(kindAroundSize).Add(digits), func() string { return "degree " + doublingText(digits) })
		}
		a.expected(g, v, at, func(id Hash, text func(Dictionary) string) { show(id, func() string { return text(names) }) })
		a.numbers(g, v, at, func(id Hash, channel, entry int, low, high float64) {
			if entry < 0 {
				show(id, func() string {
					name, offset := named(names.NodeNumber, "number", channel)
					return inText(name, low, high, offset)
				})
				return
			}
			emit(Occurrence{
				ID: uint64(id), Count: 1, Edges: []graph.Edge{edgeOf(g, v, g.Neighbors[entry])},
				Text: func() string {
					name, offset := named(names.EdgeNumber, "number", channel)
					return where + "edge " + inText(name, low, high, offset)
				},
			})
		})
		if !a.leads(g, v, at) {
			return
		}
		for e := int(g.Offsets[v]) * g.EdgeCats; e < int(g.Offsets[v+1])*g.EdgeCats; e++ {
			emit(Occurrence{
				ID: uint64(at.in(kindAroundEdge).Add(uint64(e % g.EdgeCats)).Add(uint64(g.EdgeCat[e]))), Count: 1,
				Edges: []graph.Edge{edgeOf(g, v, g.Neighbors[e/g.EdgeCats])},
				Text:  func() string { return where + "edge " + names.edge(e%g.EdgeCats, g.EdgeCat[e]) },
			})
		}
	}
	defer func() { a.at = nil }()
	return a.Count(in, &bag)
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
	var bag, nodes Bag
	s.at = func(v int32, where, digits uint64) {
		text := fmt.Sprintf("a node %s and %s away from the ends", hopsText(where/beyond), hopsText(where%beyond))
		node := []int32{v}
		a, b := uint64(kindPairNode.Add(where)), uint64(kindPairDegree.Add(where).Add(digits))
		nodes.Add(a, 1)
		nodes.Add(b, 1)
		emit(Occurrence{ID: a, Count: 1, Nodes: node, Text: func() string { return text }})
		emit(Occurrence{ID: b, Count: 1, Nodes: node, Text: func() string { return text + ", of degree " + doublingText(digits) }})
	}
	defer func() { s.at, s.number = nil, nil }()
	texts := map[uint64]func() string{}
	s.number = func(h Hash, name string, x float64) {
		tiles(h, x, func(id uint64, text func() string) {
			texts[id] = func() string { return name + " " + text() }
		})
	}
	if err := s.Count(in, &bag); err != nil {
		return err
	}
	for i := -8; i <= 64; i++ {
		texts[uint64(kindDistance.Add(uint64(i)))] = func() string { return "the distance of the ends" }
	}
	texts[uint64(kindDistance.Add(math.MaxInt))] = func() string { return "the ends are far from each other" }
	own := map[uint64]bool{}
	for _, e := range nodes.Entries() {
		own[e.ID] = true
	}
	for _, i := range in.Graph.Sparse(in.Roots[0]) {
		texts[uint64(kindFeature.Add(uint64(i)))] = func() string { return "both have " + index(names.Sparse, i) }
	}
	for _, e := range bag.Entries() {
		if own[e.ID] {
			continue
		}
		text := texts[e.ID]
		if text == nil {
			text = func() string { return "how alike the ends are" }
		}
		emit(Occurrence{ID: e.ID, Count: e.Count, Nodes: in.Roots, Text: text})
	}
	return nil
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

// pairName returns the name of number i of a pair.
func pairName(i int) string {
	if i < len(pairNames) {
		return pairNames[i]
	}
	i -= len(pairNames)
	scale := [...]string{"edges", "both degrees", "the smaller degree", "the larger degree", "the root of the product of the degrees"}[i%5]
	return fmt.Sprintf("chance of a walk of %d times %s", i/5+2, scale)
}
