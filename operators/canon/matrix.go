package canon

import (
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// matrixSearch is the search for any matrix of codes. A row is a list of n codes, in the order of
// the columns.
type matrixSearch struct {
	n        int
	codes    []uint16
	budget   int
	visited  int
	stop     func() bool // ends the search if it returns true; nil: the search is not stopped
	found    refine.Automorphisms
	order    []int32  // placed nodes, then the unplaced ones cell by cell
	last     []bool   // last[i] is set if a cell ends at position i
	best     []int32  // best order
	rows     []uint16 // best matrix, (n, n); see bitSearch.matrix
	complete bool
	row, max []uint16
	tied     []int32
	levels   []*matrixLevel
}

type matrixLevel struct {
	order      []int32
	last       []bool
	candidates []int32
}

// run returns the best order and whether the search proved it.
func (s *matrixSearch) run(n int, codes []uint16, colors []int32, budget int) (order []int32, done bool) {
	s.n, s.codes, s.budget, s.visited, s.complete = n, codes, budget, 0, false
	s.order = scratch.Resize(s.order, n)
	s.last = scratch.Resize(s.last, n)
	s.rows = scratch.Resize(s.rows, n*n)
	s.row = scratch.Resize(s.row, n)
	s.max = scratch.Resize(s.max, n)
	for v := range s.order {
		s.order[v] = int32(v)
	}
	slices.SortStableFunc(s.order, func(u, v int32) int { return int(colors[u]) - int(colors[v]) })
	discrete := true
	for i, v := range s.order {
		s.last[i] = i == n-1 || colors[v] != colors[s.order[i+1]]
		discrete = discrete && s.last[i]
	}
	s.best = append(s.best[:0], s.order...)
	if discrete {
		return s.best, true
	}
	s.found.Reset()
	s.descend(0)
	return s.best, s.visited <= s.budget
}

// descend places nodes from position at on until a tie makes it branch. It returns the position to
// which the search may return.
func (s *matrixSearch) descend(at int) int {
	for ; at < s.n; at++ {
		if s.stop != nil && s.stop() {
			s.visited = s.budget + 1
			return 0
		}
		end := at
		for !s.last[end] {
			end++
		}
		s.tied = s.tied[:0]
		slices.Sort(s.order[at : end+1])
		for i, v := range s.order[at : end+1] {
			s.writeRow(v, at, end)
			c := 1
			if i > 0 {
				c = slices.Compare(s.row, s.max)
			}
			if c < 0 {
				continue
			}
			if c > 0 {
				s.row, s.max = s.max, s.row
				s.tied = s.tied[:0]
			}
			if !s.twinOf(v, s.tied) {
				s.tied = append(s.tied, v)
			}
		}
		if !s.keeps(at) {
			return s.n
		}
		if len(s.tied) > 1 {
			return s.branch(at)
		}
		s.place(s.tied[0], at)
	}
	return s.leaf()
}

// writeRow sets s.row to the greatest row that v can still have at position at. end is the last
// position of its cell.
func (s *matrixSearch) writeRow(v int32, at, end int) {
	codes := s.codes[int(v)*s.n : (int(v)+1)*s.n]
	for i, u := range s.order[:at] {
		s.row[i] = codes[u]
	}
	s.row[at] = codes[v]
	i := at + 1
	for _, u := range s.order[at : end+1] {
		if u != v {
			s.row[i] = codes[u]
			i++
		}
	}
	descending(s.row[at+1 : end+1])
	for i = end + 1; i < s.n; {
		begin := i
		for {
			s.row[i] = codes[s.order[i]]
			i++
			if s.last[i-1] {
				break
			}
		}
		descending(s.row[begin:i])
	}
}

func descending(x []uint16) {
	for i := 1; i < len(x); i++ {
		if x[i] > x[i-1] {
			slices.Sort(x)
			slices.Reverse(x)
			return
		}
	}
}

// twinOf reports whether an exchange of v and an earlier candidate leaves the matrix unchanged.
func (s *matrixSearch) twinOf(v int32, earlier []int32) bool {
	n := s.n
	y := int(v)
next:
	for _, u := range earlier {
		x := int(u)
		if s.codes[x*n+y] != s.codes[y*n+x] || s.codes[x*n+x] != s.codes[y*n+y] {
			continue
		}
		for w := range n {
			if w != x && w != y && (s.codes[x*n+w] != s.codes[y*n+w] || s.codes[w*n+x] != s.codes[w*n+y]) {
				continue next
			}
		}
		return true
	}
	return false
}

// keeps compares s.max with the best matrix. It reports whether the path may still be the best.
func (s *matrixSearch) keeps(at int) bool {
	row := s.rows[at*s.n : (at+1)*s.n]
	if s.complete {
		c := slices.Compare(s.max, row)
		if c < 0 {
			return false
		}
		s.complete = c == 0
	}
	copy(row, s.max)
	return true
}

// place moves v to position at and splits the cells behind it by the codes of v's row, greater
// codes first.
func (s *matrixSearch) place(v int32, at int) {
	i := at
	for s.order[i] != v {
		i++
	}
	s.order[i], s.order[at] = s.order[at], v
	s.last[at] = true
	codes := s.codes[int(v)*s.n : (int(v)+1)*s.n]
	for begin := at + 1; begin < s.n; {
		end := begin
		differ := false
		for !s.last[end] {
			end++
			differ = differ || codes[s.order[end]] != codes[s.order[begin]]
		}
		if differ {
			cell := s.order[begin : end+1]
			slices.SortFunc(cell, func(a, b int32) int { return int(codes[b]) - int(codes[a]) })
			for i := 1; i < len(cell); i++ {
				if codes[cell[i]] != codes[cell[i-1]] {
					s.last[begin+i-1] = true
				}
			}
		}
		begin = end + 1
	}
}

func (s *matrixSearch) branch(at int) int {
	for len(s.levels) <= at {
		s.levels = append(s.levels, &matrixLevel{})
	}
	l := s.levels[at]
	l.order = append(l.order[:0], s.order...)
	l.last = append(l.last[:0], s.last...)
	l.candidates = append(l.candidates[:0], s.tied...)
	s.found.Enter(s.order[:at])
	for i, v := range l.candidates {
		if i > 0 {
			if s.visited >= s.budget {
				s.visited = s.budget + 1
				return s.n
			}
			if s.found.Covers(at, v, l.candidates[:i]) {
				continue
			}
			copy(s.order, l.order)
			copy(s.last, l.last)
		}
		s.visited++
		s.place(v, at)
		if back := s.descend(at + 1); back < at {
			return back
		}
	}
	return s.n
}

func (s *matrixSearch) leaf() int {
	if s.complete {
		return s.found.Add(s.found.Mapping(s.best, s.order), s.best, s.order)
	}
	s.complete = true
	copy(s.best, s.order)
	return s.n
}
