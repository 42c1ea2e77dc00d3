package labeling

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// Betweenness is exact betweenness on as many workers as there are processors.
var Betweenness = BetweennessCentrality{}

// BetweennessCentrality labels a node v with Σ σ_st(v)/σ_st over pairs s ≠ v ≠
// t, the share of shortest paths from s to t that pass through v; unordered
// pairs in an undirected graph, ordered ones, along the arcs, in a directed
// one. Not normalized.
//
// Brandes 2001 (A faster algorithm for betweenness centrality): one
// breadth-first search per source and one sweep back, O(n m). What a source
// contributes is rounded to multiples of 2⁻³² and summed as integers, so the
// result has an error below n·m·2⁻³³ in the worst case and depends neither on
// node numbers nor on the number of workers.
type BetweennessCentrality struct {
	// Workers is the number of goroutines that share the sources; 0 takes one
	// per processor for graphs large enough to gain from it. It does not
	// change the result.
	Workers int
}

// String returns "betweenness".
func (BetweennessCentrality) String() string { return "betweenness" }

// Label implements Labeling.
func (l BetweennessCentrality) Label(in Input, labels []float64) error {
	if l.Workers < 0 {
		return fmt.Errorf("%d workers, want at least 0", l.Workers)
	}
	g := in.Graph
	n := g.N()
	workers := l.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
		if n < 256 { // below, starting goroutines costs more than they save
			workers = 1
		}
	}
	in2, tails := g.Offsets, g.Neighbors
	if g.Directed {
		in2, tails, _ = g.Transpose()
	}
	searches := make([]*brandes, max(1, min(workers, n)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range searches {
		b := brandesPool.Get().(*brandes)
		b.reset(g, in2, tails)
		searches[i] = b
		work := func() {
			for s := next.Add(1) - 1; s < int64(n) && in.Err() == nil; s = next.Add(1) - 1 {
				b.source(int32(s))
			}
		}
		if i == len(searches)-1 {
			work()
			break
		}
		wg.Go(work)
	}
	wg.Wait()
	defer func() {
		for _, b := range searches {
			b.g, b.in, b.tails = nil, nil, nil
			brandesPool.Put(b)
		}
	}()
	if err := in.Err(); err != nil {
		return err
	}
	scale := 1.0
	if !g.Directed {
		scale = 0.5 // each pair was met from both ends
	}
	for v := range labels {
		var hi, lo uint64
		for _, b := range searches {
			var carry uint64
			lo, carry = bits.Add64(lo, b.low[v], 0)
			hi += b.high[v] + carry
		}
		labels[v] = scale * (float64(hi)*(1<<32) + float64(lo)/(1<<32))
	}
	return nil
}
