package labeling

import (
	"github.com/sanflow/sanflow/internal/pool"
)

// Betweenness labels a node v with Σ σ_st(v)/σ_st over pairs s ≠ v ≠
// t, the share of shortest paths from s to t that pass through v; unordered
// pairs in an undirected graph, ordered ones, along the arcs, in a directed
// one. Not normalized.
//
// Brandes 2001 (A faster algorithm for betweenness centrality): one
// breadth-first search per source and one sweep back, O(n m). Undirected graphs
// are first taken apart at their cut nodes and nodes with the same neighbours
// merged (Puzis et al. 2012, Heuristics for speeding up betweenness centrality
// computation), which changes nothing in the result and leaves, for Σ over the
// biconnected components, O(classes of nodes · edges between classes).
//
// What a source contributes is rounded to multiples of 2⁻³² and summed as
// integers, so the result has an error below n·m·2⁻³³ in the worst case, and
// depends neither on node numbers nor on the number of workers.
//
// Package network of gonum has betweenness too; it takes its graphs through an
// interface, returns a map, and sums in an order that changes from run to run.
var Betweenness Labeling = betweenness{}

type betweenness struct{}

func (betweenness) String() string { return "betweenness" }

func (betweenness) Label(in Input, labels []float64) error {
	if err := in.Err(); err != nil {
		return err
	}
	if in.Graph.Directed {
		return directedBetweenness(in, labels)
	}
	r := reductionPool.Get().(*reduction)
	defer reductionPool.Put(r)
	if err := r.reset(in); err != nil {
		return err
	}
	if err := searchAll(in, &r.paths, r.sources, r.sums); err != nil {
		return err
	}
	r.label(labels)
	return nil
}

func directedBetweenness(in Input, labels []float64) error {
	p := whole(in.Graph)
	sums := make([]sum128, len(labels))
	if err := searchAll(in, p, nil, sums); err != nil {
		return err
	}
	for v, s := range sums {
		labels[v] = s.float()
	}
	return nil
}

// searchAll adds to sums the dependencies of each node v of p as a source, times[v] times, or once
// if times is nil.
func searchAll(in Input, p *paths, times []uint64, sums []sum128) error {
	n := len(sums)
	workers := 0 // one for each processor
	if n < 256 { // below this size starting goroutines costs more than it saves
		workers = 1
	}
	searches := make([]*brandes, pool.Workers(workers, n))
	stop := func() bool { return in.Err() != nil }
	err := in.each(workers, n, func(worker, s int) {
		b := searches[worker]
		if b == nil {
			b = brandesPool.Get().(*brandes)
			b.reset(p, stop)
			searches[worker] = b
		}
		t := uint64(1)
		if times != nil {
			t = times[s]
		}
		b.source(int32(s), t)
	})
	if err != nil {
		return err
	}
	addUp(searches, sums)
	return nil
}

// addUp adds the sums of the workers to sums. A worker without a source is nil.
func addUp(searches []*brandes, sums []sum128) {
	for _, b := range searches {
		if b == nil {
			continue
		}
		for v := range sums {
			sums[v].addSum(b.sums[v])
		}
		b.put()
	}
}
