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
	cats, cat := g.NodeCat, g.NodeCat[first]
	for m := set &^ least; m != 0; m &= m - 1 {
		switch c := cats[nodes[bits.TrailingZeros64(m)]]; {
		case c < cat:
			least, cat = m&-m, c
		case c == cat:
			least |= m & -m
		}
	}
	return least
}
