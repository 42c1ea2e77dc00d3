package metamorphic

import (
	"fmt"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// A plan is what all runs of a seed have in common: graphs, and the operators
// that they go through.
type plan struct {
	layout record.Layout
	items  []sources.Item
	ops    []flow.Operator
}

// draw makes the plan of a seed.
func draw(rng *rand.Rand) plan {
	p := plan{layout: drawLayout(rng)}
	name(&p.layout)
	for i := range rng.IntN(9) {
		p.items = append(p.items, drawItem(rng, p.layout))
		p.items[i].NodeID = idsOf(p.layout.NodeIDs, i, p.items[i].Graph.N())
	}
	p.ops = drawOperators(rng, p.layout)
	return p
}

// name gives some layouts ids of nodes and words, and draws nothing for it.
func name(l *record.Layout) {
	l.NodeIDs = []graph.IDKind{graph.NoIDs, graph.Int64IDs, graph.StringIDs}[(len(l.NodeCat)+2*len(l.NodeAttr))%3]
	for _, list := range [][]record.Channel{l.NodeCat, l.EdgeCat} {
		for i, c := range list {
			if i > 0 || len(l.NodeAttr) == 1 {
				list[i] = record.WordsChannel(c.Name, []string{"", "blue", "red"}[:c.Card-1])
			}
		}
	}
}

// idsOf are the ids of graph i, which do not ascend.
func idsOf(kind graph.IDKind, i, n int) graph.IDs {
	switch kind {
	case graph.Int64IDs:
		var list []int64
		for v := range int64(n) {
			list = append(list, (5-v)<<40+int64(i))
		}
		return graph.IDsOf(list)
	case graph.StringIDs:
		var list []string
		for v := range n {
			list = append(list, fmt.Sprintf("%d of %d", n-v, i))
		}
		ids, err := graph.IDsOfStrings(list)
		if err != nil {
			panic(err) // they are short
		}
		return ids
	}
	return graph.IDs{}
}

func coin(rng *rand.Rand, one int) bool { return rng.IntN(one) == 0 }

func drawLayout(rng *rand.Rand) (l record.Layout) {
	l.Directed = coin(rng, 4)
	for i := range rng.IntN(3) {
		l.NodeCat = append(l.NodeCat, record.Channel{Name: fmt.Sprint("label", i), Card: 1 + rng.IntN(3)})
	}
	for i := range rng.IntN(3) {
		l.NodeAttr = append(l.NodeAttr, record.Channel{Name: fmt.Sprint("x", i)})
	}
	if coin(rng, 3) {
		l.EdgeCat = append(l.EdgeCat, record.Channel{Name: "bond", Card: 1 + rng.IntN(3)})
	}
	if coin(rng, 4) {
		l.EdgeAttr = append(l.EdgeAttr, record.Channel{Name: "length"})
	}
	if coin(rng, 4) {
		l.NodeSparse = record.Channel{Name: "words", Card: 5}
	}
	switch rng.IntN(4) {
	case 0:
		l.Real = true
	case 1, 2:
		l.Classes = []string{"no", "yes", "other"}[:2+rng.IntN(2)]
	}
	if coin(rng, 3) {
		l.NodeClasses = []string{"even", "odd"}
	}
	return l
}

// drawItem makes a graph of up to 12 nodes, often one of much symmetry.
func drawItem(rng *rand.Rand, l record.Layout) sources.Item {
	n := int32(rng.IntN(13))
	var edges []graph.Edge
	join := func(u, v int32) {
		if l.Directed && coin(rng, 2) {
			u, v = v, u
		}
		edges = append(edges, graph.Edge{U: u, V: v})
	}
	kind, p := rng.IntN(4), rng.Float64()
	for v := int32(1); v < n; v++ {
		switch kind {
		case 0: // a path, or a cycle
			join(v-1, v)
			if v == n-1 && n > 2 && p < .5 {
				join(v, 0)
			}
		case 1: // a star
			join(0, v)
		case 2: // a tree
			join(int32(rng.IntN(int(v))), v)
		default: // any two with the same probability
			for u := range v {
				if rng.Float64() < p {
					join(u, v)
				}
			}
		}
	}
	g, err := graph.New(int(n), l.Directed, edges)
	if err != nil {
		panic(err) // all nodes are below n
	}
	decorate(rng, g, l)
	it := sources.Item{Graph: g}
	if len(l.Classes) > 0 {
		it.Class = int32(rng.IntN(len(l.Classes)))
	}
	if l.Real {
		it.Value = float32(rng.IntN(9)) / 4
	}
	if len(l.NodeClasses) > 0 {
		for range n {
			it.NodeClass = append(it.NodeClass, int32(rng.IntN(len(l.NodeClasses)+1))-1)
		}
	}
	return it
}

// decorate gives g attributes of few values, so that there are ties.
func decorate(rng *rand.Rand, g *graph.Graph, l record.Layout) {
	number := func() float32 { return []float32{0, .5, -1, 2.25}[rng.IntN(4)] }
	g.NodeCats, g.NodeAttrs, g.EdgeCats, g.EdgeAttrs = len(l.NodeCat), len(l.NodeAttr), len(l.EdgeCat), len(l.EdgeAttr)
	g.SparseCard = l.NodeSparse.Card
	if g.SparseCard > 0 {
		g.SparseOffsets = []int32{0}
	}
	for range g.N() {
		for _, c := range l.NodeCat {
			g.NodeCat = append(g.NodeCat, int32(rng.IntN(c.Card)))
		}
		for range l.NodeAttr {
			g.NodeAttr = append(g.NodeAttr, number())
		}
		if g.SparseCard > 0 {
			for x := range g.SparseCard {
				if coin(rng, 3) {
					g.NodeSparse = append(g.NodeSparse, int32(x))
				}
			}
			g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		}
	}
	g.EdgeCat = make([]int32, len(g.Neighbors)*g.EdgeCats)
	g.EdgeAttr = make([]float32, len(g.Neighbors)*g.EdgeAttrs)
	for u := range int32(g.N()) {
		for i, v := range g.Adj(u) {
			entry, twin := int(g.Offsets[u])+i, -1
			if !g.Directed && v < u {
				twin = g.Entry(v, u) // both entries of an edge have the same values
			}
			for j := range g.EdgeCats {
				x := int32(rng.IntN(l.EdgeCat[j].Card))
				if twin >= 0 {
					x = g.EdgeCat[twin*g.EdgeCats+j]
				}
				g.EdgeCat[entry*g.EdgeCats+j] = x
			}
			for j := range g.EdgeAttrs {
				x := number()
				if twin >= 0 {
					x = g.EdgeAttr[twin*g.EdgeAttrs+j]
				}
				g.EdgeAttr[entry*g.EdgeAttrs+j] = x
			}
		}
	}
}

// labelings are those that any graph of up to 12 nodes has.
var labelings = []labeling.Labeling{
	labeling.Degree, labeling.NormalizedDegree, labeling.WL, labeling.WeisfeilerLehman{Rounds: 2},
	labeling.Betweenness, labeling.PageRank, labeling.Eigenvector, labeling.Closeness, labeling.Harmonic,
	labeling.Core, labeling.Clustering, labeling.Canonical,
}

func drawLabeling(rng *rand.Rand, or labeling.Labeling) labeling.Labeling {
	if coin(rng, 3) {
		return or
	}
	return labelings[rng.IntN(len(labelings))]
}

// drawOperators makes a chain that fits together.
func drawOperators(rng *rand.Rand, l record.Layout) (ops []flow.Operator) {
	add := func(op flow.Operator) { ops = append(ops, op) }
	if coin(rng, 4) {
		add(refuse{Every: 2 + rng.IntN(4)})
	}
	attrs := len(l.NodeAttr)
	if coin(rng, 3) {
		add(operators.Channel{By: drawLabeling(rng, labeling.Degree)})
		attrs++
	}
	if coin(rng, 8) { // graphs as they are
		return append(ops, drawEnd(rng)...)
	}
	direction := field.Direction(rng.IntN(3))
	sel := operators.Select{W: rng.IntN(7), By: drawLabeling(rng, nil), Stride: rng.IntN(3), DepthFirst: coin(rng, 4)}
	sel.Strict = sel.W > 0 && coin(rng, 4)
	add(sel)
	if sel.W == 0 || coin(rng, 3) {
		add(operators.Chunk{Size: 1 + rng.IntN(5)})
	}
	k := 1 + rng.IntN(8)
	norm := operators.Normalize{
		By: drawLabeling(rng, nil), Global: coin(rng, 4), IgnoreAttributes: coin(rng, 5), Uniform: coin(rng, 4),
		Edges: coin(rng, 2), Mask: coin(rng, 3), KeepGraph: coin(rng, 6),
	}
	if coin(rng, 3) {
		norm.Distances = 1 + rng.IntN(4)
	}
	if coin(rng, 2) {
		add(operators.Assemble{K: k, Direction: direction})
	} else {
		norm.K, norm.Direction = k, direction
	}
	add(norm)
	if attrs > 0 && coin(rng, 4) {
		s := operators.Standardize{Mean: make([]float32, attrs), Std: make([]float32, attrs)}
		for i := range attrs {
			s.Mean[i], s.Std[i] = float32(rng.IntN(4))/3, float32(rng.IntN(3))/3
		}
		add(s)
	}
	if coin(rng, 3) {
		add(operators.PerRoot{Labelled: len(l.NodeClasses) > 0 && coin(rng, 2)})
	}
	return append(ops, drawEnd(rng)...)
}

// drawEnd makes the operators that change the order and the records only.
func drawEnd(rng *rand.Rand) (ops []flow.Operator) {
	if coin(rng, 5) {
		ops = append(ops, refuse{Every: 3 + rng.IntN(4)})
	}
	if coin(rng, 3) {
		ops = append(ops, operators.Shuffle{Size: 1 + rng.IntN(20), Seed: rng.Uint64N(100), Rows: 1 + rng.IntN(9)})
	}
	if coin(rng, 4) {
		ops = append(ops, operators.Replay{
			Epochs: 1 + rng.IntN(3), Seed: rng.Uint64N(100), Rows: 1 + rng.IntN(9),
		})
	}
	if coin(rng, 2) {
		ops = append(ops, operators.Batch{Size: 1 + rng.IntN(6)})
	}
	return ops
}
