package theta

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// root is a node of a graph of the collection.
type root struct{ graph, node int32 }

// draw returns Options.Pairs pairs of roots, each root uniformly from all nodes
// of the collection.
func draw(graphs []*graph.Graph, o Options) ([][2]root, error) {
	ends := make([]int64, len(graphs)) // of each graph's nodes, all counted through
	total := int64(0)
	for i, g := range graphs {
		if g == nil {
			return nil, errors.New("theta: a graph is nil")
		}
		total += int64(g.N())
		ends[i] = total
	}
	if total == 0 {
		return nil, errors.New("theta: no graph has a node")
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x7e7a)) // a stream of its own under the seed
	pairs := make([][2]root, o.Pairs)
	for i := range pairs {
		for j := range pairs[i] {
			x := rng.Int64N(total)
			g, _ := slices.BinarySearch(ends, x+1)
			pairs[i][j] = root{int32(g), int32(x - ends[g] + int64(graphs[g].N()))}
		}
	}
	return pairs, nil
}
