package labeling

import (
	"errors"
	"slices"
)

// ErrNotConverged is returned by Eigenvector where the two greatest eigenvalues
// of the graph are too close to each other for power iteration, as in a long path
// or in some directed graphs.
var ErrNotConverged = errors.New("no convergence after 10000 rounds")

// Eigenvector labels nodes with the eigenvector of the greatest eigenvalue of the
// adjacency matrix, the largest entry scaled to 1 (Bonacich 1972); in a directed
// graph a node collects from the arcs that arrive. Power iteration on A + I, which
// has the same eigenvector and does not alternate on bipartite graphs, in whole
// multiples of 2⁻³⁰, whose sums do not depend on the order, until no entry
// changes by more than 2⁻²⁶; ErrNotConverged after 10000 rounds. O(m) a round.
var Eigenvector Labeling = eigenvector{}

type eigenvector struct{}

func (eigenvector) String() string { return "eigenvector" }

func (eigenvector) Label(in Input, labels []float64) error {
	const one, tolerance = 1 << 30, 1 << 4
	g, n := in.Graph, len(labels)
	if n == 0 {
		return nil
	}
	x, y := make([]uint64, n), make([]uint64, n)
	for v := range x {
		x[v] = one
	}
	for range 10000 {
		if err := in.Err(); err != nil {
			return err
		}
		copy(y, x)
		for u := range int32(n) {
			for _, v := range g.Adj(u) {
				y[v] += x[u]
			}
		}
		scale := one / float64(slices.Max(y))
		var change uint64
		for v := range y {
			y[v] = uint64(float64(y[v])*scale + 0.5)
			change = max(change, max(x[v], y[v])-min(x[v], y[v]))
		}
		x, y = y, x
		if change <= tolerance {
			for v := range labels {
				labels[v] = float64(x[v]) / one
			}
			return nil
		}
	}
	return ErrNotConverged
}
