package canon

import (
	"fmt"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// Form returns the canonical order of g: order[i] is the node at position i. colors has one colour
// per node, smaller first, or is nil. The entry of the matrix for an edge or arc is 1 plus its
// type: the rank of its attributes among the distinct ones in g, discrete before continuous and in
// ascending order. Node attributes enter only through colors. It takes O(n²) memory. A graph with
// more than 65535 edge types is an error.
func Form(g *graph.Graph, colors []int32) (order []int32, q Quality, err error) {
	var s Solver
	return s.Graph(g, colors)
}

// Graph is Form with the memory and the budget of s. order is borrowed until
// the next call.
func (s *Solver) Graph(g *graph.Graph, colors []int32) (order []int32, q Quality, err error) {
	n := g.N()
	if colors != nil && len(colors) != n {
		return nil, 0, fmt.Errorf("canon: %d colours, want one for each of the %d nodes", len(colors), n)
	}
	if n <= 64 && !g.Directed && g.EdgeCats+g.EdgeAttrs == 0 {
		rows := make([]uint64, n)
		for v := range rows {
			for _, u := range g.Adj(int32(v)) {
				rows[v] |= 1 << u
			}
		}
		order, q = s.Bits(rows, colors)
		return order, q, nil
	}
	codes, err := Codes(g)
	if err != nil {
		return nil, 0, err
	}
	order, q = s.Matrix(n, codes, colors)
	return order, q, nil
}

// Codes returns the matrix of g, (n, n), row-major, in the order of the node
// numbers: 0 if there is no edge, 1 plus the type of the edge otherwise, as
// Form ranks it.
func Codes(g *graph.Graph) ([]uint16, error) {
	n := g.N()
	codes := make([]uint16, n*n)
	var types []uint32
	if g.EdgeCats+g.EdgeAttrs > 0 {
		var order []int32
		types = refine.EdgeTypes(g, nil, &order)
	}
	for u := range int32(n) {
		for i := g.Offsets[u]; i < g.Offsets[u+1]; i++ {
			code := uint32(1)
			if types != nil {
				code += types[i]
			}
			if code > 65535 {
				return nil, fmt.Errorf("canon: more than %d edge types", 65535)
			}
			codes[int(u)*n+int(g.Neighbors[i])] = uint16(code)
		}
	}
	return codes, nil
}
