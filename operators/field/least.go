package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// leastNodes returns those of a set, which is not empty, with the smallest
// attributes.
func (z *Normalizer) leastNodes(nodes []int32, set uint64) uint64 {
	g := z.ix.g
	least := set & -set
	first := nodes[bits.TrailingZeros64(least)]
	if g.NodeCats != 1 || g.NodeAttrs > 0 || g.SparseCard > 0 {
		for m := set &^ least; m != 0; m &= m - 1 {
			v := nodes[bits.TrailingZeros64(m)]
			switch order := refine.CompareNodes(g, v, first); {
			case order < 0:
				least, first = m&-m, v
			case order == 0:
				least |= m & -m
			}
		}
		return least
	}
	// Nobody can guess which is smaller, so there is no branch.
	cats, cat := g.NodeCat, int64(g.NodeCat[first])
	for m := set &^ least; m != 0; m &= m - 1 {
		d := int64(cats[nodes[bits.TrailingZeros64(m)]]) - cat
		smaller, greater := uint64(d>>63), uint64(-d>>63)
		least = least&^smaller | m&-m&^greater
		cat += d & int64(smaller)
	}
	return least
}
