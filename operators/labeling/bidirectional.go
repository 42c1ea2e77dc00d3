package labeling

import (
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/sanflow/sanflow/flow/graph"
)

// ends are the rows that a search follows from the first and from the last node
// of a path.
type ends [2]struct{ off, nbr []int32 }

func newEnds(g *graph.Graph) (e ends) {
	e[0].off, e[0].nbr = g.Offsets, g.Neighbors
	e[1] = e[0]
	if g.Directed {
		e[1].off, e[1].nbr, _ = g.Transpose()
	}
	return e
}

func (e *ends) row(side int, v int32) []int32 {
	return e[side].nbr[e[side].off[v]:e[side].off[v+1]]
}

// pathSampler draws shortest paths. It searches from both ends by turns, the end
// whose nodes have fewer neighbours first, so that a path between two nodes near
// hubs costs the rows of few of these (Borassi and Natale 2016).
type pathSampler struct {
	Input
	ends
	counts []atomic.Int32 // by node: paths through it
	// level[v] is one plus the distance of v to the first node, minus one minus
	// that to the last one, and 0 where the search has not been.
	level []int32
	// sigma[v] counts the shortest paths to v from its end, in units of the
	// level: of torus-like graphs no number would hold them.
	sigma  []float64
	nodes  [2][]int32 // as they are met
	begin  [2]int     // of the last level
	volume [2]int     // entries of the rows of the last level
	rng    *rand.Rand
	// One of the edges where the two searches meet, as likely as the paths that
	// take it, and the number of paths over all of them.
	meeting [2]int32
	total   float64
}

func newPathSampler(in Input, e ends, counts []atomic.Int32) *pathSampler {
	n := in.Graph.N()
	return &pathSampler{Input: in, ends: e, counts: counts, level: make([]int32, n), sigma: make([]float64, n)}
}

// sample counts the inner nodes of a random shortest path between two random
// nodes, if there is one.
func (p *pathSampler) sample(rng *rand.Rand) {
	n := len(p.level)
	first := int32(rng.IntN(n))
	last := int32(rng.IntN(n - 1))
	if last >= first {
		last++
	}
	p.rng, p.total = rng, 0
	for side, v := range [2]int32{first, last} {
		p.nodes[side] = append(p.nodes[side][:0], v)
		p.begin[side], p.volume[side] = 0, len(p.row(side, v))
		p.level[v], p.sigma[v] = int32(1-2*side), 1
	}
	for p.total == 0 {
		side := 0
		if p.volume[1] < p.volume[0] {
			side = 1
		}
		if p.volume[side] == 0 || !p.expand(side) {
			break
		}
	}
	if p.total > 0 {
		p.back(0)
		p.back(1)
	}
	for _, nodes := range p.nodes {
		for _, v := range nodes {
			p.level[v] = 0
		}
	}
}

// expand goes one level on from an end. It reports false once the context has
// ended.
//
// If it meets what was met from the other end, that is the last level there:
// a shorter path would have been found before. Every shortest path has one such
// edge.
func (p *pathSampler) expand(side int) bool {
	level, sigma := p.level, p.sigma
	begin, end := p.begin[side], len(p.nodes[side])
	sign := int32(1 - 2*side)
	next := level[p.nodes[side][begin]] + sign
	volume, most, steps := 0, 0.0, 0
	for _, u := range p.nodes[side][begin:end] {
		row, paths := p.row(side, u), sigma[u]
		if steps += len(row); steps > 1<<20 {
			if steps = 0; p.Err() != nil {
				p.total = 0
				return false
			}
		}
		for _, w := range row {
			switch x := level[w]; {
			case x == 0:
				level[w], sigma[w] = next, paths
				p.nodes[side] = append(p.nodes[side], w)
				volume += len(p.row(side, w))
				most = max(most, paths)
			case x == next:
				sigma[w] += paths
				most = max(most, sigma[w])
			case (x < 0) != (sign < 0):
				weight := paths * sigma[w]
				p.total += weight
				if p.rng.Float64()*p.total < weight {
					p.meeting[side], p.meeting[1-side] = u, w
				}
			}
		}
	}
	p.begin[side], p.volume[side] = end, volume
	if most > 0x1p400 {
		for _, w := range p.nodes[side][end:] {
			sigma[w] = math.Ldexp(sigma[w], -400)
		}
	}
	return true
}

// back counts the nodes of the path from where the searches met to one end, the
// end left out: from each to one of those before it, as likely as the paths that
// lead there.
func (p *pathSampler) back(side int) {
	sign := int32(1 - 2*side)
	for v := p.meeting[side]; p.level[v] != sign; {
		p.counts[v].Add(1)
		total, before := 0.0, p.level[v]-sign
		at := v
		for _, u := range p.row(1-side, v) {
			if p.level[u] == before {
				total += p.sigma[u]
				if p.rng.Float64()*total < p.sigma[u] {
					at = u
				}
			}
		}
		if at == v {
			return // rows that contradict each other: a damaged graph
		}
		v = at
	}
}
