package labeling

import (
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// bothWays returns the rows of g with the direction of arcs ignored: those of g
// itself where it is undirected. O(n + m).
func bothWays(g *graph.Graph) (offsets, neighbors []int32, err error) {
	if !g.Directed {
		return g.Offsets, g.Neighbors, nil
	}
	if err := bothFit(len(g.Neighbors)); err != nil {
		return nil, nil, err
	}
	in, tails, _ := g.Transpose()
	offsets = make([]int32, g.N()+1)
	neighbors = make([]int32, 0, len(tails))
	for v := range int32(g.N()) {
		begin := len(neighbors)
		neighbors = append(neighbors, g.Adj(v)...)
		neighbors = append(neighbors, tails[in[v]:in[v+1]]...)
		slices.Sort(neighbors[begin:])
		neighbors = neighbors[:begin+len(slices.Compact(neighbors[begin:]))]
		offsets[v+1] = int32(len(neighbors))
	}
	return offsets, neighbors, nil
}

// bothFit reports whether rows with each arc at both its ends have 32-bit offsets.
func bothFit(arcs int) error {
	if arcs > math.MaxInt32/2 {
		return fmt.Errorf("%d arcs, want at most %d: rows have 32-bit offsets", arcs, math.MaxInt32/2)
	}
	return nil
}
