package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// words orders problems on words by refinement. Its results equal those of lists, byte for byte.
type words struct {
	ranking refine.Words
	cells   []uint64
	solver  canon.Solver
	order   []int32
}

// how is the reason that decided a cut.
type how uint8

const (
	byRank   how = iota // the cut divides no cell
	byTypes             // types of nodes or edges decided
	bySearch            // a search decided, or the tied nodes are images of each other
)

// crop returns the first k nodes of p. It returns false if the cut divides nodes of equal rank and
// type that are not interchangeable, or if it divides nodes of equal rank and edges have types.
func (w *words) crop(p *problem, k int) (keep uint64, by how, ok bool) {
	r := &w.ranking
	r.Reset(len(p.rows), p.starts)
	r.Number(p.rows, k, !p.nodeAttrs && p.types == nil)
	keep, tied := r.At(k)
	if bits.OnesCount64(keep) == k {
		return keep, byRank, true
	}
	if p.types != nil {
		return 0, 0, false
	}
	if p.nodeAttrs {
		r.SplitLeast(p.least)
		if keep, tied = r.At(k); bits.OnesCount64(keep) == k {
			return keep, byTypes, true
		}
	}
	if !refine.Interchangeable(p.rows, tied) {
		return 0, 0, false
	}
	return keep | lowest(tied, k-bits.OnesCount64(keep)), bySearch, true
}

// lowest returns the n smallest elements of a set.
func lowest(set uint64, n int) uint64 {
	rest := set
	for ; n > 0; n-- {
		rest &= rest - 1
	}
	return set &^ rest
}

// least returns the elements of a nonempty set with the smallest type. The loop has no branch,
// since comparisons are unpredictable.
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

// finish returns all nodes of p in normal order, borrowed. canonical reports whether package canon
// was needed, and q is the quality of its order.
func (w *words) finish(p *problem) (order []int32, canonical bool, q canon.Quality) {
	r := &w.ranking
	r.Reset(len(p.rows), p.starts)
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
