package refine

import (
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// Rows is a graph in the form that refinement reads. The entries Off[u] … Off[u+1] of node u name
// its neighbours, and Code, if not nil, the relation to each. Every relation is listed at both
// ends, each with the code seen from the owner of the row: an arc u→v has one code in the row of u
// and another in the row of v. A neighbour occurs once per relation. The order inside a row does
// not matter.
type Rows struct {
	Off, Nbr []int32
	Code     []uint32
}

// Row returns the neighbours of u. The slice is borrowed.
func (g *Rows) Row(u int32) []int32 { return g.Nbr[g.Off[u]:g.Off[u+1]] }

// Partition is an ordered partition of the nodes 0 … n-1. Names of cells have no order; first has
// the positions of the cells.
type Partition struct {
	// Elems holds the nodes cell by cell, the first cell first.
	Elems []int32
	pos   []int32 // pos[v] is the position of v in Elems
	cell  []int32 // cell[v] is the name of the cell of v
	first []int32 // by name: position of the first node
	size  []int32 // by name: number of nodes
	cells int32
}

// Reset makes p the partition of 0 … n-1 into one cell, none if n is 0.
func (p *Partition) Reset(n int) {
	p.Elems = scratch.Resize(p.Elems, n)
	p.pos = scratch.Resize(p.pos, n)
	p.cell = scratch.Resize(p.cell, n)
	p.first = scratch.Resize(p.first, n)
	p.size = scratch.Resize(p.size, n)
	for v := range p.Elems {
		p.Elems[v], p.pos[v], p.cell[v] = int32(v), int32(v), 0
	}
	p.cells = 0
	if n > 0 {
		p.cells, p.first[0], p.size[0] = 1, 0, int32(n)
	}
}

// CopyFrom makes p equal to q without sharing memory. O(n).
func (p *Partition) CopyFrom(q *Partition) {
	p.Elems = append(p.Elems[:0], q.Elems...)
	p.pos = append(p.pos[:0], q.pos...)
	p.cell = append(p.cell[:0], q.cell...)
	p.first = append(p.first[:0], q.first...)
	p.size = append(p.size[:0], q.size...)
	p.cells = q.cells
}

// N returns the number of nodes.
func (p *Partition) N() int { return len(p.Elems) }

// Cells returns the number of cells.
func (p *Partition) Cells() int { return int(p.cells) }

// Discrete reports whether every cell holds one node.
func (p *Partition) Discrete() bool { return int(p.cells) == len(p.Elems) }

// Start returns the position of the first node of v's cell, which is the structural colour of v.
func (p *Partition) Start(v int32) int { return int(p.first[p.cell[v]]) }

// Size returns the number of nodes in the cell of v.
func (p *Partition) Size(v int32) int { return int(p.size[p.cell[v]]) }

// Pos returns the position of v in Elems.
func (p *Partition) Pos(v int32) int { return int(p.pos[v]) }

// Cell returns the nodes of the cell that covers position i, in no particular order. The slice is
// borrowed.
func (p *Partition) Cell(i int) []int32 {
	c := p.cell[p.Elems[i]]
	return p.Elems[p.first[c] : p.first[c]+p.size[c]]
}

// SplitLevels splits the unit partition by levels, which ascend in node order as a breadth-first
// search leaves them.
func (p *Partition) SplitLevels(levels []uint8) {
	for i := len(levels) - 1; i > 0; i-- {
		if levels[i] != levels[i-1] {
			p.cut(i)
		}
	}
}

// SplitFunc splits every cell by compare. Nodes that compare lower come first; nodes that compare
// equal stay together. The worklist does not change.
func (p *Partition) SplitFunc(compare func(u, v int32) int) {
	for i := 0; i < len(p.Elems); {
		c := p.cell[p.Elems[i]]
		size := int(p.size[c])
		if size > 1 {
			nodes := p.Elems[i : i+size]
			slices.SortFunc(nodes, compare)
			for j, v := range nodes {
				p.pos[v] = int32(i + j)
			}
			for j := size - 1; j > 0; j-- {
				if compare(nodes[j-1], nodes[j]) != 0 {
					p.cut(i + j)
				}
			}
		}
		i += size
	}
}

// cut splits the cell that covers position at, so that a new cell begins there. Cutting a cell from
// its end towards its start costs O(size) in all.
func (p *Partition) cut(at int) {
	old := p.cell[p.Elems[at]]
	end := int(p.first[old] + p.size[old])
	name := p.cells
	p.cells++
	p.first[name], p.size[name] = int32(at), int32(end-at)
	p.size[old] -= int32(end - at)
	for _, v := range p.Elems[at:end] {
		p.cell[v] = name
	}
}
