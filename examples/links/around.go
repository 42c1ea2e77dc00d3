package main

import (
	"math"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// surroundings finds words around pairs of nodes, one pair after the other:
//
//	numbers   degrees, common neighbours, and how likely random walks of 2 to 6
//	          edges lead from one end to the other, scaled in several ways; each
//	          as the eight intervals that it is in, see count.Statistics
//	distance  of the ends
//	features  sparse attributes that both ends have, and how many of them; how far
//	          continuous ones are from each other
//	nodes     those up to two hops from an end, by their hops from both, and by
//	          that and their degree
//
// No word depends on which end is first, or on the numbers of the nodes.
type surroundings struct {
	walks   [2]walks
	near    [2][]uint8 // hops from each end, 1 more; 0 = not reached
	visited [2][]int32
	seen    []bool
}

// Kinds of words.
var (
	kindNumber   = count.Kind("pair number")
	kindDistance = count.Kind("pair distance")
	kindFeature  = count.Kind("pair feature")
	kindAlike    = count.Kind("pair alike")
	kindNode     = count.Kind("pair node")
	kindDegree   = count.Kind("pair node degree")
)

// ball is how far from an end the nodes are counted.
const ball = 2

// count adds the words of a pair to the bag.
func (s *surroundings) count(g *graph.Graph, p pair, bag *count.Bag) {
	if len(s.seen) < g.N() {
		s.seen = make([]bool, g.N())
	}
	for i, end := range [2]int32{p.u, p.v} {
		s.walks[i].from(g, end, true)
		if len(s.near[i]) < g.N() {
			s.near[i] = make([]uint8, g.N())
		}
		s.visited[i] = search(g, end, s.near[i], s.visited[i][:0])
	}
	s.numbers(g, p, bag)
	s.distance(bag)
	features(g, p, bag)
	s.nodes(g, bag)
	for i, visited := range s.visited {
		for _, v := range visited {
			s.near[i][v] = 0
		}
	}
}

// numbers adds what can be said of a pair in numbers.
func (s *surroundings) numbers(g *graph.Graph, p pair, bag *count.Bag) {
	du, dv := float64(g.Degree(p.u)), float64(g.Degree(p.v))
	low, high := min(du, dv), max(du, dv)
	both := math.Sqrt(low * high)
	shared, adamicAdar := common(g, p.u, p.v)
	all := []float64{
		low, high, low * high, shared, adamicAdar,
		shared / max(1, du+dv-shared), shared / max(1, low), shared / max(1, both),
	}
	for length := 2; length <= 2*steps; length++ {
		m := s.meet(g, length)
		all = append(all, m*float64(len(g.Neighbors)), m*low*high, m*low, m*high, m*both)
	}
	for i, x := range all {
		tile(bag, kindNumber.Add(uint64(i)), x)
	}
}

// meet returns P^length[u, v] / degree of v, with the mean over neighbours P: the
// probability that a walk of that length from one end leads to the other, over the
// degree there, which is the same from both ends. It is that of walks to the middle
// that meet, and NaN where hubs are in the way of one.
func (s *surroundings) meet(g *graph.Graph, length int) (sum float64) {
	a, b, ok := s.halves(length)
	if !ok {
		return math.NaN()
	}
	for _, w := range a.at {
		sum += a.x[w] * b.x[w] / float64(g.Degree(w))
	}
	return sum
}

// halves returns walks from the two ends that have that many edges together, those in
// fewer places first, or false where a hub is in the way of the longer of them from
// either end: which end is first must not show.
func (s *surroundings) halves(length int) (a, b *sparse, ok bool) {
	long, short := (length+1)/2, length/2
	a, b = &s.walks[0].after[long], &s.walks[1].after[short]
	if len(b.at) < len(a.at) {
		a, b = b, a
	}
	return a, b, s.walks[0].after[long].known && s.walks[1].after[long].known
}

// distance adds how far the ends are from each other.
func (s *surroundings) distance(bag *count.Bag) {
	hops := math.MaxInt
	for _, v := range s.visited[0] {
		if n := s.near[1][v]; n > 0 {
			hops = min(hops, int(n)+int(s.near[0][v])-2)
		}
	}
	bag.Add(uint64(kindDistance.Add(uint64(hops))), 1)
	if hops < math.MaxInt {
		tile(bag, kindDistance, float64(hops))
	}
}

// features adds what the attributes of the ends have in common.
func features(g *graph.Graph, p pair, bag *count.Bag) {
	if g.SparseCard > 0 {
		a, b := g.Sparse(p.u), g.Sparse(p.v)
		all, shared := float64(len(a)+len(b)), 0.
		for len(a) > 0 && len(b) > 0 {
			switch {
			case a[0] < b[0]:
				a = a[1:]
			case a[0] > b[0]:
				b = b[1:]
			default:
				bag.Add(uint64(kindFeature.Add(uint64(a[0]))), 1)
				shared++
				a, b = a[1:], b[1:]
			}
		}
		tile(bag, kindAlike.Add(0), shared)
		tile(bag, kindAlike.Add(1), shared/max(1, all-shared))
	}
	if n := g.NodeAttrs; n > 0 {
		squares := 0.
		for i, x := range g.NodeAttr[int(p.u)*n : (int(p.u)+1)*n] {
			d := float64(x) - float64(g.NodeAttr[int(p.v)*n+i])
			squares += d * d
		}
		tile(bag, kindAlike.Add(2), math.Sqrt(squares))
	}
}

// nodes adds the nodes around the ends.
func (s *surroundings) nodes(g *graph.Graph, bag *count.Bag) {
	for i := range s.walks {
		for _, after := range s.walks[i].after[:ball+1] {
			for _, v := range after.at {
				if s.seen[v] {
					continue
				}
				s.seen[v] = true
				a, b := hops(s.near[0][v], beyond), hops(s.near[1][v], beyond)
				where := uint64(min(a, b)*beyond + max(a, b))
				bag.Add(uint64(kindNode.Add(where)), 1)
				bag.Add(uint64(kindDegree.Add(where).Add(uint64(bits.Len(uint(g.Degree(v)))))), 1)
			}
		}
	}
	for i := range s.walks {
		for _, after := range s.walks[i].after[:ball+1] {
			for _, v := range after.at {
				s.seen[v] = false
			}
		}
	}
}

// beyond is the number of values of a distance, the last for all that is farther.
const beyond = 10

// tile adds the eight intervals, each two doublings long, in which x is. 0 has a word
// of its own, and so has what is not known.
func tile(bag *count.Bag, h count.Hash, x float64) {
	switch {
	case math.IsNaN(x):
		bag.Add(uint64(h.Add(1<<63)), 1)
		return
	case x <= 0:
		bag.Add(uint64(h), 1)
		return
	}
	// What is on the edge of an interval, but for rounding, is put into it.
	last := int64(math.Floor(4*math.Log2(x) + 1e-9))
	for i := last - 7; i <= last; i++ {
		bag.Add(uint64(h.Add(uint64(i))), 1)
	}
}

// search walks from a node breadth-first, ring by ring, until a ring has brought it
// to more than reach nodes, and appends those to visited. Rings are walked whole, so
// the numbers of the nodes do not matter.
func search(g *graph.Graph, from int32, near []uint8, visited []int32) []int32 {
	visited = append(visited, from)
	near[from] = 1
	for begin, hop := 0, uint8(2); hop < 64 && begin < len(visited) && len(visited) <= reach; hop++ {
		end := len(visited)
		for _, u := range visited[begin:end] {
			for _, v := range g.Adj(u) {
				if near[v] == 0 {
					near[v] = hop
					visited = append(visited, v)
				}
			}
		}
		begin = end
	}
	return visited
}
