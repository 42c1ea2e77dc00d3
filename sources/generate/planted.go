package generate

import (
	"fmt"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
)

// Planted is a graph into which copies of a motif were planted, so that it is known why a
// graph, or a node, has its class: what explanations are tested on.
type Planted struct {
	Graph *graph.Graph
	// Class is the class of each node: 0 for those that are in no motif, and for others 1 or
	// more, by their place in it. Those of a house are 1 below, 2 in the middle and 3 above.
	Class []int32
	// Motif is the number of the copy that each node is in, or -1.
	Motif []int32
}

// InMotif reports whether both ends of an edge are in one copy of the motif.
func (p Planted) InMotif(u, v int32) bool { return p.Motif[u] >= 0 && p.Motif[u] == p.Motif[v] }

// motif is a small graph, which is planted by an edge from its first node.
type motif struct {
	edges []graph.Edge
	class []int32
}

var (
	// house is a square with a roof: nodes 0 and 1 are below, 2 and 3 in the middle.
	house = motif{[]graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 0}, {U: 2, V: 4}, {U: 3, V: 4}}, []int32{1, 1, 2, 2, 3}}
	grid3 = motif{[]graph.Edge{
		{U: 0, V: 1}, {U: 1, V: 2}, {U: 3, V: 4}, {U: 4, V: 5}, {U: 6, V: 7}, {U: 7, V: 8},
		{U: 0, V: 3}, {U: 3, V: 6}, {U: 1, V: 4}, {U: 4, V: 7}, {U: 2, V: 5}, {U: 5, V: 8},
	}, []int32{1, 1, 1, 1, 1, 1, 1, 1, 1}}
)

func cycle(n int32) (m motif) {
	for v := range n {
		m.edges, m.class = append(m.edges, graph.Edge{U: v, V: (v + 1) % n}), append(m.class, 1)
	}
	return m
}

// BA2Motifs returns a graph of the collection BA-2motifs (Luo and others, Parameterized
// explainer for graph neural network, NeurIPS 2020): a tree of 20 nodes that grew by
// preferential attachment, joined by an edge to a house, class 0, or to a cycle of five
// nodes, class 1.
func (by Generator) BA2Motifs(class int, seed uint64) (Planted, error) {
	if class != 0 && class != 1 {
		return Planted{}, fmt.Errorf("generate: BA-2motifs has no class %d, want 0 or 1", class)
	}
	base, err := by.PreferentialAttachment(20, 1, seed)
	if err != nil {
		return Planted{}, err
	}
	return by.plant(base, []motif{house, cycle(5)}[class], 1, 0, seed)
}

// BAShapes returns the graph of BA-Shapes (Ying and others, GNNExplainer, NeurIPS 2019): 80
// houses on a graph of 300 nodes that grew by preferential attachment of 5 edges, and a
// tenth as many random edges as there are nodes. The classes of nodes are 0 to 3.
func (by Generator) BAShapes(seed uint64) (Planted, error) {
	base, err := by.PreferentialAttachment(300, 5, seed)
	if err != nil {
		return Planted{}, err
	}
	return by.plant(base, house, 80, 70, seed)
}

// TreeCycles returns the graph of Tree-Cycles, of the same paper: 60 cycles of six nodes
// on a balanced binary tree of 511 nodes; the classes of nodes are 0 and 1. The paper adds
// edges as BA-Shapes does; the graph that is in use has 871 nodes, as here.
func (by Generator) TreeCycles(seed uint64) (Planted, error) {
	return by.onTree(cycle(6), 60, 87, seed)
}

// TreeGrid returns the graph of Tree-Grid: as TreeCycles, with 80 grids of 3 × 3 nodes.
func (by Generator) TreeGrid(seed uint64) (Planted, error) { return by.onTree(grid3, 80, 123, seed) }

func (by Generator) onTree(m motif, copies, more int, seed uint64) (Planted, error) {
	const nodes = 1<<9 - 1
	var edges []graph.Edge
	for v := int32(1); v < nodes; v++ {
		edges = append(edges, graph.Edge{U: (v - 1) / 2, V: v})
	}
	base, err := graph.New(nodes, false, edges)
	if err != nil {
		return Planted{}, err
	}
	return by.plant(base, m, copies, more, seed)
}

// plant joins copies of a motif to different nodes of a graph, and adds random edges, none
// of them within a copy.
func (by Generator) plant(base *graph.Graph, m motif, copies, more int, seed uint64) (Planted, error) {
	rng, s := rand.New(rand.NewPCG(seed, 0x70fa27)), by.newEdgeSet()
	n := base.N()
	p := Planted{Class: make([]int32, n), Motif: make([]int32, n)}
	for v := range int32(n) {
		p.Motif[v] = -1
		for _, u := range base.Adj(v) {
			s.add(v, u)
		}
	}
	at := make([]int32, n)
	for v := range at {
		at[v] = int32(v)
	}
	shuffle(&s.stop, rng, at)
	for i := range copies {
		first := int32(len(p.Class))
		for _, e := range m.edges {
			s.add(first+e.U, first+e.V)
		}
		s.add(at[i], first)
		for _, c := range m.class {
			p.Class, p.Motif = append(p.Class, c), append(p.Motif, int32(i))
		}
	}
	for more > 0 && s.goOn(1) {
		u, v := rng.Int32N(int32(len(p.Class))), rng.Int32N(int32(len(p.Class)))
		if !p.InMotif(u, v) && s.add(u, v) {
			more--
		}
	}
	var err error
	p.Graph, err = s.graph(len(p.Class))
	return p, err
}

// BA2Motifs is [Generator.BA2Motifs] without an end.
func BA2Motifs(class int, seed uint64) (Planted, error) {
	return Generator{}.BA2Motifs(class, seed)
}

// BAShapes is [Generator.BAShapes] without an end.
func BAShapes(seed uint64) (Planted, error) { return Generator{}.BAShapes(seed) }

// TreeCycles is [Generator.TreeCycles] without an end.
func TreeCycles(seed uint64) (Planted, error) { return Generator{}.TreeCycles(seed) }

// TreeGrid is [Generator.TreeGrid] without an end.
func TreeGrid(seed uint64) (Planted, error) { return Generator{}.TreeGrid(seed) }
