package labeling

import (
	"fmt"
	"sync/atomic"
)

// PageRank is PageRank with damping 0.85.
var PageRank = PageRankCentrality{}

// PageRankCentrality labels a node with the probability that a random walk is
// there: with probability Damping the walk takes one of the edges, or leaving
// arcs, of its node, otherwise, or if there is none, it jumps to any node
// (Page, Brin, Motwani and Winograd 1999).
//
// In whole multiples of 2⁻⁶⁰, whose sums do not depend on the order, until the
// change of all labels together is below 10⁻⁹; an error after 10000
// rounds. O(m) a round. Directed graphs take power iteration, 130 rounds at most
// with the default; undirected ones, whose walks have real eigenvalues,
// Chebyshev's semi-iteration (Golub and Varga 1961), 40. Memory: 24 bytes a node,
// and for a directed graph 8 an arc.
//
// Package network of gonum has PageRank of directed graphs only, with labels
// that depend on numbering in their last digits.
type PageRankCentrality struct {
	// Damping is in [0, 1); 0 means 0.85.
	Damping float64
}

// String returns "pagerank", with a damping that is not the default.
func (l PageRankCentrality) String() string { return language.Describe("pagerank", PageRank, l) }

// Label implements Labeling.
func (l PageRankCentrality) Label(in Input, labels []float64) error {
	damping := l.Damping
	if damping == 0 {
		damping = 0.85
	}
	switch {
	case !(damping > 0 && damping < 1):
		return fmt.Errorf("damping %v, want at least 0 and below 1", l.Damping)
	case len(labels) == 0:
		return nil
	}
	r := newRanking(in, damping, workersFor(len(labels)))
	for round := range maxRounds {
		change, err := r.round(round)
		if err != nil {
			return err
		}
		if change < one/1_000_000_000 {
			r.label(labels)
			return nil
		}
	}
	return errNotConverged
}

// one represents the label 1 in fixed-point numbers, whose sums do not depend on the order.
const one = 1 << 60

// ranking is the state of the iteration of PageRank. Ranks are multiples of 1/one.
type ranking struct {
	Input
	damping float64
	workers int
	omega   float64
	// off and tails are the rows of incoming arcs.
	off, tails          []int32
	rank, before, share []int64
}

func newRanking(in Input, damping float64, workers int) *ranking {
	g := in.Graph
	n := g.N()
	r := &ranking{
		Input: in, damping: damping, workers: workers, omega: 1, off: g.Offsets, tails: g.Neighbors,
		rank: make([]int64, n), before: make([]int64, n), share: make([]int64, n),
	}
	if g.Directed {
		r.off, r.tails, _ = g.Transpose()
	}
	for v := range r.rank {
		r.rank[v] = one / int64(n)
	}
	return r
}

// round computes the next ranks and returns the sum of their changes.
func (r *ranking) round(round int) (int64, error) {
	g, damping := r.Graph, r.damping
	var stuck atomic.Int64 // mass on nodes without leaving arcs
	err := r.pieces(r.workers, len(r.rank), func(begin, end int) {
		lost := int64(0)
		for u := begin; u < end; u++ {
			if d := g.Degree(int32(u)); d > 0 {
				r.share[u] = r.rank[u] / int64(d)
			} else {
				lost += r.rank[u]
			}
		}
		stuck.Add(lost)
	})
	if err != nil {
		return 0, err
	}
	base := (1 - damping) * one / float64(len(r.rank))
	if g.Directed {
		base += damping * float64(stuck.Load()) / float64(len(r.rank))
	} else if round > 0 {
		// Mass on nodes without leaving arcs is left out: it would add to all ranks in proportion,
		// and label scales them.
		r.omega = 1 / (1 - damping*damping*r.omega/4)
		if round == 1 {
			r.omega = 1 / (1 - damping*damping/2)
		}
	}
	var change atomic.Int64
	err = r.pieces(r.workers, len(r.rank), func(begin, end int) { change.Add(r.collect(base, begin, end)) })
	r.rank, r.before = r.before, r.rank
	return change.Load(), err
}

// collect writes the next ranks of the nodes begin … end-1 over the ranks before the last. It
// returns the sum of their changes.
func (r *ranking) collect(base float64, begin, end int) int64 {
	change, share := int64(0), r.share
	for v := begin; v < end; v++ {
		sum := int64(0)
		for _, u := range r.tails[r.off[v]:r.off[v+1]] {
			sum += share[u]
		}
		old, last := r.rank[v], r.before[v]
		x := base + r.damping*float64(sum)
		if r.omega != 1 {
			x = float64(last) + r.omega*(x-float64(last))
		}
		r.before[v] = int64(x)
		change += max(r.before[v], old) - min(r.before[v], old)
	}
	return change
}

// label writes the ranks scaled to a sum of 1.
func (r *ranking) label(labels []float64) {
	total := int64(0)
	for _, x := range r.rank {
		total += x
	}
	for v, x := range r.rank {
		labels[v] = float64(x) / float64(total)
	}
}
