package count

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/labeling"
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
	queue     []int32
	cores     []float64
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

// numbers returns the statistics of a graph in the order of their ids. A graph without nodes has none.
func (s *statistics) numbers(in Input) ([]float64, error) {
	g, err := plain(in.Graph)
	if err != nil || g.N() == 0 {
		return nil, err
	}
	if err := s.triangles.count(in, g); err != nil {
		return nil, err
	}
	s.cores = scratch.Resize(s.cores, g.N())
	if err := labeling.Core.Label(labeling.Input{Graph: g, Context: in.Context}, s.cores); err != nil {
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
		n, m, parts, m - n + parts, leaves, pairs, corners / 3, largest, slices.Max(s.cores),
		m / n, share(2*m, n*(n-1)), share(corners, pairs), largest / n, leaves / n, parts / n, share(squares*n, 4*m*m),
	}, nil
}

func share(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x / y
}

// tile adds the intervals that contain x. NaN, an unknown number, has an id of its own.
func tile(bag *Bag, h Hash, x float64) {
	switch {
	case math.IsNaN(x):
		bag.Add(uint64(h.Add(1<<63)), 1)
		return
	case x <= 0:
		bag.Add(uint64(h), 1)
		return
	}
	// Logarithms differ in the last bits between processors. The constant puts values at a boundary
	// on the same side.
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
