package canon

import (
	"math/bits"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// bitSearch is the search for undirected graphs of at most 64 nodes without edge colours. Rows,
// cells and matrix rows are words. In a matrix row, the column at position i is bit 63-i, so rows
// compare as numbers.
type bitSearch struct {
	n       int
	rows    []uint64
	budget  int
	visited int
	stop    func() bool // ends the search if it returns true; nil: the search is not stopped
	found   refine.Automorphisms
	order   [64]int32 // nodes that the current path has placed, by position
	best    [64]int32
	// matrix has the rows of the best matrix. If complete is false, the current path leads to a
	// leaf better than all before, and only its rows are valid.
	matrix   [64]uint64
	complete bool
	levels   []*bitLevel
	cells    [64]uint64
	old      [64]uint64 // scratch of place
	tied     [64]int32  // candidates of the current position
}

// bitLevel is the state of a branching position: the cells of unplaced nodes and the candidates.
type bitLevel struct {
	cells      [64]uint64
	count      int
	candidates [64]int32
}

// run returns the best order that respects the cells, none of them empty, and whether the search
// proved it.
func (s *bitSearch) run(rows, cells []uint64, budget int) (order []int32, done bool) {
	n := len(rows)
	s.n, s.rows, s.budget, s.visited, s.complete = n, rows, budget, 0, false
	s.found.Reset()
	s.descend(0, s.cells[:], copy(s.cells[:], cells))
	return s.best[:n], s.visited <= s.budget
}

// row returns the greatest row that v can still have at position at, without the columns of placed
// nodes, which are equal for all candidates.
func (s *bitSearch) row(v int, at int, cells []uint64) uint64 {
	adj, row, end := s.rows[v], uint64(0), at
	for _, m := range cells {
		d := bits.OnesCount64(adj & m)
		row |= (1<<d - 1) << (64 - end - d)
		end += bits.OnesCount64(m)
	}
	return row
}

// descend places nodes from position at on until a tie makes it branch. It returns the position to
// which the search may return. It overwrites cells.
func (s *bitSearch) descend(at int, cells []uint64, count int) int {
	for ; at < s.n; at++ {
		target := cells[0]
		var row uint64
		tied, ties := &s.tied, 0
		for m := target; m != 0; m &= m - 1 {
			v := bits.TrailingZeros64(m)
			x := s.row(v, at, cells[:count])
			if ties > 0 && x < row {
				continue
			}
			if x > row {
				row, ties = x, 0
			}
			if !s.twinOf(v, tied[:ties]) {
				tied[ties] = int32(v)
				ties++
			}
		}
		if !s.keeps(at, row) {
			return s.n
		}
		if ties > 1 {
			return s.branch(at, cells, count, tied[:ties])
		}
		s.order[at] = tied[0]
		count = s.place(int(tied[0]), cells, count)
	}
	return s.leaf()
}

// twinOf reports whether v has the same neighbours as an earlier candidate.
func (s *bitSearch) twinOf(v int, earlier []int32) bool {
	for _, u := range earlier {
		if s.rows[u]&^(1<<v) == s.rows[v]&^(1<<u) {
			return true
		}
	}
	return false
}

// keeps compares a row with the best matrix. It reports whether the path may still be the best.
func (s *bitSearch) keeps(at int, row uint64) bool {
	if s.complete {
		if row < s.matrix[at] {
			return false
		}
		s.complete = row == s.matrix[at]
	}
	s.matrix[at] = row
	return true
}

// place removes v from the first cell and splits every cell into neighbours of v and others, in
// this order.
func (s *bitSearch) place(v int, cells []uint64, count int) int {
	adj := s.rows[v]
	cells[0] &^= 1 << v
	copy(s.old[:count], cells)
	k := 0
	for _, m := range s.old[:count] {
		if a := m & adj; a != 0 {
			cells[k] = a
			k++
		}
		if b := m &^ adj; b != 0 {
			cells[k] = b
			k++
		}
	}
	return k
}

func (s *bitSearch) branch(at int, cells []uint64, count int, tied []int32) int {
	for len(s.levels) <= at {
		s.levels = append(s.levels, &bitLevel{})
	}
	l := s.levels[at]
	l.count = copy(l.cells[:], cells[:count])
	ties := copy(l.candidates[:], tied)
	s.found.Enter(s.order[:at])
	for i, v := range l.candidates[:ties] {
		if i > 0 {
			if s.visited >= s.budget || s.stop != nil && s.stop() {
				s.visited = s.budget + 1
				return s.n
			}
			if s.found.Covers(at, v, l.candidates[:i]) {
				continue
			}
			copy(cells, l.cells[:l.count])
		}
		s.visited++
		s.order[at] = v
		if back := s.descend(at+1, cells, s.place(int(v), cells, l.count)); back < at {
			return back
		}
	}
	return s.n
}

func (s *bitSearch) leaf() int {
	if s.complete {
		best, order := s.best[:s.n], s.order[:s.n]
		return s.found.Add(s.found.Mapping(best, order), best, order)
	}
	s.complete = true
	copy(s.best[:], s.order[:s.n])
	return s.n
}
