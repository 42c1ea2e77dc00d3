package canon

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// defaultBudget is the number of branches that a Solver visits before it falls
// back.
const defaultBudget = 1 << 16

// Quality is the guarantee of an order.
type Quality int

const (
	// Exact: the order is the canonical one.
	Exact Quality = iota
	// Refined: the budget was used up, and a search that individualises nodes and refines colours
	// gave the order. It depends on structure alone, but its matrix is not the greatest. If a graph
	// with many automorphisms takes about as many branches as the budget has, another numbering may
	// still be Exact.
	Refined
	// Partial: that search used up its budget too. The order is a function of
	// the input, but may change with the numbering of the nodes.
	Partial
)

func (q Quality) String() string {
	switch q {
	case Exact:
		return "exact"
	case Refined:
		return "refined"
	case Partial:
		return "partial"
	}
	return fmt.Sprintf("Quality(%d)", int(q))
}

// Solver computes canonical orders and keeps its memory for the next one. The
// zero value is ready. A Solver is not safe for concurrent use.
type Solver struct {
	// Budget is the number of branches visited before falling back; 0 means
	// defaultBudget.
	Budget int
	// Visited is the number of branches that the last call visited.
	Visited int
	// Stop, if not nil, is called now and then. If it returns true, the call ends early with some
	// order and Partial.
	Stop func() bool

	bits   bitSearch
	parts  parts
	cells  [64]uint64
	matrix matrixSearch
	refine refined
	codes  []uint16
	colors []int32
	ranks  []int32
}

// Bits returns the canonical order of the undirected graph of at most 64 nodes
// whose node v is adjacent to u where bit u of rows[v] is set. rows must be
// symmetric with no bit v in rows[v]. colors has one colour per node, smaller
// first, or is nil. order[i] is the node at position i; it is borrowed until the
// next call.
func (s *Solver) Bits(rows []uint64, colors []int32) (order []int32, q Quality) {
	n := len(rows)
	if n > 64 {
		panic(fmt.Sprintf("canon: %d rows of bits, want at most 64", n))
	}
	return s.Cells(rows, nil, s.cellsOf(s.dense(n, colors)))
}

// Types holds the types of the edges between at most 64 nodes: that of the edge
// between u and v at 64·u+v. If there is no edge the content is arbitrary.
type Types [64 * 64]uint8

// code returns the entry of the matrix for u and v: 0 without an edge, else 1 plus its type.
func (t *Types) code(rows []uint64, u, v int) uint16 {
	edge := uint16(rows[u] >> v & 1)
	return (uint16(t[u<<6|v]) + 1) & -edge
}

// Cells is Bits with the colours given as the classes of nodes, smallest colour first, none of them
// empty. types, if not nil, gives edges types, which must be symmetric: the entry of the matrix is
// one plus the type. That is quicker than Matrix where much of the order is decided by the cells already.
func (s *Solver) Cells(rows []uint64, types *Types, cells []uint64) (order []int32, q Quality) {
	n := len(rows)
	if n > 64 {
		panic(fmt.Sprintf("canon: %d rows of bits, want at most 64", n))
	}
	s.bits.stop, s.matrix.stop = s.Stop, s.Stop
	s.parts.types, s.parts.matrix = types, &s.matrix
	order, visited, done := s.parts.solve(&s.bits, rows, cells, s.budget())
	s.parts.types = nil
	s.Visited = visited
	if done {
		return order, Exact
	}
	if s.stopped() {
		return order, Partial
	}
	s.colors = scratch.Resize(s.colors, n)
	for i, c := range cells {
		for ; c != 0; c &= c - 1 {
			s.colors[bits.TrailingZeros64(c)] = int32(i)
		}
	}
	if types == nil {
		return s.fallBack(n, s.codesOf(rows))
	}
	s.codes = scratch.Resize(s.codes, n*n)
	for u := range n {
		for v := range n {
			s.codes[u*n+v] = types.code(rows, u, v)
		}
	}
	return s.fallBack(n, s.codes)
}

// fallBack returns the order of refined for the colours in s.colors.
func (s *Solver) fallBack(n int, codes []uint16) (order []int32, q Quality) {
	order, visited, done := s.refine.run(n, codes, s.colors, s.budget(), s.Stop)
	s.Visited += visited
	if done {
		return order, Refined
	}
	return order, Partial
}

// cellsOf returns the classes of colors, which are 0 … n-1, n at most 64.
func (s *Solver) cellsOf(colors []int32) []uint64 {
	n := len(colors)
	clear(s.cells[:n])
	for v, c := range colors {
		s.cells[c] |= 1 << v
	}
	kept := 0
	for _, c := range s.cells[:n] {
		if c != 0 {
			s.cells[kept] = c
			kept++
		}
	}
	return s.cells[:kept]
}

// Matrix returns the canonical order of the graph with n nodes whose adjacency
// matrix is codes, (n, n), row-major: codes[u*n+v] is 0 if no edge leads from
// u to v and its type otherwise. The matrix need not be symmetric. colors and
// order are as for Bits.
func (s *Solver) Matrix(n int, codes []uint16, colors []int32) (order []int32, q Quality) {
	if len(codes) != n*n {
		panic(fmt.Sprintf("canon: matrix has %d entries, want %d × %d", len(codes), n, n))
	}
	colors = s.dense(n, colors)
	s.matrix.stop = s.Stop
	order, done := s.matrix.run(n, codes, colors, s.budget())
	s.Visited = s.matrix.visited
	if done {
		return order, Exact
	}
	if s.stopped() {
		return order, Partial
	}
	return s.fallBack(n, codes)
}

func (s *Solver) stopped() bool { return s.Stop != nil && s.Stop() }

func (s *Solver) budget() int {
	if s.Budget > 0 {
		return s.Budget
	}
	return defaultBudget
}

// dense returns colors renumbered to 0 … n-1 in the same order.
func (s *Solver) dense(n int, colors []int32) []int32 {
	if colors != nil && len(colors) != n {
		panic(fmt.Sprintf("canon: %d colours, want %d", len(colors), n))
	}
	s.colors = append(s.colors[:0], colors...)
	if colors == nil {
		s.colors = scratch.Resize(s.colors, n)
		clear(s.colors)
	}
	for _, c := range s.colors {
		if c < 0 || int(c) >= n {
			s.ranks = append(s.ranks[:0], s.colors...)
			slices.Sort(s.ranks)
			s.ranks = slices.Compact(s.ranks)
			for v, c := range s.colors {
				i, _ := slices.BinarySearch(s.ranks, c)
				s.colors[v] = int32(i)
			}
			break
		}
	}
	return s.colors
}

func (s *Solver) codesOf(rows []uint64) []uint16 {
	n := len(rows)
	s.codes = scratch.Resize(s.codes, n*n)
	for u, row := range rows {
		for v := range n {
			s.codes[u*n+v] = uint16(row >> v & 1)
		}
	}
	return s.codes
}
