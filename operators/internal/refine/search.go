package refine

import "slices"

// Leaves compares the leaves of a Search, which are partitions that are fine enough.
type Leaves interface {
	// Compare returns a positive number if the leaf p is better than the best one so far, and zero
	// if it is equivalent.
	Compare(p *Partition) int
	// Keep stores p as the best leaf so far.
	Keep(p *Partition)
}

// Search finds, among all ways to individualise and refine, one that depends on structure alone. At
// every node of the search tree it individualises the nodes of the target cell one after the other,
// in the order of their numbers. The child with the greatest trace survives (Refiner.Trace,
// compared element by element), and of the leaves the greatest, the first of equals. Search does
// not branch on cells that are Alike or orbits. If a leaf is the image of the best one under an
// automorphism, children that are images of visited ones are left out.
//
// The zero value is ready.
type Search struct {
	// Cut is the position at which the partition must have a cell boundary; target cells are the
	// ones across it. If Cut is 0, the partition must become discrete apart from twins, and target
	// cells come in order.
	Cut int
	// Budget bounds the number of visited children; 0 means 1000. Beyond it the smallest node
	// number is taken. The result is then a function of the input, but not of its structure alone.
	Budget int
	r      *Refiner
	g      Rows
	leaves Leaves

	budget   int
	spent    int
	best     []int32 // trace of the best path, complete if hasLeaf is set
	trace    int     // length of the trace of the current path
	hasLeaf  bool
	path     []int32 // nodes individualised at branches
	bestPath []int32
	bestLeaf Partition
	bestFull []int32 // the best leaf made discrete; empty until it is needed
	full     []int32
	here     Partition
	check    rowsCheck
	levels   []*level
	orbits   orbits
	found    Automorphisms
}

// level is the state of a node of the search tree.
type level struct {
	saved      Partition
	candidates []int32
}

// Run searches from the stable partition in r, passes leaves to leaves, and returns the number of
// visited children and whether the budget sufficed. Afterwards r is some leaf, not necessarily the
// best. If Stop ends the search, there may be no leaf.
func (s *Search) Run(r *Refiner, g Rows, leaves Leaves) (visited int, exact bool) {
	s.r, s.g, s.leaves = r, g, leaves
	s.spent, s.trace, s.hasLeaf = 0, 0, false
	s.best, s.path, s.bestPath = s.best[:0], s.path[:0], s.bestPath[:0]
	s.found.Reset()
	s.budget = s.Budget
	if s.budget == 0 {
		s.budget = 1000
	}
	s.orbits.reset(r.N())
	tracing := r.Tracing
	r.Tracing = false
	s.descend(0, 0)
	r.Tracing = tracing
	s.r, s.leaves, s.g = nil, nil, Rows{}
	return s.spent, s.spent <= s.budget
}

// descend visits the subtree of the current partition. It returns the depth to which the search may
// return: all below it is an image of visited nodes.
func (s *Search) descend(depth, cursor int) int {
	r := s.r
	for {
		if r.stopped() {
			s.spent = s.budget + 1
			return 0
		}
		at, ok := s.target(&cursor)
		if !ok {
			return s.leaf(depth)
		}
		v := r.Elems[at]
		switch r.Alike(s.g, v) {
		case Twins:
			if s.Cut > 0 {
				r.sortCell(v)
				return s.leaf(depth)
			}
			cursor = at + r.Size(v)
			continue
		case Alike:
			r.Individualize(slices.Min(r.Cell(at)))
			r.Refine(s.g)
			continue
		}
		if s.Cut == 0 && s.orbits.settle(r, s.g, at) {
			continue
		}
		return s.branch(depth, cursor, at)
	}
}

// target returns the position of the cell in which the search branches next. ok is false at a leaf.
func (s *Search) target(cursor *int) (at int, ok bool) {
	r := s.r
	if s.Cut > 0 {
		at = r.Start(r.Elems[s.Cut])
		return at, at < s.Cut
	}
	for *cursor < r.N() {
		if r.Size(r.Elems[*cursor]) > 1 {
			return *cursor, true
		}
		*cursor++
	}
	return 0, false
}

func (s *Search) branch(depth, cursor, at int) int {
	r := s.r
	if depth == len(s.levels) {
		s.levels = append(s.levels, &level{})
	}
	l := s.levels[depth]
	l.saved.CopyFrom(&r.Partition)
	l.candidates = append(l.candidates[:0], r.Cell(at)...)
	slices.Sort(l.candidates)
	s.found.Enter(s.path[:depth])
	start := s.trace
	for i, v := range l.candidates {
		if i > 0 {
			if s.spent >= s.budget {
				s.spent = s.budget + 1
				break
			}
			if s.found.Covers(depth, v, l.candidates[:i]) {
				continue
			}
			r.CopyFrom(&l.saved)
		}
		s.spent++
		r.Trace = r.Trace[:0]
		r.Tracing = true
		r.Individualize(v)
		r.Refine(s.g)
		r.Tracing = false
		r.Trace = append(r.Trace, -1)
		s.trace = start
		if !s.keeps(r.Trace) {
			continue
		}
		s.path = append(s.path[:depth], v)
		if back := s.descend(depth+1, cursor); back < depth {
			s.trace = start
			return back
		}
	}
	s.trace = start
	return depth
}

// keeps compares the trace of a child with that of the best path at the same place. It reports
// whether the child may have the best leaf.
func (s *Search) keeps(seg []int32) bool {
	end := s.trace + len(seg)
	if s.hasLeaf || s.trace < len(s.best) {
		rest := s.best[s.trace:]
		switch slices.Compare(seg, rest[:min(len(rest), len(seg))]) {
		case -1:
			return false
		case 0:
			s.trace = end
			return true
		}
	}
	s.best = append(s.best[:s.trace], seg...)
	s.hasLeaf = false
	s.trace = end
	return true
}

func (s *Search) leaf(depth int) int {
	r := s.r
	if s.hasLeaf {
		// An automorphism is cheaper than a comparison and excludes more.
		if s.Cut > 0 {
			if len(s.bestFull) == 0 {
				s.here.CopyFrom(&r.Partition)
				r.CopyFrom(&s.bestLeaf)
				s.bestFull = s.discrete(s.bestFull)
				r.CopyFrom(&s.here)
			} else {
				s.here.CopyFrom(&r.Partition)
			}
			s.full = s.discrete(s.full)
			if m := s.found.Mapping(s.bestFull, s.full); s.check.automorphism(s.g, m) {
				return s.found.Add(m, s.bestPath, s.path[:depth])
			}
			r.CopyFrom(&s.here)
		}
		c := s.leaves.Compare(&r.Partition)
		if c == 0 && s.Cut == 0 {
			return s.found.Add(s.found.Mapping(s.bestLeaf.Elems, r.Elems), s.bestPath, s.path[:depth])
		}
		if c <= 0 {
			return depth
		}
	}
	s.hasLeaf = true
	s.leaves.Keep(&r.Partition)
	s.bestPath = append(s.bestPath[:0], s.path[:depth]...)
	s.bestLeaf.CopyFrom(&r.Partition)
	s.bestFull = s.bestFull[:0]
	return depth
}

// discrete individualises the smallest number of the first cell until only twins are left. It
// returns the nodes in order, twins by number.
func (s *Search) discrete(order []int32) []int32 {
	r := s.r
	for at := 0; at < r.N(); {
		v := r.Elems[at]
		switch {
		case r.Size(v) == 1:
			at++
		case r.Alike(s.g, v) == Twins:
			r.sortCell(v)
			at += r.Size(v)
		default:
			r.Individualize(slices.Min(r.Cell(at)))
			r.Refine(s.g)
		}
	}
	return append(order[:0], r.Elems...)
}

// sortCell orders the nodes of v's cell by number.
func (p *Partition) sortCell(v int32) {
	begin := p.first[p.cell[v]]
	nodes := p.Elems[begin : begin+p.size[p.cell[v]]]
	slices.Sort(nodes)
	for i, u := range nodes {
		p.pos[u] = begin + int32(i)
	}
}
