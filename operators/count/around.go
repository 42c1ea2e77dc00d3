package count

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
)

// Around counts the attributes around each root, for the classification of nodes, one root a
// row. A word is a distance from the root with a sparse or discrete attribute of a node, a
// discrete attribute of an edge, or an interval of a continuous attribute; see Bins.
// Without sparse attributes the number of binary digits of a degree is a word too.
//
//	flow.From(sources.Nodes{Path: "Cora.zip"}).
//		Via(operators.Select{}).
//		Via(operators.Chunk{Size: 1}).
//		Via(operators.Count{Of: []count.Counter{count.Around{}}}).
//		Via(operators.PerRoot{})
//
// sources.NodeSet.Identify makes the nodes of a graph a sparse attribute.
//
// Around reads all nodes at a distance or none, so words do not depend on node numbers. The
// neighbours and the edges of a root are always read. Another node with more than 1024 edges has no
// words of edges, and a farther ring that would bring the search to more than 1024 nodes ends it, also
// beside a hub. A root costs its neighbours, and the attributes and the rows of at most 1024 nodes more.
// A worker keeps a byte for each node of the graph.
type Around struct {
	// Hops is the largest distance from a root. 0 = 3.
	Hops int
	// Bins adds the words of continuous attributes, by their Cuts. Nodes other than the root have
	// none of the narrowest intervals. With more than MostChannels channels only the root has such
	// words. The default is none.
	Bins Bins
	// Ways adds a second word for each word of a node. It contains the ways to the node: of a
	// shortest path from the root, the first discrete attribute of the first edge (15 values are
	// distinguished) and the last one of the second edge (3 values). In a past of package past such
	// a word is "at distance 2 by source latest, target earlier".
	Ways bool
	// Beliefs is the number of last continuous attributes that are probabilities of classes, such
	// as those of operators.Beliefs. The root and each neighbour then have words of an attribute
	// together with the expected number of their neighbours of a class, without the root, rounded
	// to a half below 8 and to a fifth above: "x3 from 1, about 2.5 of class=b around". A neighbour
	// with more than 1024 edges has no such words.
	Beliefs int
}

// String returns "around", with the settings that are set.
func (a Around) String() string { return describe(a) }

// Prepare implements Counter.
func (a Around) Prepare() (Worker, error) {
	if a.Hops < 0 || a.Beliefs < 0 {
		return nil, fmt.Errorf("Hops is %d and Beliefs %d, want 0 or more", a.Hops, a.Beliefs)
	}
	if a.Hops == 0 {
		a.Hops = 3
	}
	return &aroundCounter{Around: a}, a.Bins.check()
}

// MostAround is the largest number of nodes that Around visits around a root, beside its
// neighbours, and the largest degree of another node whose edges have words.
const MostAround = 1024

var (
	kindAround         = Kind("node around")
	kindAroundCat      = Kind("node attribute around")
	kindAroundEdge     = Kind("edge attribute around")
	kindAroundAttr     = Kind("node number around")
	kindAroundEdgeAttr = Kind("edge number around")
	kindAroundSize     = Kind("degree around")
	kindAroundExpected = Kind("expected around")
)

type aroundCounter struct {
	Around
	seen   []bool
	around []int32 // visited nodes, ring by ring

	ways  []uint64 // with Ways, by index in around: set of ways to the node
	place []int32  // with Ways, by node: its index in around
	rim   int      // with Ways: number of nodes up to distance 1

	at func(v int32, at standing) // set by Find, else nil
}

// standing is the position of a node relative to the root: its distance, and a set of ways or 0.
type standing struct {
	ring int
	ways uint64
}

// in adds the position to a hash.
func (p standing) in(h Hash) Hash {
	if h = h.Add(uint64(p.ring)); p.ways != 0 {
		h = h.Add(p.ways).Add(1 << 32)
	}
	return h
}

func (a *aroundCounter) Count(in Input, bag *Bag) error {
	g := in.Graph
	if in.Roots == nil {
		return errNoRoots
	}
	if err := a.Bins.fits(g); err != nil {
		return err
	}
	if a.Beliefs > g.NodeAttrs {
		return fmt.Errorf("there are %d continuous node attributes, and Beliefs is %d", g.NodeAttrs, a.Beliefs)
	}
	if len(a.seen) < g.N() {
		a.seen = make([]bool, g.N())
	}
	if a.Ways && len(a.place) < g.N() {
		a.place = make([]int32, g.N())
	}
	for _, root := range in.Roots {
		if root >= 0 {
			a.root(g, root, bag)
		}
	}
	return nil
}

// root adds the words of the nodes around root, ring by ring, and of root itself.
func (a *aroundCounter) root(g *graph.Graph, root int32, bag *Bag) {
	if a.Ways {
		a.place[root] = 0
	}
	a.around, a.ways, a.seen[root] = append(a.around[:0], root), append(a.ways[:0], 0), true
	for begin, ring := 0, 0; ; ring++ {
		end := len(a.around)
		for i, v := range a.around[begin:end] {
			a.words(g, v, standing{ring: ring}, bag)
			if a.Ways && a.ways[begin+i] != 0 {
				a.words(g, v, standing{ring, a.ways[begin+i]}, bag)
			}
		}
		if ring == a.Hops || !a.next(g, begin) {
			break
		}
		begin = end
	}
	for _, v := range a.around {
		a.seen[v] = false
	}
}

// words adds the words of the attributes of node v, which stands at a position, and of its edges.
func (a *aroundCounter) words(g *graph.Graph, v int32, at standing, bag *Bag) {
	for _, i := range g.Sparse(v) {
		bag.Add(uint64(at.in(kindAround).Add(uint64(i))), 1)
	}
	a.discrete(g, v, at, bag)
	a.numbers(g, v, at, func(id Hash, _, _ int, _, _ float64) { bag.Add(uint64(id), 1) })
	a.expected(g, v, at, func(id Hash, _ func(Dictionary) string) { bag.Add(uint64(id), 1) })
	if a.at != nil {
		a.at(v, at)
	}
}

// leads reports whether the edges of a node at a position have words.
func (a *aroundCounter) leads(g *graph.Graph, v int32, at standing) bool {
	return at.ring < a.Hops && at.ways == 0 && (at.ring == 0 || g.WholeDegree(v) <= MostAround)
}

// numbers calls do with each interval of a continuous attribute of a node, with its channel, and
// with those of the node's edges, with their entries.
func (a *aroundCounter) numbers(g *graph.Graph, v int32, at standing, do func(id Hash, channel, entry int, low, high float64)) {
	add := func(h Hash, attr []float32, bins []Cuts, row, entry int) {
		if len(bins) > MostChannels && at.ring > 0 {
			return
		}
		for c, cuts := range bins {
			cuts.Words(at.in(h).Add(uint64(c)), attr[row*len(bins)+c], min(at.ring, 1), func(id Hash, low, high float64) {
				do(id, c, entry, low, high)
			})
		}
	}
	add(kindAroundAttr, g.NodeAttr, a.Bins.Nodes, int(v), -1)
	if len(a.Bins.Edges) > 0 && a.leads(g, v, at) {
		for e := int(g.Offsets[v]); e < int(g.Offsets[v+1]); e++ {
			add(kindAroundEdgeAttr, g.EdgeAttr, a.Bins.Edges, e, e)
		}
	}
}

// discrete adds the words of the discrete attributes of a node, and of its edges.
func (a *aroundCounter) discrete(g *graph.Graph, v int32, at standing, bag *Bag) {
	for i := range g.NodeCats {
		bag.Add(uint64(at.in(kindAroundCat).Add(uint64(i)).Add(uint64(g.NodeCat[int(v)*g.NodeCats+i]))), 1)
	}
	if g.SparseCard == 0 {
		bag.Add(uint64(at.in(kindAroundSize).Add(uint64(bits.Len(uint(g.WholeDegree(v)))))), 1)
	}
	if !a.leads(g, v, at) {
		return
	}
	for e := int(g.Offsets[v]) * g.EdgeCats; e < int(g.Offsets[v+1])*g.EdgeCats; e++ {
		bag.Add(uint64(at.in(kindAroundEdge).Add(uint64(e%g.EdgeCats)).Add(uint64(g.EdgeCat[e]))), 1)
	}
}

// expected calls do with the words of Beliefs of a node and their texts: the expected number of
// neighbours of each class, without the root, alone and with each attribute of the node.
func (a *aroundCounter) expected(g *graph.Graph, v int32, at standing, do func(id Hash, text func(Dictionary) string)) {
	if at.ring > 1 || at.ways != 0 || at.ring > 0 && g.WholeDegree(v) > MostAround {
		return
	}
	own := g.NodeAttrs - a.Beliefs
	for c := own; c < g.NodeAttrs; c++ {
		sum := int64(0) // an integer, so that the sum does not depend on the order
		for _, u := range g.Adj(v) {
			if x := float64(g.NodeAttr[int(u)*g.NodeAttrs+c]); u != a.around[0] && finite(x) {
				sum += int64(math.RoundToEven(x * (1 << 20)))
			}
		}
		x := float64(sum) / (1 << 20)
		step := int(math.Round(2 * x))
		about := float64(step) / 2
		if x >= 8 {
			step = 16 + int(4*math.Log2(x/8))
			about = math.Exp2(float64(step-16)/4 + 3)
		}
		h := at.in(kindAroundExpected).Add(uint64(c - own)).Add(uint64(step))
		add := func(id Hash, of func(Dictionary) string) {
			do(id, func(names Dictionary) string {
				name, _ := named(names.NodeNumber, "number", c)
				return of(names) + fmt.Sprintf("about %.3g of %s around", about, name)
			})
		}
		add(h, func(Dictionary) string { return "" })
		if g.SparseCard == 0 {
			digits := uint64(bits.Len(uint(g.WholeDegree(v))))
			add(h.Add(0).Add(digits), func(Dictionary) string { return "degree " + doublingText(digits) + ", " })
		}
		for i := range g.NodeCats {
			value := g.NodeCat[int(v)*g.NodeCats+i]
			add(h.Add(1).Add(uint64(i)).Add(uint64(value)), func(names Dictionary) string { return names.node(i, value) + ", " })
		}
		for i := range min(own, len(a.Bins.Nodes)) {
			a.Bins.Nodes[i].Words(h.Add(2).Add(uint64(i)), g.NodeAttr[int(v)*g.NodeAttrs+i], levels-1, func(id Hash, low, high float64) {
				add(id, func(names Dictionary) string {
					name, offset := named(names.NodeNumber, "number", i)
					return inText(name, low, high, offset) + ", "
				})
			})
		}
	}
}

// next appends the ring behind the one that begins at index begin. It returns false if the ring is
// empty or too large. The first ring is never too large.
func (a *aroundCounter) next(g *graph.Graph, begin int) bool {
	end := len(a.around)
	for i, v := range a.around[begin:end] {
		for e, u := range g.Adj(v) {
			switch {
			case a.seen[u]:
				if a.Ways && int(a.place[u]) >= end {
					a.ways[a.place[u]] |= a.way(g, begin+i, e)
				}
				continue
			case len(a.around) >= MostAround && begin > 0:
				return false // the rest of a hub's row stays unread
			case a.Ways:
				a.place[u] = int32(len(a.around))
				a.ways = append(a.ways, a.way(g, begin+i, e))
			}
			a.around, a.seen[u] = append(a.around, u), true
		}
	}
	if begin == 0 {
		a.rim = len(a.around)
	}
	return len(a.around) > end
}

// A way is one of firstEdges attributes of the edge at the root and one of secondEdges of the edge
// behind. The last value stands for all others, and for no edge.
const firstEdges, secondEdges = 16, 4

// way returns the set of ways that lead over edge e of node i of around.
func (a *aroundCounter) way(g *graph.Graph, i, e int) uint64 {
	if i >= a.rim && i > 0 || g.EdgeCats == 0 {
		return a.ways[i]
	}
	e += int(g.Offsets[a.around[i]])
	if i == 0 {
		return 1 << (secondEdges*min(g.EdgeCat[e*g.EdgeCats], firstEdges-1) + secondEdges - 1)
	}
	last := min(g.EdgeCat[(e+1)*g.EdgeCats-1], secondEdges-1)
	return a.ways[i] >> (secondEdges - 1 - last)
}
