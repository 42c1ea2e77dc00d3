package canon

import (
	"math/bits"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// parts divides a problem on words into independent ones.
//
// A block of the matrix between two cells that is all zeros or all ones (or all of one type) is the
// same in every order. Other blocks are mixed. Cells that mixed blocks do not connect can be
// ordered independently: of two orders that differ in one part only, the greater matrix is the one
// with the greater block of that part, and the same holds for the smallest node numbers among
// equals. A cell without a mixed block, not even with itself, holds twins and is ordered by number.
type parts struct {
	order  [64]int32
	cellOf [64]uint64 // by node: its cell
	first  [64]uint8  // by smallest node of a cell: position of the cell
	part   [64]uint64 // parts found so far, disjoint
	rows   [64]uint64 // rows of the current part, its nodes renumbered
	cells  [64]uint64
	nodes  [64]int32 // nodes of the current part, ascending

	// The next fields serve problems whose edges have types.
	types  *Types // nil if all edges have one type
	matrix *matrixSearch
	sub    []uint16
	colors [64]int32
}

// solve returns the best order that respects the cells, and whether the searches proved it. Each
// part has the whole budget.
func (p *parts) solve(s *bitSearch, rows, cells []uint64, budget int) (order []int32, visited int, done bool) {
	n := len(rows)
	at := 0
	for _, c := range cells {
		p.first[bits.TrailingZeros64(c)] = uint8(at)
		for m := c; m != 0; m &= m - 1 {
			v := bits.TrailingZeros64(m)
			p.order[at] = int32(v)
			p.cellOf[v] = c
			at++
		}
	}
	count := p.find(rows, cells)
	done = true
	for _, part := range p.part[:count] {
		sub, ok := p.one(s, rows, part, budget)
		visited += s.visited
		done = done && ok
		// The cells of a part may be apart, and its order respects them.
		i := 0
		for m := part; i < len(sub); {
			c := p.nextCell(m)
			m &^= c
			at := p.first[bits.TrailingZeros64(c)]
			for range bits.OnesCount64(c) {
				p.order[at] = p.nodes[sub[i]]
				at++
				i++
			}
		}
	}
	return p.order[:n], visited, done
}

// nextCell returns the first cell of a set of cells.
func (p *parts) nextCell(set uint64) uint64 {
	best := uint64(0)
	for m := set; m != 0; {
		c := p.cellOf[bits.TrailingZeros64(m)]
		m &^= c
		if best == 0 || p.first[bits.TrailingZeros64(c)] < p.first[bits.TrailingZeros64(best)] {
			best = c
		}
	}
	return best
}

// find sets p.part to the parts, the sets of cells that mixed blocks connect, and returns their number. A
// cell without a mixed block is in no part.
func (p *parts) find(rows, cells []uint64) int {
	count := 0
	for _, c := range cells {
		if c&(c-1) == 0 {
			continue
		}
		some, every := uint64(0), ^uint64(0)
		for m := c; m != 0; m &= m - 1 {
			v := bits.TrailingZeros64(m)
			some |= rows[v]
			every &= rows[v] | 1<<v
		}
		mixed := some &^ every &^ c
		within := some&c != 0 && every&c != c
		if p.types != nil {
			for m := every &^ c; m != 0; {
				other := p.cellOf[bits.TrailingZeros64(m)]
				if !p.oneType(c, other&m) {
					mixed |= other
				}
				m &^= other
			}
			within = within || some&c != 0 && !p.oneType(c, c)
		}
		if mixed == 0 && !within {
			continue
		}
		part := c
		for mixed != 0 {
			other := p.cellOf[bits.TrailingZeros64(mixed)]
			part |= other
			mixed &^= other
		}
		kept := 0
		for _, q := range p.part[:count] {
			if q&part != 0 {
				part |= q
			} else {
				p.part[kept] = q
				kept++
			}
		}
		p.part[kept] = part
		count = kept + 1
	}
	return count
}

// one returns the best order of the nodes of a part, as indices of p.nodes.
func (p *parts) one(s *bitSearch, rows []uint64, part uint64, budget int) ([]int32, bool) {
	n := 0
	s.visited = 0
	for m := part; m != 0; m &= m - 1 {
		v := bits.TrailingZeros64(m)
		p.nodes[n], p.rows[n] = int32(v), refine.Squeeze(rows[v], part)
		n++
	}
	count := 0
	for m := part; m != 0; {
		c := p.nextCell(m)
		m &^= c
		p.cells[count] = refine.Squeeze(c, part)
		count++
	}
	if p.types != nil && p.subCodes(rows, n) {
		for i, c := range p.cells[:count] {
			for ; c != 0; c &= c - 1 {
				p.colors[bits.TrailingZeros64(c)] = int32(i)
			}
		}
		order, done := p.matrix.run(n, p.sub, p.colors[:n], budget)
		s.visited = p.matrix.visited
		return order, done
	}
	return s.run(p.rows[:n], p.cells[:count], budget)
}

// oneType reports whether all edges from nodes of a to other nodes of b have one type. Every such
// pair is joined.
func (p *parts) oneType(a, b uint64) bool {
	first := bits.TrailingZeros64(a)
	want := p.types[first<<6|bits.TrailingZeros64(b&^(1<<first))]
	for ; a != 0; a &= a - 1 {
		u := bits.TrailingZeros64(a)
		row := p.types[u<<6:][:64]
		for m := b &^ (1 << u); m != 0; m &= m - 1 {
			if row[bits.TrailingZeros64(m)] != want {
				return false
			}
		}
	}
	return true
}

// subCodes sets p.sub to the codes of the current part of n nodes. It reports whether its edges
// have several types.
func (p *parts) subCodes(rows []uint64, n int) (several bool) {
	p.sub = scratch.Resize(p.sub, n*n)
	first := uint16(0)
	for i, u := range p.nodes[:n] {
		for j, v := range p.nodes[:n] {
			code := p.types.code(rows, int(u), int(v))
			p.sub[i*n+j] = code
			if first == 0 {
				first = code
			}
			several = several || code != 0 && code != first
		}
	}
	return several
}
