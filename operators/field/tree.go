package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/internal/scratch"
)

// orderTree makes w.order the canonical order of the nodes of p, whose ranking without
// attributes is in w.cells, if they are a tree in which every node has one neighbour
// in the cells before its own, and reports whether they are.
//
// The ranking is stable, so nodes that are in one cell and below the same parent
// have branches of the same form below them, and none of these nodes has its place
// yet: whichever comes first, the matrix is the same, and nothing has to be
// searched. What hangs below the parent that comes first is first, since it makes
// the greater row.
func (w *words) orderTree(p *problem) bool {
	rows := p.rows
	seen, edges := uint64(0), 0
	for _, c := range w.cells {
		for m := c; m != 0; m &= m - 1 {
			row := rows[bits.TrailingZeros64(m)&63]
			above := row & seen
			if above&(above-1) != 0 || row&c != 0 {
				return false
			}
			edges += bits.OnesCount64(above)
		}
		seen |= c
	}
	if edges != len(rows)-1 {
		return false
	}
	order := scratch.Resize(w.order, len(rows))
	n := 0
	for _, c := range w.cells {
		if c&(c-1) == 0 {
			order[n] = int32(bits.TrailingZeros64(c))
			n++
			continue
		}
		for _, u := range order[:n] { // the parents of the cell are among these
			for m := rows[u&63] & c; m != 0; m &= m - 1 {
				order[n] = int32(bits.TrailingZeros64(m))
				n++
			}
		}
	}
	w.order = order
	return true
}
