package canon

import (
	"math/bits"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// parts cuts a problem on words into independent ones.
//
// Two cells matter to each other only if some nodes of one have neighbours among
// some, but not all, of the other: a block of the matrix that is full of zeros or
// of ones (or of one type of edges) stays so in every order. Cells that do not hang together by such mixed
// blocks can be ordered independently, since of two orders that differ in one
// part only, the greater matrix is the one that is greater in the block of that
// part; so are the smallest node numbers among equals. A cell that is in no mixed
// block, not even with itself, holds twins and is ordered by number.
type parts struct {
	order  [64]int32
	cellOf [64]uint64 // by node: its cell
	first  [64]uint8  // by the smallest node of a cell: the cell's position
	part   [64]uint64 // the parts found so far, disjoint
	rows   [64]uint64 // of the part at hand, its nodes renumbered
	cells  [64]uint64
	nodes  [64]int32  // of the part, ascending
	single uint64     // the nodes that are alone in their cells
	key    [64]uint64 // of sort
	inside uint64     // the cells that are mixed with themselves

	// Of a problem with types of edges.
	types  *Types // or nil
	matrix *matrixSearch
	sub    []uint16
	colors [64]int32
}

// solve returns the best order of the nodes that respects the cells and whether
// it is proven to be the best. Every part has the whole budget.
func (p *parts) solve(s *bitSearch, rows, cells []uint64, budget int) (order []int32, visited int, done bool) {
	n := len(rows)
	at := 0
	p.single, p.inside = 0, 0
	for _, c := range cells {
		if c&(c-1) == 0 {
			p.single |= c
		}
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
		if p.sort(rows, cells, part) {
			continue
		}
		sub, ok := p.one(s, rows, part, budget)
		visited += s.visited
		done = done && ok
		// The order of the part keeps to its cells, which may lie apart.
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

// sort orders a part in which only one cell has choices, none of them inside: by
// the columns of the other nodes, in their order, greatest entries first. It reports
// whether the part is one.
func (p *parts) sort(rows, cells []uint64, part uint64) bool {
	cell, others := part&^p.single, part&p.single
	if p.cellOf[bits.TrailingZeros64(cell)] != cell || cell&p.inside != 0 || bits.OnesCount64(others) > 7 {
		return false
	}
	key := &p.key
	for m := cell; m != 0; m &= m - 1 {
		key[bits.TrailingZeros64(m)] = 0
	}
	for others != 0 {
		one := others
		if one&(one-1) != 0 {
			one = p.nextCell(others)
		}
		others &^= one
		u := bits.TrailingZeros64(one)
		row := rows[u]
		for m := cell; m != 0; m &= m - 1 {
			v := bits.TrailingZeros64(m)
			code := row >> v & 1
			if p.types != nil && code == 1 {
				code += uint64(p.types[u<<6|v])
			}
			key[v] = key[v]<<9 | code
		}
	}
	begin := int(p.first[bits.TrailingZeros64(cell)])
	end := begin
	for ; cell != 0; cell &= cell - 1 {
		v := int32(bits.TrailingZeros64(cell))
		i := end
		for ; i > begin && key[p.order[i-1]] < key[v]; i-- {
			p.order[i] = p.order[i-1]
		}
		p.order[i] = v
		end++
	}
	return true
}

// nextCell returns the cell of a set of cells that stands first.
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

// find writes the parts with choices to p.part and returns their number.
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
		if within {
			p.inside |= c
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

// one returns the best order of the nodes of one part, as places in p.nodes.
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

// oneType reports whether all edges from nodes of a to other nodes of b have the
// same type. There is one between any two of them.
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

// subCodes writes the codes of the part at hand, of n nodes among those of rows, to
// p.sub, and reports whether its edges are of more than one type.
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
