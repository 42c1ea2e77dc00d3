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
		tiles(kindStatistic.Add(uint64(i)), x, func(id Hash, _ tile) { bag.Add(uint64(id), 1) })
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

// tiles calls show with the words of the intervals that contain x. NaN, an unknown number, has a word of its own.
func tiles(h Hash, x float64, show func(id Hash, t tile)) {
	switch {
	case math.IsNaN(x):
		show(h.Add(1<<63), tile{x: x})
		return
	case x <= 0:
		show(h, tile{x: x})
		return
	}
	// Logarithms differ in the last bits between processors. The constant puts values at a boundary
	// on the same side.
	last := int64(math.Floor(4*math.Log2(x) + 1e-9))
	for i := last - 7; i <= last; i++ {
		show(h.Add(uint64(i)), tile{x, i})
	}
}

// tile is interval i of a number x.
type tile struct {
	x float64
	i int64
}

func (t tile) String() string {
	switch {
	case math.IsNaN(t.x):
		return "unknown"
	case t.x <= 0:
		return "0 or less"
	}
	return "from " + number(math.Exp2(float64(t.i)/4)) + " to " + number(math.Exp2(float64(t.i)/4+2))
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
