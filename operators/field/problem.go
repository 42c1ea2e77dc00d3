package field

import (
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// maxWords is the number of bits of a set of nodes.
const maxWords = 64

// problem is the graph induced on some nodes, with all that their order depends on: levels, edges,
// and the types of nodes and edges. Nodes are numbered from 0 in the order of Assemble. Problems of
// equal content have equal orders.
//
// A type is the rank of the attributes among those of the problem, or the attribute itself if it is
// the only one and discrete. The types of nodes are computed at the first tie.
type problem struct {
	g     *graph.Graph
	nodes []int32 // nodes of g, borrowed or in own
	dist  []uint8 // distance of each node from the root; only of a problem on lists
	// nodeAttrs and edgeAttrs report whether attributes of nodes and edges take part in the order.
	nodeAttrs, edgeAttrs bool

	// A problem on words has at most 64 nodes and is undirected.
	onWords bool
	starts  uint64       // first nodes of the levels, as a set; see refine.Starts
	rows    []uint64     // neighbours of each node, as a set
	types   *canon.Types // types of the edges; nil if all are equal

	// A problem on lists has any size.
	arcs  []arc
	rank  []uint32 // type of each arc; see arcTypes
	lists arcRows

	typed bool    // node has been computed
	node  []int32 // type of each node; see nodeTypes

	key  []uint64 // content of the problem, by which memo finds its order
	hash uint64   // hash of key; 0 if the problem is not stored

	own        []int32
	keep       []int32 // nodes of z.part in numbers of the whole problem
	rowMemory  [maxWords]uint64
	typeMemory *canon.Types
	order      []int32 // result of sorted
}

// begin resets p to a problem of nodes of g without edges.
func (p *problem) begin(g *graph.Graph, ignore bool) {
	p.g = g
	p.nodeAttrs = !ignore && g.HasNodeAttributes()
	p.edgeAttrs = !ignore && g.EdgeCats+g.EdgeAttrs > 0
	p.typed, p.types, p.rank = false, nil, p.rank[:0]
}

// nodeTypes returns the types of the nodes, or nil if no attributes of nodes take part.
func (p *problem) nodeTypes() []int32 {
	if !p.nodeAttrs {
		return nil
	}
	if p.typed {
		return p.node
	}
	p.typed = true
	g, n := p.g, len(p.nodes)
	p.node = scratch.Resize(p.node, n)
	if g.NodeCats == 1 && g.NodeAttrs == 0 && g.SparseCard == 0 {
		for i, v := range p.nodes {
			p.node[i] = g.NodeCat[v]
		}
		return p.node
	}
	compare := func(i, j int32) int { return refine.CompareNodes(g, p.nodes[i], p.nodes[j]) }
	for x, i := range p.sorted(n, compare) {
		p.node[i] = int32(x)
		if x > 0 && compare(p.order[x-1], i) == 0 {
			p.node[i] = p.node[p.order[x-1]]
		}
	}
	return p.node
}

// sorted returns the numbers 0 … n-1 sorted by compare, borrowed.
func (p *problem) sorted(n int, compare func(i, j int32) int) []int32 {
	p.order = scratch.Resize(p.order, n)
	for i := range p.order {
		p.order[i] = int32(i)
	}
	slices.SortFunc(p.order, compare)
	return p.order
}

// arcTypes returns the types of the arcs, from 0, and the number of types. Without attributes all
// are 0.
func (p *problem) arcTypes() (types []uint32, count int) {
	if len(p.rank) < len(p.arcs) {
		p.rankArcs()
	}
	for _, t := range p.rank {
		count = max(count, int(t)+1)
	}
	return p.rank, count
}

func (p *problem) rankArcs() {
	p.rank = scratch.Resize(p.rank, len(p.arcs))
	clear(p.rank)
	if !p.edgeAttrs {
		return
	}
	compare := func(i, j int32) int { return refine.CompareEdges(p.g, p.arcs[i].entry, p.arcs[j].entry) }
	rank := uint32(0)
	for x, i := range p.sorted(len(p.arcs), compare) {
		if x > 0 && compare(p.order[x-1], i) != 0 {
			rank++
		}
		p.rank[i] = rank
	}
}

// setTypes copies the types of the arcs to p.types. It returns false if there are more than 255.
func (p *problem) setTypes() bool {
	p.types = nil
	types, count := p.arcTypes()
	if count > 255 {
		return false
	}
	if count < 2 {
		return true
	}
	table := p.typeTable()
	for i, e := range p.arcs {
		table[e.a<<6|e.b], table[e.b<<6|e.a] = uint8(types[i]), uint8(types[i])
	}
	return true
}

// typeTable sets p.types to its own memory and returns it.
func (p *problem) typeTable() *canon.Types {
	if p.typeMemory == nil {
		p.typeMemory = new(canon.Types)
	}
	p.types = p.typeMemory
	return p.types
}

// part sets p to the problem of a set of nodes of q, which is on words.
func (p *problem) part(q *problem, keep uint64) {
	p.begin(q.g, !q.nodeAttrs && !q.edgeAttrs)
	p.onWords = true
	p.own = p.own[:0]
	for m := keep; m != 0; m &= m - 1 {
		p.own = append(p.own, q.nodes[bits.TrailingZeros64(m)&63])
	}
	p.nodes = p.own
	n := refine.SqueezeRows(p.rowMemory[:], q.rows, keep)
	p.rows = p.rowMemory[:n]
	p.starts = 0
	for s := q.starts; s != 0; s &= s - 1 {
		p.starts |= 1 << (bits.OnesCount64(keep&(s&-s-1)) & 63)
	}
	p.starts &= ^uint64(0) >> (64 - n)
	if q.types == nil {
		return
	}
	var at [maxWords]uint8
	for i, m := 0, keep; m != 0; m &= m - 1 {
		at[i&63] = uint8(bits.TrailingZeros64(m))
		i++
	}
	table := p.typeTable()
	for i, set := range p.rows {
		from, to := q.types[int(at[i&63])<<6:][:maxWords], table[i<<6:][:maxWords]
		for ; set != 0; set &= set - 1 {
			j := bits.TrailingZeros64(set) & 63
			to[j] = from[at[j]&63]
		}
	}
}

// partOf sets p to the problem of some nodes of q, which is on lists. keep ascends. words permits a
// problem on words.
func (p *problem) partOf(q *problem, keep []int32, words bool) {
	p.begin(q.g, !q.nodeAttrs && !q.edgeAttrs)
	p.own, p.dist, p.arcs = p.own[:0], p.dist[:0], p.arcs[:0]
	p.order = scratch.Resize(p.order, len(q.nodes))
	number := p.order
	for i := range number {
		number[i] = -1
	}
	for i, v := range keep {
		number[v] = int32(i)
		p.own, p.dist = append(p.own, q.nodes[v]), append(p.dist, q.dist[v])
	}
	p.nodes = p.own
	for _, e := range q.arcs {
		if a, b := number[e.a], number[e.b]; a >= 0 && b >= 0 {
			p.arcs = append(p.arcs, arc{a, b, e.entry})
		}
	}
	if p.onWords = words && len(keep) <= maxWords && (!p.edgeAttrs || p.setTypes()); p.onWords {
		p.setRows()
	}
}

// setRows sets the rows of p from its arcs.
func (p *problem) setRows() {
	p.starts = refine.Starts(p.dist)
	p.rows = p.rowMemory[:len(p.nodes)]
	clear(p.rows)
	for _, e := range p.arcs {
		p.rows[e.a] |= 1 << e.b
		p.rows[e.b] |= 1 << e.a
	}
}

// list sets the arcs of p from its rows.
func (p *problem) list() {
	p.arcs, p.rank, p.dist = p.arcs[:0], p.rank[:0], scratch.Resize(p.dist, len(p.nodes))
	level := uint8(0)
	for i, row := range p.rows {
		if i > 0 {
			level += uint8(p.starts >> i & 1)
		}
		p.dist[i] = level
		for m := row & (1<<i - 1); m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			p.arcs = append(p.arcs, arc{a: int32(i), b: int32(j)})
			if p.types == nil {
				p.rank = append(p.rank, 0)
			} else {
				p.rank = append(p.rank, uint32(p.types[i<<6|j]))
			}
		}
	}
}
