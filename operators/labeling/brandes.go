package labeling

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/sanflow/sanflow/flow/graph"
)

// brandes is the state of one worker of betweenness: a breadth-first search
// that counts shortest paths, and a sweep back that collects dependencies.
type brandes struct {
	g         *graph.Graph
	in, tails []int32 // rows of incoming arcs
	dist      []int32 // -1 between searches
	order     []int32 // nodes in the order in which the search met them
	// sigma[v] is the number of shortest paths from the source to v: exact
	// below 2⁵³, and times 2^exponent[v] where a search goes beyond.
	sigma    []float64
	exponent []int
	delta    []uint64 // dependency of the source on each node, in 2⁻³²
	low      []uint64 // sums of dependencies, 128 bits
	high     []uint64
	terms    []float64
}

var brandesPool = sync.Pool{New: func() any { return new(brandes) }}

func (b *brandes) reset(g *graph.Graph, in, tails []int32) {
	n := g.N()
	b.g, b.in, b.tails = g, in, tails
	b.dist = grow(b.dist, n)
	b.sigma = grow(b.sigma, n)
	b.delta = grow(b.delta, n)
	b.low = grow(b.low, n)
	b.high = grow(b.high, n)
	clear(b.low)
	clear(b.high)
	for v := range b.dist {
		b.dist[v] = -1
	}
}

// source adds the dependencies of source s to the sums. It costs what the
// component of s costs, not the graph.
func (b *brandes) source(s int32) {
	if b.search(s) {
		b.sweep()
	} else {
		b.recount()
		b.sweepScaled()
	}
	for _, w := range b.order[1:] {
		var carry uint64
		b.low[w], carry = bits.Add64(b.low[w], b.delta[w], 0)
		b.high[w] += carry
	}
	for _, v := range b.order {
		b.dist[v] = -1
	}
}

// search meets the nodes by distance from s and counts shortest paths. It
// reports whether all counts are exact.
func (b *brandes) search(s int32) (exact bool) {
	dist, sigma, delta := b.dist, b.sigma, b.delta
	order := append(b.order[:0], s)
	dist[s], sigma[s], delta[s] = 0, 1, 0
	exact = true
	for i := 0; i < len(order); i++ {
		v := order[i]
		after, paths := dist[v]+1, sigma[v]
		if paths >= 1<<53 {
			exact = false
		}
		for _, w := range b.g.Adj(v) {
			if dist[w] < 0 {
				dist[w], sigma[w], delta[w] = after, paths, 0
				order = append(order, w)
			} else if dist[w] == after {
				sigma[w] += paths
			}
		}
	}
	b.order = order
	return exact
}

// sweep collects dependencies from the farthest nodes inwards. Each node
// passes on its own pair and what it has collected, divided among its
// predecessors by their path counts.
func (b *brandes) sweep() {
	dist, sigma, delta := b.dist, b.sigma, b.delta
	for i := len(b.order) - 1; i > 0; i-- {
		w := b.order[i]
		share := (float64(delta[w]) + 1<<32) / sigma[w]
		before := dist[w] - 1
		for _, v := range b.tails[b.in[w]:b.in[w+1]] {
			if dist[v] == before {
				delta[v] += uint64(sigma[v]*share + 0.5)
			}
		}
	}
}

// recount counts shortest paths again where they passed 2⁵³: every sum is
// taken in sorted order, so that its rounding does not depend on numbers, and
// kept as a fraction and an exponent, since counts may pass 2¹⁰²³.
func (b *brandes) recount() {
	b.exponent = grow(b.exponent, b.g.N())
	b.sigma[b.order[0]], b.exponent[b.order[0]] = 1, 0
	for _, w := range b.order[1:] {
		top := math.MinInt
		tails := b.tails[b.in[w]:b.in[w+1]]
		for _, v := range tails {
			if b.dist[v] == b.dist[w]-1 {
				top = max(top, b.exponent[v])
			}
		}
		b.terms = b.terms[:0]
		for _, v := range tails {
			if b.dist[v] == b.dist[w]-1 {
				b.terms = append(b.terms, math.Ldexp(b.sigma[v], b.exponent[v]-top))
			}
		}
		slices.Sort(b.terms)
		sum := 0.0
		for _, x := range b.terms {
			sum += x
		}
		frac, exp := math.Frexp(sum)
		b.sigma[w], b.exponent[w] = frac, exp+top
	}
}

// sweepScaled is sweep on the counts of recount.
func (b *brandes) sweepScaled() {
	for i := len(b.order) - 1; i > 0; i-- {
		w := b.order[i]
		share := (float64(b.delta[w]) + 1<<32) / b.sigma[w]
		for _, v := range b.tails[b.in[w]:b.in[w+1]] {
			if b.dist[v] == b.dist[w]-1 {
				b.delta[v] += uint64(math.Ldexp(b.sigma[v]*share, b.exponent[v]-b.exponent[w]) + 0.5)
			}
		}
	}
}

// grow returns x with length n; the values are left as they come.
func grow[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n, n+n/2)
	}
	return x[:n]
}
