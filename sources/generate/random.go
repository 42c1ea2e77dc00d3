package generate

import (
	"fmt"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
)

// NewRand returns the generator of random numbers of a seed.
func NewRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5a4f10)) }

// pair is an undirected edge in its canonical form: the smaller end first.
func pair(u, v int32) graph.Edge {
	if u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

// edgeSet is a set of edges with random access by index.
type edgeSet struct {
	list []graph.Edge
	has  map[graph.Edge]bool
}

func newEdgeSet() *edgeSet {
	return &edgeSet{has: map[graph.Edge]bool{}}
}

// add adds u–v. It reports false for a self-loop and for an edge of the set.
func (s *edgeSet) add(u, v int32) bool {
	e := pair(u, v)
	if u == v || s.has[e] {
		return false
	}
	s.list, s.has[e] = append(s.list, e), true
	return true
}

// set replaces edge i by u–v.
func (s *edgeSet) set(i int, u, v int32) {
	delete(s.has, s.list[i])
	s.list[i] = pair(u, v)
	s.has[s.list[i]] = true
}

func (s *edgeSet) remove(i int) {
	delete(s.has, s.list[i])
	last := len(s.list) - 1
	s.list[i] = s.list[last]
	s.list = s.list[:last]
}

func (s *edgeSet) graph(n int) (*graph.Graph, error) { return graph.New(n, false, s.list) }

// ErdosRenyi returns a graph of n nodes and m edges, drawn from all such graphs
// with equal chance: the model G(n, m).
func ErdosRenyi(n, m int, seed uint64) (*graph.Graph, error) {
	if n < 0 || n > maxNodes || m < 0 || m > maxNodes || m > n*(n-1)/2 {
		return nil, fmt.Errorf("generate: random graph of %d nodes and %d edges: there is none", n, m)
	}
	rng, s := NewRand(seed), newEdgeSet()
	s.fill(n, m, rng)
	return s.graph(n)
}

// fill adds random edges until there are m. Rejection sampling is slow for dense graphs. If m exceeds half of
// all pairs, fill shuffles a list of the free pairs instead.
func (s *edgeSet) fill(n, m int, rng *rand.Rand) {
	if pairs := n * (n - 1) / 2; m > pairs/2 {
		free := make([]graph.Edge, 0, pairs-len(s.list))
		for u := int32(0); u < int32(n); u++ {
			for v := u + 1; v < int32(n); v++ {
				if e := (graph.Edge{U: u, V: v}); !s.has[e] {
					free = append(free, e)
				}
			}
		}
		rng.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
		for len(s.list) < m && len(free) > 0 {
			s.add(free[0].U, free[0].V)
			free = free[1:]
		}
		return
	}
	for len(s.list) < m {
		s.add(rng.Int32N(int32(n)), rng.Int32N(int32(n)))
	}
}

// RandomRegular returns a graph of n nodes with d neighbours each; d < n and n·d is even. It starts
// from a ring in which each node is joined to its d nearest, and swaps the ends of 20·n·d random
// pairs of edges, which keeps all degrees: a Markov chain whose limit is uniform over these graphs.
func RandomRegular(n, d int, seed uint64) (*graph.Graph, error) {
	if n < 0 || d < 0 || d >= n && d > 0 || n*d%2 != 0 || n > maxNodes/max(d, 1) {
		return nil, fmt.Errorf("generate: %d nodes with %d neighbours each: there is no such graph", n, d)
	}
	rng, s := NewRand(seed), newEdgeSet()
	for v := 0; v < n; v++ {
		for step := 1; step <= d/2; step++ {
			s.add(int32(v), int32((v+step)%n))
		}
		if d%2 == 1 && v < n/2 {
			s.add(int32(v), int32(v+n/2))
		}
	}
	for left := 20 * n * d; left > 0; left-- {
		i, j := rng.IntN(len(s.list)), rng.IntN(len(s.list))
		a, b := s.list[i], s.list[j]
		if rng.IntN(2) == 1 {
			b.U, b.V = b.V, b.U
		}
		// Swap: a.U–a.V and b.U–b.V become a.U–b.V and b.U–a.V.
		if a.U == b.V || b.U == a.V || s.has[pair(a.U, b.V)] || s.has[pair(b.U, a.V)] {
			continue
		}
		s.set(i, a.U, b.V)
		s.set(j, b.U, a.V)
	}
	return s.graph(n)
}

// PreferentialAttachment returns a graph of n nodes that grew from a clique of
// m+1: each newcomer is joined to m different nodes, chosen in proportion to
// their degree (Barabási and Albert, Emergence of scaling in random networks,
// Science 1999). 1 ≤ m < n.
func PreferentialAttachment(n, m int, seed uint64) (*graph.Graph, error) {
	if m < 1 || m >= n || n > maxNodes/m {
		return nil, fmt.Errorf("generate: preferential attachment of %d nodes by %d edges, want 1 ≤ edges < nodes, and nodes times edges at most %d", n, m, maxNodes)
	}
	rng, s := NewRand(seed), newEdgeSet()
	var ends []int32 // ends of all edges: a node occurs as often as its degree
	join := func(u, v int32) bool {
		if !s.add(u, v) {
			return false
		}
		ends = append(ends, u, v)
		return true
	}
	for u := int32(0); u <= int32(m); u++ {
		for v := range u {
			join(u, v)
		}
	}
	for u := int32(m + 1); u < int32(n); u++ {
		old := len(ends) // edges of the new node are not drawn from
		for left := m; left > 0; {
			if join(u, ends[rng.IntN(old)]) {
				left--
			}
		}
	}
	return s.graph(n)
}

// SmallWorld returns a ring of n nodes, each joined to the nearest d, in which
// every edge was moved with the given chance: one end stays, the other becomes
// a random node (Watts and Strogatz, Collective dynamics of small-world
// networks, Nature 1998). d is even, 2 ≤ d < n, and 0 ≤ chance ≤ 1.
func SmallWorld(n, d int, chance float64, seed uint64) (*graph.Graph, error) {
	if d < 2 || d%2 != 0 || d >= n || n > maxNodes/d || !(chance >= 0 && chance <= 1) {
		return nil, fmt.Errorf("generate: small world of %d nodes, %d neighbours, chance %g: want even neighbours below the nodes, and a chance in 0 to 1", n, d, chance)
	}
	rng, s := NewRand(seed), newEdgeSet()
	for step := 1; step <= d/2; step++ {
		for v := 0; v < n; v++ {
			s.add(int32(v), int32((v+step)%n))
		}
	}
	// The loops above append edge i as an edge of node i mod n.
	for i := 0; i < len(s.list); i++ {
		u, v := int32(i%n), rng.Int32N(int32(n))
		if rng.Float64() < chance && u != v && !s.has[pair(u, v)] {
			s.set(i, u, v)
		}
	}
	return s.graph(n)
}

// Disturb returns a copy of g, without attributes, in which the given fraction
// of the edges was taken away at random, and random ones added until there are
// m; if there are more than m without that, more are taken away.
func Disturb(g *graph.Graph, fraction float64, m int, seed uint64) (*graph.Graph, error) {
	n := g.N()
	if g.Directed || !(fraction >= 0 && fraction <= 1) || m < 0 || m > n*(n-1)/2 {
		return nil, fmt.Errorf("generate: disturb %g of the edges of %d nodes to have %d: directed graph, fraction outside 0 to 1, or too many edges", fraction, n, m)
	}
	rng, s := NewRand(seed), newEdgeSet()
	for u := int32(0); u < int32(n); u++ {
		for _, v := range g.Adj(u) {
			if u < v {
				s.add(u, v)
			}
		}
	}
	for keep := min(m, len(s.list)-int(fraction*float64(len(s.list)))); len(s.list) > keep; {
		s.remove(rng.IntN(len(s.list)))
	}
	s.fill(n, m, rng)
	return s.graph(n)
}
