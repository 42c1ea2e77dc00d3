package labeling

import "fmt"

// PageRank is PageRank with damping 0.85.
var PageRank = PageRankCentrality{}

// PageRankCentrality labels a node with the probability that a random walk is
// there: with probability Damping the walk takes one of the edges, or leaving
// arcs, of its node, otherwise, or where there is none, it jumps to any node
// (Page, Brin, Motwani and Winograd 1999). Power iteration in whole multiples of
// 2⁻⁶⁰, whose sums do not depend on the order, until the change of all labels
// together is below 10⁻⁹, after at most 1000 rounds. O(m) a round.
type PageRankCentrality struct {
	// Damping is in [0, 1); 0 means 0.85.
	Damping float64
}

// String returns "pagerank".
func (PageRankCentrality) String() string { return "pagerank" }

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
	rank, next := make([]uint64, n), make([]uint64, n)
	for v := range rank {
		rank[v] = one / uint64(n)
	}
	for range 1000 {
		if err := in.Err(); err != nil {
			return err
		}
		clear(next)
		var stuck uint64 // mass on nodes without a way out
		for u := range int32(n) {
			row := g.Adj(u)
			if len(row) == 0 {
				stuck += rank[u]
				continue
			}
			share := rank[u] / uint64(len(row))
			for _, v := range row {
				next[v] += share
			}
		}
		base := uint64((1-damping)*one/float64(n) + damping*float64(stuck)/float64(n))
		var change uint64
		for v := range next {
			next[v] = base + uint64(damping*float64(next[v]))
			change += max(next[v], rank[v]) - min(next[v], rank[v])
		}
		rank, next = next, rank
		if change < one/1_000_000_000 {
			break
		}
	}
	for v := range labels {
		labels[v] = float64(rank[v]) / one
	}
	return nil
}
