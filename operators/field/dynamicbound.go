package field

import (
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/operators/internal/scatter"
)

// ranks is what a DynamicIndex with a bound keeps of the ranks of nodes: see SetBound. A
// change of an edge changes the degrees of its ends, hence what is hashed within one step of
// them, and the hashes of the nodes within two. The former is kept and follows the changes.
// The hash of a node itself is computed where the cut parts nodes of its degree.
type ranks struct {
	most       int
	structure  hashed
	attributes hashed
	attributed bool
	moved      []int32 // nodes with other rows or attributes since the last settle, perhaps repeatedly
	near       marks
	within     []int32
}

// hashed is what the hashes around nodes are made of, by node.
type hashed struct {
	first  []uint64 // of the node alone, scattered
	own    []uint64 // within one step
	second []uint64 // own, scattered
}

func (h *hashed) grow(n int) {
	for _, x := range []*[]uint64{&h.first, &h.own, &h.second} {
		*x = append(*x, make([]uint64, n)...)
	}
}

// SetBound bounds the neighbourhoods of the index as Index.SetBound does; 0 is no bound. O(n + m).
// A change then costs the rows of the nodes within one step of it, when Index is called. An
// index with a bound takes 24 bytes for each node, and 48 with attributes. Levels
// are read whole before they are cut, so that a field costs the rows of hubs beside it.
func (d *DynamicIndex) SetBound(most int) {
	if most < 0 {
		panic(fmt.Sprintf("field: bound is %d, want 0 or more", most))
	}
	d.ix.ranks = nil
	if most == 0 {
		return
	}
	g := &d.g
	d.ix.ranks = &ranks{most: most, attributed: g.HasNodeAttributes() || g.EdgeCats+g.EdgeAttrs > 0}
	d.ix.growRanks(d.ix.N())
}

// growRanks makes room for new nodes.
func (ix *Index) growRanks(n int) {
	r := ix.ranks
	begin := len(r.structure.own)
	r.structure.grow(n)
	if r.attributed {
		r.attributes.grow(n)
	}
	for v := begin; v < begin+n; v++ {
		r.moved = append(r.moved, int32(v))
	}
}

// settle makes the hashes those of the graph as it is.
func (ix *Index) settle() {
	r, g := ix.ranks, ix.g
	if r == nil || len(r.moved) == 0 {
		return
	}
	for _, v := range r.moved {
		r.structure.first[v] = scatter.Bits(ix.degreesOf(v))
		if r.attributed {
			r.attributes.first[v] = scatter.Bits(ix.attributesOf(v))
		}
	}
	r.near.next(ix.N())
	r.within = ix.around(r.moved, r.within[:0], &r.near)
	edgeAttrs := g.EdgeCats+g.EdgeAttrs > 0
	for _, v := range r.within {
		own := ix.hashOf(v, ix.degreesOf(v), r.structure.first, false)
		r.structure.own[v], r.structure.second[v] = own, scatter.Bits(own)
		if r.attributed {
			own := ix.hashOf(v, ix.attributesOf(v), r.attributes.first, edgeAttrs)
			r.attributes.own[v], r.attributes.second[v] = own, scatter.Bits(own)
		}
	}
	r.moved = r.moved[:0]
}

// around appends some nodes and their neighbours by arcs of either direction, each once.
func (ix *Index) around(nodes, to []int32, seen *marks) []int32 {
	to = seen.meet(nodes, to)
	for _, v := range nodes {
		to = seen.meet(ix.adj.row(v), to)
		if ix.g.Directed {
			to = seen.meet(ix.in.row(v), to)
		}
	}
	return to
}

// hashOf is one step of hashAround for node v of an index that changes.
func (ix *Index) hashOf(v int32, own uint64, mixed []uint64, edgeAttrs bool) uint64 {
	sum := ix.hashRow(v, own, mixed, edgeAttrs)
	if ix.g.Directed {
		for _, u := range ix.in.row(v) {
			x := arriving(mixed[u])
			if edgeAttrs {
				x = hashEdge(ix.g, x, ix.adj.find(u, v))
			}
			sum += x
		}
	}
	return scatter.Bits(sum)
}

func (ix *Index) structureAround(v int32) uint64 {
	h := &ix.ranks.structure
	return ix.hashOf(v, h.own[v], h.second, false)
}

func (ix *Index) attributesAround(v int32) uint64 {
	h := &ix.ranks.attributes
	return ix.hashOf(v, h.own[v], h.second, ix.g.EdgeCats+ix.g.EdgeAttrs > 0)
}

// rankCut is the scratch of cutByRank, and what it has done.
type rankCut struct {
	most   int     // of the last cut: the greatest degree of a node that is taken
	by     cutBy   // how the last level was cut
	counts []int32 // by degree; zero between calls
	tied   []rankKey
}

// cutBy says what decided which nodes of the last level are taken.
type cutBy uint8

const (
	uncut    cutBy = iota // all are
	byDegree              // all of some degrees are, and none of others
	byHash                // the cut parts nodes of the same degree
)

// cutByRank cuts the last level of a.hood to the first nodes in rank, as Assemble does it with
// Index.SetBound.
func (a *Assembler) cutByRank(ix *Index) (hood []int32, dist []uint8) {
	c, most := &a.cut, ix.ranks.most
	c.by = uncut
	if len(a.hood) <= most {
		return a.hood, a.dist
	}
	base, _ := slices.BinarySearch(a.dist, a.dist[len(a.dist)-1])
	level := a.hood[base:]
	for _, v := range level {
		d := ix.degree(v)
		if d >= len(c.counts) {
			c.counts = append(c.counts, make([]int32, d+1-len(c.counts))...)
		}
		c.counts[d]++
	}
	room, degree := most-base, 0
	for ; room > int(c.counts[degree]); degree++ {
		room -= int(c.counts[degree])
	}
	c.most, c.by = degree, byDegree
	if int(c.counts[degree]) > room {
		c.by = byHash
	}
	taken := base
	c.tied = c.tied[:0]
	for _, v := range level {
		d := ix.degree(v)
		c.counts[d] = 0
		switch {
		case d > degree:
		case d == degree && c.by == byHash:
			c.tied = append(c.tied, rankKey{hash: ix.structureAround(v), degree: uint32(d), node: v})
			if len(c.tied) == 2*room+16 {
				c.first(ix, room)
			}
		default:
			a.hood[taken] = v
			taken++
		}
	}
	a.hood = a.hood[:taken]
	if c.by == byHash {
		c.first(ix, room)
		for _, x := range c.tied {
			a.hood = append(a.hood, x.node)
		}
		slices.Sort(a.hood[base:])
	}
	return a.hood, a.dist[:most]
}

// first leaves the first nodes of c.tied in rank.
func (c *rankCut) first(ix *Index, room int) {
	around := ix.attributesAround
	if !ix.ranks.attributed {
		around = nil
	}
	slices.SortFunc(c.tied, func(x, y rankKey) int { return compareRanks(ix.g, x, y, around) })
	c.tied = c.tied[:room]
}

// class numbers what a kept field depends on beside its neighbourhood: 0 if ranks do not
// matter, 1 if degrees do, and above that also the hashes of the nodes of a degree.
func (c *rankCut) class() uint8 {
	switch c.by {
	case byDegree:
		return 1
	case byHash:
		return 2 + degreeClass(c.most)
	}
	return 0
}

// degreeClass numbers degrees; large ones share a number.
func degreeClass(degree int) uint8 { return uint8(min(degree, otherRow-1)) }

// otherRow is the number of nodes with other rows or attributes, behind those of degrees.
const otherRow = 63
