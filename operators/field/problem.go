package field

import (
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// maxWords is the largest number of nodes whose sets are machine words.
const maxWords = 64

// problem is the graph that some nodes induce, with all that their order depends on:
// levels, edges, and the types of nodes and edges. Nodes have numbers from 0, in the
// order of Assemble. The order of two problems with the same content is the same.
//
// A type is the rank of attributes among those of the problem, or the attribute
// itself if there is one that is discrete. Types of nodes are gathered when a tie
// asks for them.
type problem struct {
	g     *graph.Graph
	nodes []int32 // in g, borrowed or in own
	dist  []uint8 // on lists only
	// Whether nodes and edges have attributes that have a say.
	nodeAttrs, edgeAttrs bool

	// On words: at most 64 nodes, undirected.
	onWords bool
	starts  uint64       // where levels begin; see refine.Starts
	rows    []uint64     // the neighbours of each node
	types   *canon.Types // of edges; nil if all are the same

	// On lists.
	arcs  []arc
	rank  []uint32 // by arc: its type; see arcTypes
	lists arcRows

	typed bool    // nodeType is known
	node  []int32 // types of the nodes

	key  []uint64 // of the memo
	hash uint64   // of key; 0 where the problem is not to be remembered

	own        []int32
	keep       []int32 // the nodes of part, in numbers of the whole problem
	rowMemory  [maxWords]uint64
	typeMemory *canon.Types
	order      []int32 // scratch
}

// begin makes p a problem of some nodes of g, without edges yet.
func (p *problem) begin(g *graph.Graph, ignore bool) {
	p.g = g
	p.nodeAttrs = !ignore && g.HasNodeAttributes()
	p.edgeAttrs = !ignore && g.EdgeCats+g.EdgeAttrs > 0
	p.typed, p.types, p.rank = false, nil, p.rank[:0]
}

// nodeTypes returns the types of the nodes, or nil if nodes have no attributes.
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

// sorted returns the numbers below n in the given order, borrowed.
func (p *problem) sorted(n int, compare func(i, j int32) int) []int32 {
	p.order = scratch.Resize(p.order, n)
	for i := range p.order {
		p.order[i] = int32(i)
	}
	slices.SortFunc(p.order, compare)
	return p.order
}

// arcTypes returns the types of the arcs of a problem on lists, ranked from 0, and
// their number; without attributes all are 0.
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

// setTypes makes the types of arcs those of edges on words, and reports whether they
// fit.
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

// typeTable makes p one whose edges have types.
func (p *problem) typeTable() *canon.Types {
	if p.typeMemory == nil {
		p.typeMemory = new(canon.Types)
	}
	p.types = p.typeMemory
	return p.types
}

// part makes p the problem of some nodes of q, which is on words.
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

// partOf is part for a problem on lists; keep ascends. words says that what fits is
// to be on words.
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

// setRows makes the arcs rows.
func (p *problem) setRows() {
	p.starts = refine.Starts(p.dist)
	p.rows = p.rowMemory[:len(p.nodes)]
	clear(p.rows)
	for _, e := range p.arcs {
		p.rows[e.a] |= 1 << e.b
		p.rows[e.b] |= 1 << e.a
	}
}

// list makes lists of a problem on words, which stays one.
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
