package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/operators/canon"
)

// graphTypes holds the types of the edges of a graph that has rows, where these have
// one attribute that is discrete and small.
type graphTypes struct {
	ix       *Index // whose graph this is
	resets   uint64 // of ix
	known    bool
	one      bool // all edges have the same
	greatest uint32
	table    canon.Types // by numbers of nodes
}

// of makes t what it is for the graph of ix, and reports whether that is known.
func (t *graphTypes) of(ix *Index) bool {
	if t.ix != ix || t.resets != ix.resets {
		t.ix, t.resets, t.known = ix, ix.resets, ix.g.EdgeCats == 1 && ix.g.EdgeAttrs == 0
		if t.known {
			t.read(ix)
		}
	}
	return t.known
}

// read reads the types from the rows of the graph.
func (t *graphTypes) read(ix *Index) {
	greatest, some, every := uint32(0), uint32(0), ^uint32(0) // bits that some, or every, type has
	off, neighbors, cats := ix.g.Offsets, ix.g.Neighbors, ix.g.EdgeCat
	for u := range ix.rows {
		types := t.table[u<<6:][:maxWords]
		for e := off[u]; e < off[u+1]; e++ {
			c := uint32(cats[e])
			types[neighbors[e]&63] = uint8(c)
			greatest, some, every = max(greatest, c), some|c, every&c
		}
	}
	t.known, t.one, t.greatest = greatest < 255, some&^every == 0, greatest
}

// takeGraphTypes makes z.types those of the whole graph, and reports whether they are
// known. Of U's alone it is then known only that they are the same where all are.
func (z *Normalizer) takeGraphTypes() bool {
	if z.ix.rows == nil || len(z.hood) == maxWords {
		return false
	}
	if z.ofGraph == nil {
		z.ofGraph = new(graphTypes)
	}
	t := z.ofGraph
	if !t.of(z.ix) {
		return false
	}
	z.byGraph, z.types, z.greatest, z.one = true, &t.table, t.greatest, unknown
	if t.one {
		z.one = yes
	}
	return true
}

// readTypes reads the types of the edges of U, and the rows that local.rows would
// give, where edges have one attribute that is discrete and small, and reports
// whether it is so. Most entries lead out of U as likely as not, so there is no
// branch on that.
func (z *Normalizer) readTypes(rows []uint64) bool {
	g := z.ix.g
	if g.EdgeCats != 1 || g.EdgeAttrs > 0 || len(z.hood) == maxWords {
		return false // entries that lead out of U are written to the place of node 63
	}
	if z.takeGraphTypes() {
		z.local.rows(z.ix, z.hood, len(z.hood), rows)
		return true
	}
	if z.typesU == nil {
		z.typesU = new(canon.Types)
	}
	z.types, z.byGraph = z.typesU, false
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
	z.greatest = greatest
	z.setOneType(some, every)
	return greatest < 255
}

// answer is what is known of a question.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// setOneType is told the bits that some, and every, type of the edges of U has.
func (z *Normalizer) setOneType(some, every uint32) {
	z.one = no
	if some&^every == 0 {
		z.one = yes
	}
}

// oneType reports whether the types of the edges of U, whose rows are in z.hoodBits,
// are known and the same.
func (z *Normalizer) oneType() bool {
	if z.typed && z.one == unknown {
		some, every := uint32(0), ^uint32(0)
		at := z.inTypes(z.hood, false)
		for i, set := range z.hoodBits[:len(z.hood)] {
			row := z.types[at[i]<<6:][:maxWords]
			for m := set & (1<<i - 1); m != 0; m &= m - 1 {
				c := uint32(row[at[bits.TrailingZeros64(m)]&63])
				some |= c
				every &= c
			}
		}
		z.setOneType(some, every)
	}
	return z.typed && z.one == yes
}

// inTypes tells where z.types has the types of the edges of some nodes: those of U,
// or where it was cropped those in z.keep.
func (z *Normalizer) inTypes(nodes []int32, cropped bool) []int32 {
	switch {
	case z.byGraph:
		return nodes
	case cropped:
		return z.keep
	}
	return inOrder[:]
}

// inOrder holds the numbers from 0 on.
var inOrder = func() (order [maxWords]int32) {
	for i := range order {
		order[i] = int32(i)
	}
	return order
}()

// appendTypes appends the types of the edges in the rows of some nodes to a key, a
// byte each. cropped is as for inTypes.
func (z *Normalizer) appendTypes(key []uint64, nodes []int32, rows []uint64, cropped bool) []uint64 {
	word, n := uint64(0), 0
	at := z.inTypes(nodes, cropped)
	for i, set := range rows {
		row := z.types[at[i]<<6:][:maxWords]
		for m := set & (1<<i - 1); m != 0; m &= m - 1 {
			word = word<<8 | uint64(row[at[bits.TrailingZeros64(m)]&63])
			if n++; n%8 == 0 {
				key = append(key, word)
				word = 0
			}
		}
	}
	return append(key, word)
}

// typesAmong returns the types of the edges in the rows of some nodes. cropped is as
// for inTypes.
func (z *Normalizer) typesAmong(nodes []int32, rows []uint64, cropped bool) *canon.Types {
	at := z.inTypes(nodes, cropped)
	if &at[0] == &inOrder[0] {
		return z.types
	}
	if z.typesN == nil {
		z.typesN = new(canon.Types)
	}
	for i, set := range rows {
		from, to := z.types[at[i]<<6:][:maxWords], z.typesN[i<<6:][:maxWords]
		for ; set != 0; set &= set - 1 {
			j := bits.TrailingZeros64(set)
			to[j&63] = from[at[j]&63]
		}
	}
	return z.typesN
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
	at := z.inTypes(z.hood, false)
	for i, set := range rows {
		row := z.types[at[i]<<6:][:maxWords]
		for m := set & (1<<i - 1); m != 0; m &= m - 1 {
			t := row[at[bits.TrailingZeros64(m)]&63]
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
		row := z.types[at[i]<<6:][:maxWords]
		for m := set; m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			z.planes[int(rank[row[at[j]&63]])*n+i] |= 1 << j
		}
	}
	return z.byType
}
