package labeling

import "fmt"

// PageRank is PageRank with damping 0.85.
var PageRank = PageRankCentrality{}

// PageRankCentrality labels a node with the probability that a random walk is
// there: with probability Damping the walk takes one of the edges, or leaving
// arcs, of its node, otherwise, or where there is none, it jumps to any node
// (Page, Brin, Motwani and Winograd 1999).
//
// In whole multiples of 2⁻⁶⁰, whose sums do not depend on the order, until the
// change of all labels together is below 10⁻⁹; ErrNotConverged after 10000
// rounds. O(m) a round. Directed graphs take power iteration, 130 rounds at most
// with the default; undirected ones, whose walks have real eigenvalues,
// Chebyshev's semi-iteration (Golub and Varga 1961), 40.
//
// Package network of gonum has PageRank of directed graphs only, with labels
// that depend on numbering in their last digits.
type PageRankCentrality struct {
	// Damping is in [0, 1); 0 means 0.85.
	Damping float64
}

// String returns "pagerank", with a damping that is not the default.
func (l PageRankCentrality) String() string { return describe("pagerank", PageRank, l) }

// Label implements Labeling.
func (l PageRankCentrality) Label(in Input, labels []float64) error {
	damping := l.Damping
	if damping == 0 {
		damping = 0.85
	}
	if !(damping > 0 && damping < 1) {
		return fmt.Errorf("damping %v, want at least 0 and below 1", l.Damping)
	}
	const one = 1 << 60
	g, n := in.Graph, len(labels)
	if n == 0 {
		return nil
	}
	off, tails := g.Offsets, g.Neighbors
	if g.Directed {
		off, tails, _ = g.Transpose()
	}
	rank, before, share := make([]int64, n), make([]int64, n), make([]int64, n)
	for v := range rank {
		rank[v] = one / int64(n)
	}
	omega := 1.0
	for round := range maxRounds {
		if err := in.Err(); err != nil {
			return err
		}
		stuck := int64(0) // mass on nodes without a way out
		for u, x := range rank {
			if d := g.Degree(int32(u)); d > 0 {
				share[u] = x / int64(d)
			} else {
				stuck += x
			}
		}
		base := (1 - damping) * one / float64(n)
		if g.Directed {
			base += damping * float64(stuck) / float64(n)
		} else if round > 0 {
			// What is stuck is left out: it would add to all ranks in
			// proportion, and they are scaled in the end.
			omega = 1 / (1 - damping*damping*omega/4)
			if round == 1 {
				omega = 1 / (1 - damping*damping/2)
			}
		}
		change := int64(0)
		for v, old := range rank {
			sum := int64(0)
			for _, u := range tails[off[v]:off[v+1]] {
				sum += share[u]
			}
			x := base + damping*float64(sum)
			if omega != 1 {
				x = float64(before[v]) + omega*(x-float64(before[v]))
			}
			before[v] = int64(x)
			change += max(before[v], old) - min(before[v], old)
		}
		rank, before = before, rank
		if change < one/1_000_000_000 {
			total := int64(0)
			for _, x := range rank {
				total += x
			}
			for v, x := range rank {
				labels[v] = float64(x) / float64(total)
			}
			return nil
		}
	}
	return ErrNotConverged
}
