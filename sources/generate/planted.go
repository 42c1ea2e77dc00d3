package generate

import (
	"fmt"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
)

// Planted is a graph with planted copies of a motif. The motif is the known reason for the class of
// a graph or a node, which tests of explanations use.
type Planted struct {
	Graph *graph.Graph
	// Class is the class of each node: 0 outside motifs, else 1 or more, by the position in the
	// motif. Those of a house are 1 below, 2 in the middle and 3 above.
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
	at := make([]int32, base.N())
	for v := range at {
		at[v] = int32(v)
	}
	end := by.stop()
	shuffle(&end, rand.New(rand.NewPCG(seed, plantSeed)), at)
	return by.plant(base, []motif{house, cycle(5)}[class], at[:1], nil)
}

// BAShapes returns the graph of BA-Shapes (Ying and others, GNNExplainer, NeurIPS 2019): 80
// houses on a graph of 300 nodes that grew by preferential attachment of 5 edges. House i is
// joined to node 3i. The classes of nodes are 0 to 3.
//
// This graph and those of TreeCycles and TreeGrid have 1 % more edges, which are random. So
// have the code and the data of the papers. The text of the paper says a tenth of the number of
// nodes, which makes the tasks harder.
func (by Generator) BAShapes(seed uint64) (Planted, error) {
	base, err := by.PreferentialAttachment(300, 5, seed)
	if err != nil {
		return Planted{}, err
	}
	return by.plantAll(base, house, 80, false, seed)
}

// TreeCycles returns the graph of Tree-Cycles, of the same paper: 60 cycles of six nodes
// on a balanced binary tree of 511 nodes. Cycle i is joined to node 8i; one in two cycles has a
// second edge to one of the three nodes after that. The classes of nodes are 0 and 1.
func (by Generator) TreeCycles(seed uint64) (Planted, error) {
	return by.onTree(cycle(6), 60, true, seed)
}

// TreeGrid returns the graph of Tree-Grid: 80 grids of 3 × 3 nodes on the same tree. Grid i is
// joined to node 6i.
func (by Generator) TreeGrid(seed uint64) (Planted, error) {
	return by.onTree(grid3, 80, false, seed)
}

func (by Generator) onTree(m motif, copies int, second bool, seed uint64) (Planted, error) {
	const nodes = 1<<9 - 1
	var edges []graph.Edge
	for v := int32(1); v < nodes; v++ {
		edges = append(edges, graph.Edge{U: (v - 1) / 2, V: v})
	}
	base, err := graph.New(nodes, false, edges)
	if err != nil {
		return Planted{}, err
	}
	return by.plantAll(base, m, copies, second, seed)
}

// plantSeed is the second number of the seeds of places and edges.
const plantSeed = 0x70fa27

// plantAll joins copies of a motif to nodes that are equally far apart in number, with second
// some of them twice, and adds 1 % of random edges, none of them within a copy.
func (by Generator) plantAll(base *graph.Graph, m motif, copies int, second bool, seed uint64) (Planted, error) {
	at := make([]int32, copies)
	for i := range at {
		at[i] = int32(i * (base.N() / copies))
	}
	rng := rand.New(rand.NewPCG(seed, plantSeed))
	return by.plant(base, m, at, func(s *edgeSet, p Planted) {
		n, size := int32(len(p.Class)), int32(len(m.class))
		for i, v := range at {
			if second && rng.IntN(2) == 1 {
				s.add(v+1+rng.Int32N(3), int32(base.N())+int32(i)*size+1+rng.Int32N(3))
			}
		}
		for more := len(s.list) / 100; more > 0 && s.goOn(1); {
			u, v := rng.Int32N(n), rng.Int32N(n)
			if !p.InMotif(u, v) && s.add(u, v) {
				more--
			}
		}
	})
}

// plant joins a copy of a motif to each of some nodes of a graph. more, if set, adds edges.
func (by Generator) plant(base *graph.Graph, m motif, at []int32, more func(*edgeSet, Planted)) (Planted, error) {
	s, n := by.newEdgeSet(), base.N()
	p := Planted{Class: make([]int32, n), Motif: make([]int32, n)}
	for v := range int32(n) {
		p.Motif[v] = -1
		for _, u := range base.Adj(v) {
			s.add(v, u)
		}
	}
	for i, v := range at {
		first := int32(len(p.Class))
		for _, e := range m.edges {
			s.add(first+e.U, first+e.V)
		}
		s.add(v, first)
		for _, c := range m.class {
			p.Class, p.Motif = append(p.Class, c), append(p.Motif, int32(i))
		}
	}
	if more != nil {
		more(s, p)
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
