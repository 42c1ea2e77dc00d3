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
//		Via(operators.Count{Of: []count.Counter{count.Around{}}})
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

	word aroundWord // argument of show, overwritten by the next word
}

// standing is the position of a node relative to the root: its distance, and its set of ways, 0 without Ways.
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
	return a.run(in, func(id Hash, _ *aroundWord) { bag.Add(uint64(id), 1) })
}

// run calls show with the words around each root.
func (a *aroundCounter) run(in Input, show func(id Hash, w *aroundWord)) error {
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
			a.root(g, root, show)
		}
	}
	return nil
}

// root calls show with the words of the nodes around root, ring by ring, and of root itself.
func (a *aroundCounter) root(g *graph.Graph, root int32, show func(id Hash, w *aroundWord)) {
	if a.Ways {
		a.place[root] = 0
	}
	a.around, a.ways, a.seen[root] = append(a.around[:0], root), append(a.ways[:0], 0), true
	for begin, ring := 0, 0; ; ring++ {
		end := len(a.around)
		for i, v := range a.around[begin:end] {
			a.words(g, v, standing{ring: ring}, show)
			if a.Ways && a.ways[begin+i] != 0 {
				a.words(g, v, standing{ring, a.ways[begin+i]}, show)
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

// aroundWord is what a word of Around says about a node, or about an edge of the node.
type aroundWord struct {
	node      int32
	at        standing
	kind      Hash    // start of the hash, such as kindAroundCat
	channel   int     // channel of the attribute
	value     int32   // of a discrete or sparse attribute, or the binary digits of a degree
	low, high float64 // interval of a number
	entry     int     // CSR entry of the edge, or -1
	class     int     // channel of the class in a word of Beliefs, else -1
	about     float64 // in a word of Beliefs: expected number of neighbours of the class
}

// words calls show with the words of the attributes of node v, which stands at a position, and of its edges.
func (a *aroundCounter) words(g *graph.Graph, v int32, at standing, show func(id Hash, w *aroundWord)) {
	w := &a.word
	*w = aroundWord{node: v, at: at, entry: -1, class: -1}
	for _, i := range g.Sparse(v) {
		w.kind, w.value = kindAround, i
		show(at.in(kindAround).Add(uint64(i)), w)
	}
	for i := range g.NodeCats {
		w.kind, w.channel, w.value = kindAroundCat, i, g.NodeCat[int(v)*g.NodeCats+i]
		show(at.in(kindAroundCat).Add(uint64(i)).Add(uint64(w.value)), w)
	}
	if g.SparseCard == 0 {
		w.kind, w.value = kindAroundSize, int32(bits.Len(uint(g.WholeDegree(v))))
		show(at.in(kindAroundSize).Add(uint64(w.value)), w)
	}
	a.expected(g, w, show)
	w.class, w.kind = -1, kindAroundAttr
	a.numbers(w, g.NodeAttr, a.Bins.Nodes, int(v), show)
	if !a.leads(g, v, at) {
		return
	}
	first, last := int(g.Offsets[v]), int(g.Offsets[v+1])
	w.kind = kindAroundEdgeAttr
	for w.entry = first; w.entry < last; w.entry++ {
		a.numbers(w, g.EdgeAttr, a.Bins.Edges, w.entry, show)
	}
	w.kind = kindAroundEdge
	for e := first * g.EdgeCats; e < last*g.EdgeCats; e++ {
		w.entry, w.channel, w.value = e/g.EdgeCats, e%g.EdgeCats, g.EdgeCat[e]
		show(at.in(kindAroundEdge).Add(uint64(w.channel)).Add(uint64(w.value)), w)
	}
}

// leads reports whether the edges of a node at a position have words.
func (a *aroundCounter) leads(g *graph.Graph, v int32, at standing) bool {
	return at.ring < a.Hops && at.ways == 0 && (at.ring == 0 || g.WholeDegree(v) <= MostAround)
}

// numbers calls show with each interval of the continuous attributes of a row of attr: a node or an edge.
func (a *aroundCounter) numbers(w *aroundWord, attr []float32, bins []Cuts, row int, show func(id Hash, w *aroundWord)) {
	if len(bins) > MostChannels && w.at.ring > 0 {
		return
	}
	for c, cuts := range bins {
		w.channel = c
		cuts.Words(w.at.in(w.kind).Add(uint64(c)), attr[row*len(bins)+c], min(w.at.ring, 1), func(id Hash, low, high float64) {
			w.low, w.high = low, high
			show(id, w)
		})
	}
}

// expected calls show with the words of Beliefs of a node: the expected number of
// neighbours of each class, without the root, alone and with each attribute of the node.
func (a *aroundCounter) expected(g *graph.Graph, w *aroundWord, show func(id Hash, w *aroundWord)) {
	v, at := w.node, w.at
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
		w.class, w.about = c, float64(step)/2
		if x >= 8 {
			step = 16 + int(4*math.Log2(x/8))
			w.about = math.Exp2(float64(step-16)/4 + 3)
		}
		h := at.in(kindAroundExpected).Add(uint64(c - own)).Add(uint64(step))
		w.kind = kindAroundExpected
		show(h, w)
		if g.SparseCard == 0 {
			w.kind, w.value = kindAroundSize, int32(bits.Len(uint(g.WholeDegree(v))))
			show(h.Add(0).Add(uint64(w.value)), w)
		}
		for i := range g.NodeCats {
			w.kind, w.channel, w.value = kindAroundCat, i, g.NodeCat[int(v)*g.NodeCats+i]
			show(h.Add(1).Add(uint64(i)).Add(uint64(w.value)), w)
		}
		w.kind = kindAroundAttr
		for i := range min(own, len(a.Bins.Nodes)) {
			w.channel = i
			a.Bins.Nodes[i].Words(h.Add(2).Add(uint64(i)), g.NodeAttr[int(v)*g.NodeAttrs+i], levels-1, func(id Hash, low, high float64) {
				w.low, w.high = low, high
				show(id, w)
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
