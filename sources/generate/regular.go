package generate

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// maxNodes keeps products of sizes within 32 bits.
const maxNodes = 1 << 28

func size(what string, rows, cols, least int) error {
	if rows < least || cols < least {
		return fmt.Errorf("generate: %s of %d × %d, want at least %d × %d", what, rows, cols, least, least)
	}
	if rows > maxNodes/cols {
		return fmt.Errorf("generate: %s of %d × %d, want at most %d nodes", what, rows, cols, maxNodes)
	}
	return nil
}

// Grid returns the grid of rows × cols nodes in row-major order, as the pixels
// of an image: each node is joined to those left, right, above and below it,
// and to those at its corners. Both sizes are at least 1.
//
//	0 ─ 1 ─ 2
//	│ ╳ │ ╳ │
//	3 ─ 4 ─ 5
func Grid(rows, cols int) (*graph.Graph, error) {
	if err := size("grid", rows, cols, 1); err != nil {
		return nil, err
	}
	var edges []graph.Edge
	for r := 0; r < rows; r++ {
		for c := range cols {
			for _, to := range [][2]int{{r, c + 1}, {r + 1, c - 1}, {r + 1, c}, {r + 1, c + 1}} {
				if to[0] < rows && to[1] >= 0 && to[1] < cols {
					edges = append(edges, graph.Edge{U: int32(r*cols + c), V: int32(to[0]*cols + to[1])})
				}
			}
		}
	}
	return graph.New(rows*cols, false, edges)
}

// Torus returns the grid of rows × cols nodes, row-major, whose opposite
// borders are joined: every node has 4 neighbours. Both sizes are at least 3.
func Torus(rows, cols int) (*graph.Graph, error) {
	if err := size("torus", rows, cols, 3); err != nil {
		return nil, err
	}
	edges := make([]graph.Edge, 0, 2*rows*cols)
	for r := 0; r < rows; r++ {
		for c := range cols {
			v := int32(r*cols + c)
			right := int32(r*cols + (c+1)%cols)
			below := int32((r+1)%rows*cols + c)
			edges = append(edges, graph.Edge{U: v, V: right}, graph.Edge{U: v, V: below})
		}
	}
	return graph.New(rows*cols, false, edges)
}

// RingOfCliques returns cliques complete graphs of size nodes each, joined in a
// ring: the last node of a clique to the first of the next. There are at least
// 3 cliques of at least 2 nodes.
func RingOfCliques(cliques, size int) (*graph.Graph, error) {
	switch {
	case cliques < 3 || size < 2:
		return nil, fmt.Errorf("generate: ring of %d cliques of %d nodes, want at least 3 of 2", cliques, size)
	case size > math.MaxInt16 || cliques > maxNodes/(size*size):
		return nil, fmt.Errorf("generate: ring of %d cliques of %d nodes is too large", cliques, size)
	}
	var edges []graph.Edge
	n := cliques * size
	for first := 0; first < n; first += size {
		for u := first; u < first+size; u++ {
			for v := u + 1; v < first+size; v++ {
				edges = append(edges, graph.Edge{U: int32(u), V: int32(v)})
			}
		}
		edges = append(edges, graph.Edge{U: int32(first + size - 1), V: int32((first + size) % n)})
	}
	return graph.New(n, false, edges)
}
