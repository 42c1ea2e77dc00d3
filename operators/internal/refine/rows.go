package refine

import (
	"cmp"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Builder converts graphs to Rows and reuses its memory. The zero value is ready.
type Builder struct {
	rows  Rows
	types []uint32
	order []int32
	next  []int32
}

// Rows returns g as rows. Arcs of a directed graph are listed at both ends, with code 2t at the
// tail and 2t+1 at the head; t is the edge type if edgeTypes is set and 0 otherwise. An undirected
// edge has code t. Undirected rows without types borrow from g and have no codes. Other results are
// valid until the next call. O(n + m), and O(m log m) with edge types.
func (b *Builder) Rows(g *graph.Graph, edgeTypes bool) Rows {
	edgeTypes = edgeTypes && g.EdgeCats+g.EdgeAttrs > 0
	if edgeTypes {
		b.types = EdgeTypes(g, b.types, &b.order)
	}
	switch {
	case !g.Directed && !edgeTypes:
		return Rows{Off: g.Offsets, Nbr: g.Neighbors}
	case !g.Directed:
		return Rows{Off: g.Offsets, Nbr: g.Neighbors, Code: b.types}
	}
	n, m := g.N(), len(g.Neighbors)
	r := &b.rows
	r.Off = scratch.Resize(r.Off, n+1)
	r.Nbr = scratch.Resize(r.Nbr, 2*m)
	r.Code = scratch.Resize(r.Code, 2*m)
	clear(r.Off)
	for u := range int32(n) {
		r.Off[u+1] += int32(g.Degree(u))
		for _, v := range g.Adj(u) {
			r.Off[v+1]++
		}
	}
	for v := range n {
		r.Off[v+1] += r.Off[v]
	}
	b.next = append(b.next[:0], r.Off[:n]...)
	for u := range int32(n) {
		for i := g.Offsets[u]; i < g.Offsets[u+1]; i++ {
			v, t := g.Neighbors[i], uint32(0)
			if edgeTypes {
				t = b.types[i]
			}
			r.Nbr[b.next[u]], r.Code[b.next[u]] = v, 2*t
			b.next[u]++
			r.Nbr[b.next[v]], r.Code[b.next[v]] = u, 2*t+1
			b.next[v]++
		}
	}
	return *r
}

// EdgeTypes returns for every CSR entry of g the rank of its attributes among the distinct ones in
// g, from 0: discrete attributes before continuous ones, both in ascending order. types is reused
// if it is large enough; order is scratch.
func EdgeTypes(g *graph.Graph, types []uint32, order *[]int32) []uint32 {
	m := len(g.Neighbors)
	types = scratch.Resize(types, m)
	*order = scratch.Resize(*order, m)
	for i := range *order {
		(*order)[i] = int32(i)
	}
	slices.SortFunc(*order, func(a, b int32) int { return CompareEdges(g, a, b) })
	rank := uint32(0)
	for i, e := range *order {
		if i > 0 && CompareEdges(g, (*order)[i-1], e) != 0 {
			rank++
		}
		types[e] = rank
	}
	return types
}

// CompareEdges compares the attributes of two CSR entries of g by value.
func CompareEdges(g *graph.Graph, a, b int32) int {
	return cmp.Or(
		slices.Compare(row(g.EdgeCat, a, g.EdgeCats), row(g.EdgeCat, b, g.EdgeCats)),
		compareValues(row(g.EdgeAttr, a, g.EdgeAttrs), row(g.EdgeAttr, b, g.EdgeAttrs)),
	)
}

// CompareNodes compares the attributes of two nodes of g by value: discrete
// ones, then continuous ones, then the sparse one as an ascending list.
func CompareNodes(g *graph.Graph, u, v int32) int {
	c := 0
	switch {
	case g.NodeCats == 1:
		c = cmp.Compare(g.NodeCat[u], g.NodeCat[v])
	case g.NodeCats > 1:
		c = slices.Compare(row(g.NodeCat, u, g.NodeCats), row(g.NodeCat, v, g.NodeCats))
	}
	if c == 0 && g.NodeAttrs > 0 {
		c = compareValues(row(g.NodeAttr, u, g.NodeAttrs), row(g.NodeAttr, v, g.NodeAttrs))
	}
	if c == 0 && g.SparseCard > 0 {
		c = slices.Compare(g.Sparse(u), g.Sparse(v))
	}
	return c
}

// compareValues compares lists of equal length. -0 comes before 0. NaN comes first, by its bits.
// Values compare equal only if their bytes are equal.
func compareValues(a, b []float32) int {
	for i, x := range a {
		if c := cmp.Compare(x, b[i]); c != 0 {
			return c
		}
		if c := cmp.Compare(int32(math.Float32bits(x)), int32(math.Float32bits(b[i]))); c != 0 {
			return c
		}
	}
	return 0
}

func row[T any](x []T, i int32, width int) []T { return x[int(i)*width : (int(i)+1)*width] }

// CompareCats compares the discrete attributes of two nodes of g, then the sparse
// one.
func CompareCats(g *graph.Graph, u, v int32) int {
	return cmp.Or(
		slices.Compare(row(g.NodeCat, u, g.NodeCats), row(g.NodeCat, v, g.NodeCats)),
		slices.Compare(g.Sparse(u), g.Sparse(v)),
	)
}
