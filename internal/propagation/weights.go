package propagation

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// Weights returns the weights of all nodes in the row of node v after Rows: up to rounding, the new
// row is the sum of all rows times these weights. O(m) for each round.
func (w Walk) Weights(g *graph.Graph, v int32) ([]float64, error) {
	if err := w.Check(g.Directed); err != nil {
		return nil, fmt.Errorf("propagation: %w", err)
	}
	if v < 0 || int(v) >= g.N() {
		return nil, fmt.Errorf("propagation: node %d is not among the %d nodes", v, g.N())
	}
	w = w.withDefaults()
	all, now, next := make([]float64, g.N()), make([]float64, g.N()), make([]float64, g.N())
	now[v] = 1
	for range w.Rounds {
		clear(next)
		for u, x := range now {
			adj := g.Adj(int32(u))
			switch {
			case x == 0:
				continue
			case len(adj) == 0:
				all[u] += x
				continue
			}
			all[u] += (1 - w.Share) * x
			x *= w.Share * w.weight(len(adj))
			for _, to := range adj {
				if w.Symmetric {
					next[to] += x * w.weight(g.Degree(to))
				} else {
					next[to] += x
				}
			}
		}
		now, next = next, now
	}
	for u, x := range now {
		all[u] += x
	}
	return all, nil
}

// withDefaults sets Share and Rounds.
func (w Walk) withDefaults() Walk {
	w.Share = cmp.Or(w.Share, 0.9)
	w.Rounds = cmp.Or(w.Rounds, int(math.Ceil(math.Log(1./20)/math.Log(w.Share))))
	return w
}
