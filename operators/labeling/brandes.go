package labeling

import (
	"math/bits"
	"sync"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// paths is a graph whose shortest paths brandes counts.
type paths struct {
	off, nbr []int32
	// members[v] is the number of graph nodes that node v represents. They have the same
	// neighbours, so a path through v has that many choices.
	members []float64
	// weight[v] is the number of nodes that node v represents as the end of a path.
	weight []float64
}

// whole returns g as paths in which every node represents itself.
func whole(g *graph.Graph) *paths {
	p := &paths{off: g.Offsets, nbr: g.Neighbors}
	for range g.N() {
		p.members = append(p.members, 1)
	}
	p.weight = p.members
	return p
}

// brandes is the state of a worker: a breadth-first search that counts shortest paths, and a sweep
// back that collects dependencies (Brandes 2001).
type brandes struct {
	*paths
	state []uint8 // unseen, ahead or met; unseen between searches
	order []int32 // nodes in the order of the search
	// next has the edges that lead to the next level. The heads of those of order[i] are
	// next[first[i]:first[i+1]].
	first, next []int32
	// sigma[v] is the number of shortest paths from the source to one node of v. It is exact below
	// 2⁵³. Beyond, the number is sigma[v]·2^exponent[v]. It is 0 between searches.
	sigma    []float64
	exponent []int
	share    []float64 // by node: dependency that it passes to each path to it, in 2⁻³²
	delta    []uint64  // by node: dependency of the source on one of its members, in 2⁻³²
	sums     []sum128  // by node: sum of dependencies

	stop  func() bool // called before every 2¹⁶-th node of a search; true ends the search
	ended bool        // stop has ended a search, whose results are invalid

	begin, back []int32 // edges by head, for recount
	terms       []float64
}

// state has one of these values for each node.
const (
	unseen = iota
	ahead  // in the next level
	met
)

var brandesPool = sync.Pool{New: func() any { return new(brandes) }}

// reset prepares b for searches on p, with sums of 0. stop may end a search.
func (b *brandes) reset(p *paths, stop func() bool) {
	n := len(p.members)
	b.paths, b.stop, b.ended = p, stop, false
	b.state, b.sigma = scratch.Resize(b.state, n), scratch.Resize(b.sigma, n)
	b.share, b.delta, b.sums = scratch.Resize(b.share, n), scratch.Resize(b.delta, n), scratch.Resize(b.sums, n)
	// The search writes one element behind the last before it decides whether to keep it.
	b.order, b.first, b.next = scratch.Resize(b.order, n+1), scratch.Resize(b.first, n+1), scratch.Resize(b.next, len(p.nbr)+1)
	clear(b.state)
	clear(b.sigma)
	clear(b.sums)
}

// put returns b to the pool.
func (b *brandes) put() {
	b.paths, b.stop = nil, nil
	brandesPool.Put(b)
}

// source adds the dependencies of source s, times times, to the sums. It returns the nodes with a
// dependency, borrowed. The cost is that of the component of s.
func (b *brandes) source(s int32, times uint64) []int32 {
	found, exact := b.search(s)
	switch {
	case b.ended:
	case exact:
		b.sweep(found)
	default:
		b.recount(found)
		b.sweepScaled(found)
	}
	if b.ended {
		return nil
	}
	order := b.order[:found]
	for _, v := range order {
		b.state[v] = unseen
		b.sigma[v] = 0
	}
	for _, v := range order[1:] {
		b.sums[v].add(b.delta[v], times)
	}
	return order[1:]
}

// stops calls stop if node i is a 2¹⁶-th one, and reports whether stop has ended the search.
func (b *brandes) stops(i int) bool {
	if i&0xffff == 0xffff && b.stop() {
		b.ended = true
	}
	return b.ended
}

// search visits the nodes by distance from s and counts shortest paths, which begin at a single
// member of s. It returns the number of visited nodes and whether all counts are exact.
//
// The inner loop has no branch on the state of a neighbour, which is unpredictable: it writes the
// neighbour and advances if the neighbour stays.
func (b *brandes) search(s int32) (found int, exact bool) {
	off, nbr, state, sigma := b.off, b.nbr, b.state, b.sigma
	order, next := b.order, b.next
	order[0], state[s], sigma[s] = s, met, 1
	found, exact = 1, true
	edges := 0
	for i, end := 0, 1; i < found && !b.stops(i); i++ {
		if i == end { // first node of a level
			for _, v := range order[i:found] {
				state[v] = met
			}
			end = found
		}
		v := order[i]
		b.first[i] = int32(edges)
		count := 1.0
		if i > 0 {
			count = sigma[v] * b.members[v]
			exact = exact && count < 1<<53
		}
		begin := edges
		for _, w := range nbr[off[v]:off[v+1]] {
			was := state[w]
			fresh, on := 0, 0
			if was == unseen {
				fresh = 1
			}
			if was < met {
				on = 1
			}
			state[w] = was | uint8(fresh)
			order[found] = w
			found += fresh
			next[edges] = w
			edges += on
		}
		for _, w := range next[begin:edges] {
			sigma[w] += count
		}
	}
	b.first[found] = int32(edges)
	return found, exact
}

// sweep collects dependencies from the farthest nodes inwards. A node divides its own pairs, and
// the dependencies collected so far, among the shortest paths to it.
func (b *brandes) sweep(found int) {
	sigma, share, next := b.sigma, b.share, b.next
	for i := found - 1; i >= 0; i-- {
		v := b.order[i]
		paths := sigma[v]
		sum := int64(0) // an integer, so that the sum does not depend on the order
		for _, w := range next[b.first[i]:b.first[i+1]] {
			sum += int64(paths*share[w] + 0.5)
		}
		b.delta[v] = uint64(sum)
		share[v] = (b.weight[v]*(1<<32) + b.members[v]*float64(sum)) / paths
	}
}

// sum128 is a sum of integer multiples of 2⁻³², independent of the order of its terms. The zero
// value is 0.
type sum128 struct{ high, low uint64 }

// add adds times · x/2³².
func (s *sum128) add(x, times uint64) {
	high, low := bits.Mul64(x, times)
	s.addSum(sum128{high, low})
}

func (s *sum128) addSum(t sum128) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, t.low, 0)
	s.high += t.high + carry
}

// quotient returns x / y rounded down to a multiple of 2⁻³². y is not 0.
func quotient(x, y uint64) sum128 {
	high := x >> 32
	low, _ := bits.Div64(high%y, x<<32, y)
	return sum128{high / y, low}
}

func (s sum128) float() float64 { return float64(s.high)*(1<<32) + float64(s.low)/(1<<32) }
