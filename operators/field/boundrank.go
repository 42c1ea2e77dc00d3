package field

import (
	"cmp"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/refine"
	"github.com/sanflow/sanflow/operators/internal/scatter"
)

// ranker is scratch memory of SetBound.
type ranker struct {
	hashes [3][]uint64
	around []uint64 // hashes of structure and attributes around each node; empty without attributes
	keys   []rankKey
	next   []cursor // by node: position of the next entry of its row
}

// rankKey orders nodes by degree and structure, before attributes are compared.
type rankKey struct {
	hash   uint64
	degree uint32
	node   int32
}

// rankNodes sets keys to the nodes in rank order; see SetBound.
func (ix *Index) rankNodes() {
	b, g := &ix.bound, ix.g
	n := ix.N()
	for i := range b.hashes {
		b.hashes[i] = scratch.Resize(b.hashes[i], n)
	}
	nodeAttrs, edgeAttrs := g.HasNodeAttributes(), g.EdgeCats+g.EdgeAttrs > 0
	b.around = b.around[:0]
	if nodeAttrs || edgeAttrs {
		for v := range int32(n) {
			b.hashes[0][v] = ix.attributesOf(v)
		}
		b.around = append(b.around, ix.hashAround(edgeAttrs)...)
	}
	for v := range int32(n) {
		b.hashes[0][v] = ix.degreesOf(v)
	}
	hash := ix.hashAround(false)
	b.keys = scratch.Resize(b.keys, n)
	for v := range b.keys {
		b.keys[v] = rankKey{hash[v], uint32(ix.degree(int32(v))), int32(v)}
	}
	slices.SortFunc(b.keys, func(x, y rankKey) int {
		if c := cmp.Compare(x.degree, y.degree); c != 0 {
			return c
		}
		c := cmp.Compare(x.hash, y.hash)
		if c == 0 && nodeAttrs {
			c = refine.CompareNodes(g, x.node, y.node)
		}
		if c == 0 && len(b.around) > 0 {
			c = cmp.Compare(b.around[x.node], b.around[y.node])
		}
		return cmp.Or(c, cmp.Compare(x.node, y.node))
	})
}

// degreesOf returns the hash of the degrees of v, the start of the hash of the structure around v.
func (ix *Index) degreesOf(v int32) uint64 {
	return scatter.Bits(uint64(ix.adj.degree(v))<<32 | uint64(ix.degree(v)))
}

// attributesOf returns the hash of the attributes of v, the start of the hash of the attributes
// around v.
func (ix *Index) attributesOf(v int32) uint64 {
	g := ix.g
	return hashValues(scatter.Bits(uint64(ix.adj.degree(v))), row(g.NodeCat, v, g.NodeCats), row(g.NodeAttr, v, g.NodeAttrs), g.Sparse(v))
}

// hashAround returns a hash of the surroundings of each node within two steps, borrowed. It starts
// from b.hashes[0].
func (ix *Index) hashAround(edgeAttrs bool) []uint64 {
	g, h := ix.g, &ix.bound.hashes
	here, next, mixed := h[0], h[1], h[2]
	for range 2 {
		for v, x := range here {
			mixed[v] = scatter.Bits(x)
		}
		for v := range int32(ix.N()) {
			next[v] = ix.hashRow(v, here[v], mixed, edgeAttrs)
		}
		if g.Directed {
			ix.hashArriving(next, mixed, edgeAttrs)
		}
		for v, x := range next {
			next[v] = scatter.Bits(x)
		}
		here, next = next, here
	}
	return here
}

// hashRow adds the mixed hashes of the neighbours of v to sum.
func (ix *Index) hashRow(v int32, sum uint64, mixed []uint64, edgeAttrs bool) uint64 {
	for i, u := range ix.adj.row(v) {
		x := mixed[u]
		if edgeAttrs {
			x = hashEdge(ix.g, x, ix.adj.begin[v]+int32(i))
		}
		sum += x
	}
	return sum
}

// hashArriving adds the tails of arriving arcs to next. Their hashes differ from those of leaving
// arcs.
func (ix *Index) hashArriving(next, mixed []uint64, edgeAttrs bool) {
	g := ix.g
	for u := range int32(ix.N()) {
		x := scatter.Bits(^mixed[u])
		for i, v := range ix.adj.row(u) {
			if edgeAttrs {
				next[v] += hashEdge(g, x, ix.adj.begin[u]+int32(i))
			} else {
				next[v] += x
			}
		}
	}
}

// hashEdge returns the hash x combined with the attributes of an edge.
func hashEdge(g *graph.Graph, x uint64, e int32) uint64 {
	return hashValues(x, row(g.EdgeCat, e, g.EdgeCats), row(g.EdgeAttr, e, g.EdgeAttrs), nil)
}

// hashValues returns the hash x combined with the bits of the values.
func hashValues(x uint64, cats []int32, attrs []float32, sparse []int32) uint64 {
	for _, c := range cats {
		x = scatter.Bits(x ^ uint64(uint32(c)))
	}
	for _, a := range attrs {
		x = scatter.Bits(x ^ uint64(math.Float32bits(a)))
	}
	x = scatter.Bits(x ^ uint64(len(sparse)))
	for _, w := range sparse {
		x = scatter.Bits(x ^ uint64(uint32(w)))
	}
	return x
}
