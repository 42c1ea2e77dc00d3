package count

import (
	"math"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Statistics counts numbers of the whole graph: nodes, edges, connected components, independent
// cycles, leaves, pairs of edges that meet, triangles, the largest degree and the largest k of
// a k-core; and as shares the edges per node, the density, the clustering (pairs of meeting
// edges closed by a third), the largest degree, leaves and components per node, and the mean
// square degree over the squared mean.
//
// A number lies in eight intervals, each two doublings long and shifted by a quarter doubling
// from the one before (tile coding: Sutton and Barto, "Reinforcement learning", 9.5.4). Each
// interval is an id that counts once. So nearer numbers share more ids, and numbers with a
// ratio of four or more share none. The number 0 has an id of its own.
//
// Attributes and directions are ignored. O(m^1.5) for the triangles; 36 bytes per node.
type Statistics struct{}

// String returns "statistics".
func (s Statistics) String() string { return describe(s) }

// Prepare implements Counter.
func (s Statistics) Prepare() (Worker, error) { return &statistics{}, nil }

type statistics struct {
	Statistics
	triangles triangles
	degree    []int32
	queue     []int32
	gone      []int32
	seen      []bool
}

var kindStatistic = Kind("statistic")

func (s *statistics) Count(in Input, bag *Bag) error {
	all, err := s.numbers(in)
	for i, x := range all {
		tile(bag, kindStatistic.Add(uint64(i)), x)
	}
	return err
}

// numbers returns the numbers of a graph, none of one without nodes.
func (s *statistics) numbers(in Input) ([]float64, error) {
	g, err := plain(in.Graph)
	if err != nil || g.N() == 0 {
		return nil, err
	}
	if err := s.triangles.count(in, g); err != nil {
		return nil, err
	}
	var leaves, largest, corners, pairs, squares float64
	for v := range int32(g.N()) {
		d := float64(g.Degree(v))
		corners += float64(s.triangles.of[v])
		pairs += d * (d - 1) / 2
		squares += d * d
		largest = max(largest, d)
		if d == 1 {
			leaves++
		}
	}
	n, m := float64(g.N()), float64(g.M())
	parts := float64(s.components(g))
	return []float64{
		n, m, parts, m - n + parts, leaves, pairs, corners / 3, largest, float64(s.core(g)),
		m / n, share(2*m, n*(n-1)), share(corners, pairs), largest / n, leaves / n, parts / n, share(squares*n, 4*m*m),
	}, nil
}

func share(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x / y
}

// tile adds the intervals that contain x. A NaN, a number that is not known, has an id
// of its own.
func tile(bag *Bag, h Hash, x float64) {
	switch {
	case math.IsNaN(x):
		bag.Add(uint64(h.Add(1<<63)), 1)
		return
	case x <= 0:
		bag.Add(uint64(h), 1)
		return
	}
	// Logarithms may differ in the last bits from one processor to the next: what is
	// on the edge of an interval is put into it everywhere.
	last := int64(math.Floor(4*math.Log2(x) + 1e-9))
	for i := last - 7; i <= last; i++ {
		bag.Add(uint64(h.Add(uint64(i))), 1)
	}
}

// components returns the number of connected components.
func (s *statistics) components(g *graph.Graph) (parts int) {
	s.seen, s.queue = scratch.Resize(s.seen, g.N()), scratch.Resize(s.queue, g.N())
	clear(s.seen)
	for v := range int32(g.N()) {
		if s.seen[v] {
			continue
		}
		parts++
		s.seen[v] = true
		left := append(s.queue[:0], v)
		for len(left) > 0 {
			u := left[len(left)-1]
			left = left[:len(left)-1]
			for _, x := range g.Adj(u) {
				if !s.seen[x] {
					s.seen[x] = true
					left = append(left, x)
				}
			}
		}
	}
	return parts
}

// core returns the largest k for which some nodes have k neighbours each among
// themselves (Seidman, "Network structure and minimum degree", 1983): nodes of
// fewer are taken away until none is left, for one k after the other.
func (s *statistics) core(g *graph.Graph) (k int) {
	s.degree, s.queue = scratch.Resize(s.degree, g.N()), scratch.Resize(s.queue, g.N())
	left := s.queue[:0] // nodes that are there, all of degree k or more
	for v := range int32(g.N()) {
		s.degree[v] = int32(g.Degree(v))
		left = append(left, v)
	}
	for ; len(left) > 0; k++ {
		stay := left[:0]
		gone := s.gone[:0]
		for _, v := range left {
			if s.degree[v] > int32(k) {
				stay = append(stay, v)
			} else if s.degree[v] >= 0 {
				gone = append(gone, v)
				s.degree[v] = -1
			}
		}
		for len(gone) > 0 {
			v := gone[len(gone)-1]
			gone = gone[:len(gone)-1]
			for _, u := range g.Adj(v) {
				if s.degree[u] < 0 {
					continue
				}
				if s.degree[u]--; s.degree[u] <= int32(k) {
					s.degree[u] = -1
					gone = append(gone, u)
				}
			}
		}
		s.gone = gone
		next := stay[:0]
		for _, v := range stay {
			if s.degree[v] >= 0 {
				next = append(next, v)
			}
		}
		if left = next; len(left) == 0 {
			return k
		}
	}
	return k
}
