package field

import "math/bits"

// edgeTypeOf holds the types of the edges between at most 64 nodes: that of the
// edge between the nodes at places i and j at 64·i+j. Where there is no edge the
// content is arbitrary.
type edgeTypeOf [maxWords * maxWords]uint8

// readTypes reads the types of the edges of U, in z.rows, where they have one
// attribute that is discrete and small, and reports whether it is so.
func (z *Normalizer) readTypes() bool {
	g := z.ix.g
	if g.EdgeCats != 1 || g.EdgeAttrs > 0 {
		return false
	}
	if z.types == nil {
		z.types = new(edgeTypeOf)
	}
	first, all := int32(-1), int32(0) // all: the bits of all types, but those that they have in common
	for i, u := range z.hood {
		if g.Degree(u) > 4*maxWords {
			return false // the row of a hub is not read for a few of its edges
		}
		cats := g.EdgeCat[g.Offsets[u]:g.Offsets[u+1]]
		for e, v := range g.Adj(u) {
			at := z.local.place[v]
			if at == 0 {
				continue
			}
			c := cats[e]
			if first < 0 {
				first = c
			}
			all |= c ^ first
			z.types[i<<6|int(at-1)&63] = uint8(c)
			if uint32(c) > 254 {
				return false
			}
		}
	}
	z.oneType = all == 0
	return true
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

// typeCodes returns the matrix of edges with types for canon.Solver.
func (z *Normalizer) typeCodes(rows []uint64, cropped bool) []uint16 {
	n := len(rows)
	z.codes = resize(z.codes, n*n)
	clear(z.codes)
	for i, set := range rows {
		row := z.types[z.placeInHood(i, cropped)<<6:][:maxWords]
		for m := set; m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			z.codes[i*n+j] = uint16(row[z.placeInHood(j, cropped)&63]) + 1
		}
	}
	return z.codes
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
