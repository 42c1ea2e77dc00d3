package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// words orders problems on words, by refinement. Its results are those of lists, bit
// by bit; the tests compare.
type words struct {
	ranking refine.Words
	cells   []uint64
	planes  []uint64 // memory of byType
	byType  [][]uint64
	solver  canon.Solver
	order   []int32
}

// how tells what decided a cut.
type how uint8

const (
	byRank   how = iota // no tie stood at the cut
	byTypes             // the types of nodes or edges broke the tie
	bySearch            // choices had to be compared, or their nodes are images of each other
)

// crop returns the first k nodes of p. ok is false where choices have to be compared.
func (w *words) crop(p *problem, k int) (keep uint64, by how, ok bool) {
	r, typed := &w.ranking, p.nodeAttrs || p.types != nil
	r.ResetStarts(len(p.rows), p.starts)
	r.Number(p.rows, k, !typed)
	keep, tied := r.At(k)
	if bits.OnesCount64(keep) == k {
		return keep, byRank, true
	}
	if p.types != nil && !w.splitTypes(p) {
		return 0, 0, false
	}
	if typed {
		if p.nodeAttrs {
			r.SplitLeast(p.least)
		}
		if p.types != nil {
			r.RefineCoded(w.byType)
		} else {
			r.RefineAll(p.rows)
		}
		if keep, tied = r.At(k); bits.OnesCount64(keep) == k {
			return keep, byTypes, true
		}
	}
	if p.types != nil {
		if !r.CodedTwins(w.byType, k) {
			return 0, 0, false
		}
		return keep | lowest(tied, k-bits.OnesCount64(keep)), bySearch, true
	}
	for !refine.Interchangeable(p.rows, tied) {
		if r.Alike(p.rows, k) != refine.Alike {
			return 0, 0, false
		}
		r.RefineFrom(p.rows, int32(bits.TrailingZeros64(tied)))
		if keep, tied = r.At(k); bits.OnesCount64(keep) == k {
			return keep, bySearch, true
		}
	}
	return keep | lowest(tied, k-bits.OnesCount64(keep)), bySearch, true
}

// lowest returns the n smallest nodes of a set.
func lowest(set uint64, n int) uint64 {
	rest := set
	for ; n > 0; n-- {
		rest &= rest - 1
	}
	return set &^ rest
}

// least returns those of a set, which is not empty, with the smallest type. Which of
// two is smaller cannot be predicted, so there is no branch.
func (p *problem) least(set uint64) uint64 {
	types := p.nodeTypes()
	least := set & -set
	t := int64(types[bits.TrailingZeros64(least)])
	for m := set &^ least; m != 0; m &= m - 1 {
		d := int64(types[bits.TrailingZeros64(m)]) - t
		smaller, greater := uint64(d>>63), uint64(-d>>63)
		least = least&^smaller | m&-m&^greater
		t += d & int64(smaller)
	}
	return least
}

// maxTypes is the number of types up to which rows are kept by type.
const maxTypes = 8

// splitTypes makes w.byType the rows of p for each type of edges, smallest first. It
// reports false where these are too many.
func (w *words) splitTypes(p *problem) bool {
	var present [4]uint64
	for i, set := range p.rows {
		types := p.types[i<<6:][:maxWords]
		for m := set & (1<<i - 1); m != 0; m &= m - 1 {
			t := types[bits.TrailingZeros64(m)&63]
			present[t>>6] |= 1 << (t & 63)
		}
	}
	var rank [256]uint8
	count, n := 0, len(p.rows)
	for i, set := range present {
		for ; set != 0; set &= set - 1 {
			if count == maxTypes {
				return false
			}
			rank[i<<6|bits.TrailingZeros64(set)] = uint8(count)
			count++
		}
	}
	w.planes = scratch.Resize(w.planes, count*n)
	clear(w.planes)
	w.byType = w.byType[:0]
	for t := range count {
		w.byType = append(w.byType, w.planes[t*n:(t+1)*n])
	}
	for i, set := range p.rows {
		types := p.types[i<<6:][:maxWords]
		for m := set; m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m) & 63
			w.planes[int(rank[types[j]])*n+i] |= 1 << j
		}
	}
	return true
}

// finish returns all nodes of p in normal order, borrowed. The quality is that of the
// canonical order where one was needed.
func (w *words) finish(p *problem) (order []int32, canonical bool, q canon.Quality) {
	r := &w.ranking
	r.ResetStarts(len(p.rows), p.starts)
	r.Number(p.rows, 0, false)
	if p.nodeAttrs && !r.Discrete() {
		r.SplitLeast(p.least)
	}
	w.cells = r.AppendCells(w.cells[:0])
	if r.Discrete() {
		w.order = w.order[:0]
		for _, c := range w.cells {
			w.order = append(w.order, int32(bits.TrailingZeros64(c)))
		}
		return w.order, false, 0
	}
	order, q = w.solver.Cells(p.rows, p.types, w.cells)
	return order, true, q
}
