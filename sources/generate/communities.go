package generate

import (
	"fmt"

	"github.com/sanflow/sanflow/flow/graph"
)

// Communities returns a graph of n nodes in so many groups, and the group of each
// node: a planted partition (Condon and Karp, Algorithms for graph partitioning on
// the planted partition model, 2001) of n·inside/2 edges within groups and
// n·outside/2 between them, each drawn with equal chance. Nodes v and v+groups are
// of one group.
func Communities(n, groups, inside, outside int, seed uint64) (g *graph.Graph, group []int32, err error) {
	switch size := n / max(groups, 1); {
	case groups < 2 || n < 2*groups:
		return nil, nil, fmt.Errorf("generate: %d nodes in %d groups, want 2 groups or more, of 2 nodes or more", n, groups)
	case inside < 0 || outside < 0 || inside > (size-1)/2 || outside > (n-size)/2:
		return nil, nil, fmt.Errorf("generate: %d neighbours within and %d outside of groups of %d are too many or too few", inside, outside, size)
	}
	r := NewRand(seed)
	s := newEdgeSet()
	draw := func(left int, within bool) {
		for left > 0 {
			u, v := r.Int32N(int32(n)), r.Int32N(int32(n))
			if (u%int32(groups) == v%int32(groups)) == within && s.add(u, v) {
				left--
			}
		}
	}
	draw(n*inside/2, true)
	draw(n*outside/2, false)
	group = make([]int32, n)
	for v := range group {
		group[v] = int32(v % groups)
	}
	g, err = s.graph(n)
	return g, group, err
}
