package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/operators/canon"
)

// readTypes reads the types of the edges of U, and the rows that local.rows would
// give, where edges have one attribute that is discrete and small, and reports
// whether it is so. Most entries lead out of U as likely as not, so there is no
// branch on that.
func (z *Normalizer) readTypes(rows []uint64) bool {
	g := z.ix.g
	if g.EdgeCats != 1 || g.EdgeAttrs > 0 || len(z.hood) == maxWords {
		return false // entries that lead out of U are written to the place of node 63
	}
	if z.types == nil {
		z.types = new(canon.Types)
	}
	place := z.local.place
	greatest, some, every := uint32(0), uint32(0), ^uint32(0) // bits that some, or every, type has
	for i, u := range z.hood {
		adj := g.Adj(u)
		if len(adj) > 4*maxWords {
			return false // the row of a hub is not read for a few of its edges
		}
		cats := g.EdgeCat[g.Offsets[u]:][:len(adj)]
		types := z.types[i<<6:][:maxWords]
		row := uint64(0)
		for e, v := range adj {
			at := place[v]
			in := uint32(-at >> 31) // all ones for a node of U
			c := uint32(cats[e])
			row |= 1 << ((at - 1) & 63) & uint64(int64(int32(in)))
			types[(at-1)&63] = uint8(c)
			greatest = max(greatest, c&in)
			some |= c & in
			every &= c | ^in
		}
		rows[i] = row
	}
	z.oneType, z.greatest = some&^every == 0, greatest
	return greatest < 255
}

// appendTypes appends the types of the edges in rows to a key, a byte each. nodes
// are those of U, or where it was cropped those in z.keep.
func (z *Normalizer) appendTypes(key, rows []uint64, cropped bool) []uint64 {
	word, n := uint64(0), 0
	for i, set := range rows {
		row := z.types[z.placeInHood(i, cropped)<<6:][:maxWords]
		for m := set & (1<<i - 1); m != 0; m &= m - 1 {
			word = word<<8 | uint64(row[z.placeInHood(bits.TrailingZeros64(m), cropped)&63])
			if n++; n%8 == 0 {
				key = append(key, word)
				word = 0
			}
		}
	}
	return append(key, word)
}

// typesAmong returns the types of the edges between the nodes that are left.
func (z *Normalizer) typesAmong(rows []uint64, cropped bool) *canon.Types {
	if !cropped {
		return z.types
	}
	if z.typesN == nil {
		z.typesN = new(canon.Types)
	}
	for i, set := range rows {
		from, to := z.types[z.keep[i]<<6:][:maxWords], z.typesN[i<<6:][:maxWords]
		for ; set != 0; set &= set - 1 {
			j := bits.TrailingZeros64(set)
			to[j&63] = from[z.keep[j]&63]
		}
	}
	return z.typesN
}

// placeInHood is the place in U of the node at place i of those that are left.
func (z *Normalizer) placeInHood(i int, cropped bool) int {
	if cropped {
		return int(z.keep[i])
	}
	return i
}

// maxTypes is the number of types up to which rows are kept by type.
const maxTypes = 8

// rowsByType returns the rows of U for each type of edges, smallest first, or nil
// where the types are not known or too many.
func (z *Normalizer) rowsByType(rows []uint64) [][]uint64 {
	if !z.typed {
		return nil
	}
	var present [4]uint64
	for i, set := range rows {
		row := z.types[i<<6:][:maxWords]
		for m := set & (1<<i - 1); m != 0; m &= m - 1 {
			t := row[bits.TrailingZeros64(m)]
			present[t>>6] |= 1 << (t & 63)
		}
	}
	var rank [256]uint8
	count := 0
	for i, p := range present {
		for ; p != 0; p &= p - 1 {
			if count == maxTypes {
				return nil
			}
			rank[i<<6|bits.TrailingZeros64(p)] = uint8(count)
			count++
		}
	}
	n := len(rows)
	z.planes = resize(z.planes, count*n)
	clear(z.planes)
	z.byType = z.byType[:0]
	for t := range count {
		z.byType = append(z.byType, z.planes[t*n:(t+1)*n])
	}
	for i, set := range rows {
		row := z.types[i<<6:][:maxWords]
		for m := set; m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			z.planes[int(rank[row[j]])*n+i] |= 1 << j
		}
	}
	return z.byType
}
