package count

import (
	"fmt"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
)

// Around counts the attributes around each root, for the classification of nodes, one root a
// row. A word is a distance from the root with a sparse or discrete attribute of a node, a
// discrete attribute of an edge, or a known class. Without sparse attributes the number of
// binary digits of a degree is a word too.
//
//	flow.From(sources.Nodes{Path: "Cora.zip"}).
//		Via(operators.Select{}).
//		Via(operators.Chunk{Size: 1}).
//		Via(operators.Count{Of: []count.Counter{count.Around{}}}).
//		Via(operators.PerRoot{})
//
// For a graph without sparse attributes, sources.NodeSet.Identify makes the numbers of its
// nodes one; Nodes counts the numbers beside the attributes.
//
// Around reads all nodes at a distance or none, so words do not depend on node numbers unless
// Nodes is set. The edges of a node with more than 1024 edges have no words. A ring that would
// bring the search to more than 1024 nodes ends it, also beside a hub. A root costs the
// attributes and the rows of at most 1024 nodes. A worker keeps a byte for each node of the
// graph.
type Around struct {
	// Hops is the largest distance from a root. 0 = 3.
	Hops int
	// Class is the class of each node, -1 if unknown or not for training. The class of a root is
	// no word of that root. nil = none.
	Class []int32
	// Nodes, if set, is the number of nodes of the one graph: then the number of a node, with its
	// distance from the root, is a word too. A graph with another number of nodes is an error. The
	// words then depend on node numbers.
	Nodes int
}

// String returns "around", with Hops if it is set.
func (a Around) String() string {
	if a.Class == nil {
		return describe(a)
	}
	return describe(Around{Hops: a.Hops, Nodes: a.Nodes}) + " with classes"
}

// Count implements Counter.
func (a Around) Count(in Input, bag *Bag) error { return fresh(a, in, bag) }

// Prepare implements Preparer.
func (a Around) Prepare() (Counter, error) {
	if a.Hops < 0 {
		return nil, fmt.Errorf("Hops is %d, want 0 or more", a.Hops)
	}
	if a.Nodes < 0 {
		return nil, fmt.Errorf("Nodes is %d, want 0 or more", a.Nodes)
	}
	if a.Hops == 0 {
		a.Hops = 3
	}
	return &aroundCounter{Around: a}, nil
}

// mostAround is how many nodes are looked at around a root.
const mostAround = 1024

var (
	kindAround      = Kind("node around")
	kindAroundClass = Kind("node class around")
	kindAroundCat   = Kind("node attribute around")
	kindAroundEdge  = Kind("edge attribute around")
	kindAroundSize  = Kind("degree around")
	kindAroundNode  = Kind("node number around")
)

type aroundCounter struct {
	Around
	seen   []bool
	around []int32 // the nodes that were seen, ring by ring

	at func(v int32, ring int, last bool) // see Find; or nil
}

func (a *aroundCounter) Count(in Input, bag *Bag) error {
	g := in.Graph
	switch {
	case in.Roots == nil:
		return errNoRoots
	case a.Class != nil && len(a.Class) != g.N():
		return fmt.Errorf("Class has the classes of %d nodes, the graph has %d", len(a.Class), g.N())
	case a.Nodes > 0 && a.Nodes != g.N():
		return fmt.Errorf("the numbers of %d nodes are words, the graph has %d nodes", a.Nodes, g.N())
	}
	if len(a.seen) < g.N() {
		a.seen = make([]bool, g.N())
	}
	for _, root := range in.Roots {
		if root >= 0 {
			a.root(g, root, bag)
		}
	}
	return nil
}

// root adds the words of a root.
func (a *aroundCounter) root(g *graph.Graph, root int32, bag *Bag) {
	a.around, a.seen[root] = append(a.around[:0], root), true
	for begin, ring := 0, 0; ; ring++ {
		end := len(a.around)
		for _, v := range a.around[begin:end] {
			for _, i := range g.Sparse(v) {
				bag.Add(uint64(kindAround.Add(uint64(ring)).Add(uint64(i))), 1)
			}
			if a.Nodes > 0 {
				bag.Add(uint64(kindAroundNode.Add(uint64(ring)).Add(uint64(v))), 1)
			}
			discrete(g, v, uint64(ring), ring < a.Hops, bag)
			if a.at != nil {
				a.at(v, ring, ring == a.Hops)
			}
			if a.Class != nil && a.Class[v] >= 0 && v != root {
				bag.Add(uint64(kindAroundClass.Add(uint64(ring)).Add(uint64(a.Class[v]))), 1)
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

// discrete adds the words of the discrete attributes of a node, and of its edges where
// these lead on.
func discrete(g *graph.Graph, v int32, ring uint64, leads bool, bag *Bag) {
	for i := range g.NodeCats {
		bag.Add(uint64(kindAroundCat.Add(ring).Add(uint64(i)).Add(uint64(g.NodeCat[int(v)*g.NodeCats+i]))), 1)
	}
	if g.SparseCard == 0 {
		bag.Add(uint64(kindAroundSize.Add(ring).Add(uint64(bits.Len(uint(g.Degree(v)))))), 1)
	}
	if !leads || g.Degree(v) > mostAround {
		return
	}
	for e := int(g.Offsets[v]) * g.EdgeCats; e < int(g.Offsets[v+1])*g.EdgeCats; e++ {
		bag.Add(uint64(kindAroundEdge.Add(ring).Add(uint64(e%g.EdgeCats)).Add(uint64(g.EdgeCat[e]))), 1)
	}
}

// next appends the ring behind the one that begins there, and returns whether it has
// nodes and is not too large.
func (a *aroundCounter) next(g *graph.Graph, begin int) bool {
	end := len(a.around)
	for _, v := range a.around[begin:end] {
		for _, u := range g.Adj(v) {
			if a.seen[u] {
				continue
			}
			if len(a.around) == mostAround {
				return false // before a hub's row has been read to its end
			}
			a.around, a.seen[u] = append(a.around, u), true
		}
	}
	return len(a.around) > end
}
