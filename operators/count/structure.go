package count

import (
	"math/bits"

	"github.com/sanflow/sanflow/internal/scratch"
)

// structures counts connected sets of up to five nodes of a graph without labels
// and directions by their matrices alone, as they come: one number for each of the
// 2¹⁰ matrices, of which the forms are found afterwards. Sets are listed as lister
// does; the nodes that may come last are not gone through one by one if there are
// many, but counted by which of the others they are near to.
type structures struct {
	in   Input
	near *nearness
	size int
	left int // sets that may still be met; negative: any number

	nodes     []int32
	extension []int32
	marked    []bool // nodes in the set, near to it, or too small
	last      []uint64
	counts    [1 << 10]int64 // by the bits below the diagonal, row by row
	met       int
	stopped   bool
	err       error
}

// maxStructure is the largest size.
const maxStructure = 5

// run reports whether it came to the end, with no more sets than were allowed.
func (s *structures) run() (done bool, err error) {
	g := s.near.g
	n := g.N()
	if len(s.marked) < n {
		s.marked = make([]bool, n)
	}
	s.last = scratch.Resize(s.last, s.near.words)
	s.counts, s.met, s.stopped, s.err = [1 << 10]int64{}, 0, false, nil
	for v := int32(0); int(v) < n && !s.stopped; v++ {
		s.marked[v] = true
		s.nodes, s.extension = append(s.nodes[:0], v), s.extension[:0]
		s.join(v)
		end := len(s.extension)
		s.extend(0, 0, 0)
		for _, u := range s.extension[:end] {
			s.marked[u] = false
		}
	}
	clear(s.marked[:n])
	return !s.stopped, s.err
}

// join adds to the extension what only w is near to.
func (s *structures) join(w int32) {
	for _, u := range s.near.g.Adj(w) {
		if !s.marked[u] {
			s.marked[u] = true
			s.extension = append(s.extension, u)
		}
	}
}

// extend adds each of the nodes in extension[from:] to a set whose matrix is key, of
// so many bits, after which those before it are out.
func (s *structures) extend(from int, key uint, width int) {
	end := len(s.extension)
	if len(s.nodes)+1 == s.size {
		s.complete(s.extension[from:end], key, width)
		return
	}
	for i := from; i < end && !s.stopped; i++ {
		w := s.extension[i]
		row := uint(0)
		for j, v := range s.nodes {
			if s.near.adjacent(v, w) {
				row |= 1 << j
			}
		}
		s.nodes = append(s.nodes, w)
		begin := len(s.extension)
		s.extension = append(s.extension, s.extension[i+1:end]...)
		fresh := len(s.extension)
		s.join(w)
		s.extend(begin, key|row<<width, width+len(s.nodes)-1)
		for _, u := range s.extension[fresh:] {
			s.marked[u] = false
		}
		s.extension = s.extension[:begin]
		s.nodes = s.nodes[:len(s.nodes)-1]
	}
}

// complete counts the sets of s.nodes and one node of those.
func (s *structures) complete(last []int32, key uint, width int) {
	if s.left >= 0 {
		if s.left -= len(last); s.left < 0 {
			s.stopped = true
			return
		}
	}
	if s.met += 1 + len(last)/64; s.met >= 4096 {
		if s.met = 0; s.in.Err() != nil {
			s.stopped, s.err = true, s.in.Err()
			return
		}
	}
	words := s.near.words
	if len(last) > 8+4*words {
		clear(s.last)
		for _, u := range last {
			s.last[u>>6] |= 1 << (u & 63)
		}
		for i, set := range s.last {
			if set != 0 {
				s.divide(set, i, len(s.nodes)-1, key, width)
			}
		}
		return
	}
	var rows [maxStructure - 1][]uint64
	for j, v := range s.nodes {
		rows[j] = s.near.bits[int(v)*words : int(v+1)*words]
	}
	for _, u := range last {
		row, at, bit := uint(0), u>>6, uint(u&63)
		for j := range s.nodes {
			row |= uint(rows[j][at]>>bit&1) << j
		}
		s.counts[key|row<<width]++
	}
}

// divide counts the nodes in a word of a set by those of nodes[:j+1] that they are
// near to.
func (s *structures) divide(set uint64, word, j int, key uint, width int) {
	if j < 0 {
		s.counts[key] += int64(bits.OnesCount64(set))
		return
	}
	near := set & s.near.bits[int(s.nodes[j])*s.near.words+word]
	if near != 0 {
		s.divide(near, word, j-1, key|1<<(width+j), width)
	}
	if near != set {
		s.divide(set&^near, word, j-1, key, width)
	}
}
