package count

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
)

var errNoRoots = errors.New("there are no roots: put Select, or Roots and Chunk, before Count")

// Pair counts the surroundings of a pair of nodes, the two roots of a row, for link prediction:
//
//	numbers   degrees, common neighbours, and probabilities of random walks of 2 to 6 edges from one
//	          end to the other, scaled in several ways; each as eight intervals, see Statistics
//	distance  of the ends
//	features  sparse attributes that both ends have, and their number; the distance
//	          of continuous attributes
//	nodes     those up to two hops from an end, by their hops from both, and by
//	          that and their degree
//
// No word depends on which end is first, or on node numbers. Graphs are undirected. To learn
// from a joined pair, remove its edge from the graph first; see package sources/links.
//
// A step of the walks with more than 131072 arcs, beside a hub, is not taken. A search ends
// with the ring that brings it to more than 2048 nodes. A worker keeps 8 numbers for each node.
type Pair struct{}

// String returns "pair".
func (p Pair) String() string { return describe(p) }

// Prepare implements Counter.
func (p Pair) Prepare() (Worker, error) { return &pairCounter{}, nil }

type pairCounter struct {
	Pair
	walks   pairWalks
	near    [2][]uint8 // hops from each end plus one; 0 = not reached
	visited [2][]int32
	seen    []bool
}

// The hash of a word begins with its kind.
var (
	kindNumber     = Kind("pair number")
	kindDistance   = Kind("pair distance")
	kindFeature    = Kind("pair feature")
	kindAlike      = Kind("pair alike")
	kindPairNode   = Kind("pair node")
	kindPairDegree = Kind("pair node degree")
)

// ball is the largest distance of counted nodes from an end.
const ball = 2

func (s *pairCounter) Count(in Input, bag *Bag) error {
	return s.words(in, func(id Hash, _ pairWord) { bag.Add(uint64(id), 1) })
}

// pairWord is what a word of Pair says.
type pairWord struct {
	kind          Hash   // start of the hash, such as kindNumber
	of            int    // by kind: number of a score, distance, number of an attribute, or node
	tile          tile   // interval of a score
	where, digits uint64 // distances of a node from the ends, and binary digits of its degree
}

type pairShow func(id Hash, w pairWord)

// number calls show with the intervals of x.
func (show pairShow) number(h Hash, x float64, w pairWord) {
	tiles(h, x, func(id Hash, t tile) {
		w.tile = t
		show(id, w)
	})
}

// words calls show with each word of a pair.
func (s *pairCounter) words(in Input, show pairShow) error {
	switch g := in.Graph; {
	case in.Roots == nil:
		return errNoRoots
	case g.Directed:
		return errors.New("the graph is directed, want an undirected one")
	case len(in.Roots) != 2 || in.Roots[0] < 0 || in.Roots[1] < 0:
		return fmt.Errorf("the roots are %v, want two nodes: put Chunk{Size: 2} before Count", in.Roots)
	}
	g, u, v := in.Graph, in.Roots[0], in.Roots[1]
	if len(s.seen) < g.N() {
		s.seen = make([]bool, g.N())
	}
	for i, end := range [2]int32{u, v} {
		s.walks[i].from(g, end, true)
		if len(s.near[i]) < g.N() {
			s.near[i] = make([]uint8, g.N())
		}
		s.visited[i] = searchRings(g, end, s.near[i], s.visited[i][:0])
	}
	s.numbers(g, u, v, show)
	s.distance(show)
	features(g, u, v, show)
	s.nodes(g, show)
	for i, visited := range s.visited {
		for _, w := range visited {
			s.near[i][w] = 0
		}
	}
	return nil
}

// numbers shows the words of the scores of a pair: degrees, common neighbours, and walks between the
// ends.
func (s *pairCounter) numbers(g *graph.Graph, u, v int32, show pairShow) {
	du, dv := float64(g.Degree(u)), float64(g.Degree(v))
	low, high := min(du, dv), max(du, dv)
	both := math.Sqrt(low * high)
	shared, adamicAdar := common(g, u, v)
	all := []float64{
		low, high, low * high, shared, adamicAdar,
		shared / max(1, du+dv-shared), shared / max(1, low), shared / max(1, both),
	}
	for length := 2; length <= 2*walkSteps; length++ {
		m := s.walks.meet(g, length)
		all = append(all, m*float64(len(g.Neighbors)), m*low*high, m*low, m*high, m*both)
	}
	for i, x := range all {
		show.number(kindNumber.Add(uint64(i)), x, pairWord{kind: kindNumber, of: i})
	}
}

// distance shows the words of the distance between the ends.
func (s *pairCounter) distance(show pairShow) {
	hops := math.MaxInt
	for _, v := range s.visited[0] {
		if n := s.near[1][v]; n > 0 {
			hops = min(hops, int(n)+int(s.near[0][v])-2)
		}
	}
	w := pairWord{kind: kindDistance, of: hops}
	show(kindDistance.Add(uint64(hops)), w)
	if hops < math.MaxInt {
		show.number(kindDistance, float64(hops), w)
	}
}

// features shows the words of the attributes that both ends have.
func features(g *graph.Graph, u, v int32, show pairShow) {
	if g.SparseCard > 0 {
		a, b := g.Sparse(u), g.Sparse(v)
		all, both := float64(len(a)+len(b)), 0.
		shared(a, b, func(x int32) {
			show(kindFeature.Add(uint64(x)), pairWord{kind: kindFeature, of: int(x)})
			both++
		})
		show.number(kindAlike.Add(0), both, pairWord{kind: kindAlike})
		show.number(kindAlike.Add(1), both/max(1, all-both), pairWord{kind: kindAlike})
	}
	if n := g.NodeAttrs; n > 0 {
		squares := 0.
		for i, x := range g.NodeAttr[int(u)*n : (int(u)+1)*n] {
			d := float64(x) - float64(g.NodeAttr[int(v)*n+i])
			squares += d * d
		}
		show.number(kindAlike.Add(2), math.Sqrt(squares), pairWord{kind: kindAlike})
	}
}

// nodes shows the words of the nodes around the ends.
func (s *pairCounter) nodes(g *graph.Graph, show pairShow) {
	for i := range s.walks {
		for _, after := range s.walks[i].after[:ball+1] {
			for _, v := range after.at {
				if s.seen[v] {
					continue
				}
				s.seen[v] = true
				a, b := hopsUpTo(s.near[0][v]), hopsUpTo(s.near[1][v])
				where := uint64(min(a, b)*beyond + max(a, b))
				digits := uint64(bits.Len(uint(g.Degree(v))))
				show(kindPairNode.Add(where), pairWord{kind: kindPairNode, of: int(v), where: where})
				show(kindPairDegree.Add(where).Add(digits), pairWord{kind: kindPairDegree, of: int(v), where: where, digits: digits})
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

// beyond is the number of values of a distance. The last stands for all larger ones.
const beyond = 10

// hopsUpTo returns a distance, at most beyond - 1. near is the distance plus one; 0 = not reached.
func hopsUpTo(near uint8) int {
	if near == 0 {
		return beyond - 1
	}
	return min(int(near)-1, beyond-1)
}

// reach is the number of visited nodes after which a search ends with the current ring.
const reach = 2048

// searchRings appends to visited the nodes around from, ring by ring, until more than reach nodes
// are visited. It visits whole rings, so the result does not depend on node numbers.
func searchRings(g *graph.Graph, from int32, near []uint8, visited []int32) []int32 {
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
