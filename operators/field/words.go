package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// maxWords is the largest number of nodes whose rows are words.
const maxWords = 64

// onWords reports whether the field is made on words: by refinement, of an
// undirected graph. What comes out is the same as without,
// bit by bit; the tests compare.
func (z *Normalizer) onWords(global []float64) bool {
	return !z.general && z.K <= maxWords && !z.ix.g.Directed && !z.Uniform && z.refinement(global)
}

func (z *Normalizer) nodeAttrs() bool {
	return !z.IgnoreAttributes && z.ix.g.HasNodeAttributes()
}

// attributed reports whether attributes of any kind have a say.
func (z *Normalizer) attributed() bool { return z.nodeAttrs() || z.edgeTypes() }

func (z *Normalizer) edgeTypes() bool {
	return !z.IgnoreAttributes && z.ix.g.EdgeCats+z.ix.g.EdgeAttrs > 0
}

// normalizeWords is normalize for what onWords accepts. The order is that of the
// members among nodes, whose rows it leaves in z.rows.
func (z *Normalizer) normalizeWords() (nodes, order []int32, err error) {
	n := len(z.hood)
	if n == len(z.ix.rows) && z.wholeInPlace(n) {
		if order := z.normalizeWhole(n); order != nil {
			return inOrder[:], order, nil
		}
	}
	z.typed = false
	bounded := z.ix.bound.most > 0 && z.ix.bound.far.known && n <= maxWords
	if !bounded || z.edgeTypes() {
		z.numberHood()
	}
	if n > maxWords {
		if err := z.cropLarge(); err != nil {
			return nil, nil, err
		}
		z.subset(z.keep)
		z.starts = refine.Starts(z.distN)
		z.member = resize(z.member, n+1)
		clear(z.member)
		for i, v := range z.keep {
			z.member[v+1] = uint8(i) + 1
		}
		z.rows = z.bits[:len(z.keep)]
		z.local.rowsAmong(z.ix, z.nodes, z.member, z.bits[:])
		return z.nodes, z.finishWords(z.nodes, true), nil
	}
	z.rows = z.hoodBits[:n]
	z.typed = z.edgeTypes() && z.readTypes(z.rows)
	switch {
	case z.typed:
	case bounded:
		z.local.rowsBounded(&z.ix.bound, z.hood, z.hoodBits[:])
	default:
		z.local.rows(z.ix, z.hood, n, z.hoodBits[:])
	}
	z.starts = refine.Starts(z.dist)
	small, cached := z.smallable(n), false
	if small {
		kind, nodes := smallWhole, []int32(nil)
		if z.attributed() {
			kind, nodes = smallAttrs, z.hood
		}
		value, ok := z.whole.findSmall(z, kind, z.K, nodes, z.rows, false)
		if value != 0 {
			if n > z.K {
				z.Stats.Cropped++
			}
			return z.hood, z.unpackSmall(value, min(n, z.K)), nil
		}
		small, cached = z.whole.small != 0, !ok && z.cacheable(nil, n)
	} else {
		cached = z.cacheable(nil, n)
	}
	if cached {
		if value := z.whole.find(z, wholeField, z.hood, z.rows); value != nil {
			z.Stats.addPacked(value[0])
			z.order = unpackOrder(z.order, value, min(n, z.K))
			return z.hood, z.order, nil
		}
	}
	before := z.Stats // only here: a copy right behind Fields++ waits for that
	if n <= z.K {
		order = z.finishWords(z.hood, false)
		z.remember(small, cached, &before, order)
		return z.hood, order, nil
	}
	keep, err := z.cropWords(z.rows)
	if err != nil {
		return nil, nil, err
	}
	z.subsetOf(keep)
	if bits.Len64(z.starts)-1 < z.K {
		z.starts &= 1<<(z.K&63) - 1 // only the last level was cut, and not all of it
	} else {
		z.starts = refine.Starts(z.distN)
	}
	z.rows = z.bits[:refine.SqueezeRows(z.bits[:], z.hoodBits[:], keep)]
	order = z.finishWords(z.nodes, true)
	if small || cached && z.whole.hash != 0 {
		z.inHood = z.inHood[:0]
		for _, v := range order {
			z.inHood = append(z.inHood, z.keep[v])
		}
		z.remember(small, cached, &before, z.inHood)
	}
	return z.nodes, order, nil
}

// wholeInPlace reports whether normalizeWhole is for the whole graph, of n nodes, of
// which nothing has to be looked up.
func (z *Normalizer) wholeInPlace(n int) bool {
	if n > z.K || n <= smallNodes || z.ix.bound.most > 0 || z.CanonBudget != 0 {
		return false
	}
	if z.edgeTypes() && !z.takeGraphTypes() {
		return false
	}
	return !z.cacheable(nil, n) || z.whole.pausing(n)
}

// normalizeWhole is normalizeWords where U is the whole graph: its nodes keep their
// numbers, which ascend inside each level as those of U do, so that rows and types of
// edges are those of the graph. It gives up where a search has not ended, since the
// numbers may then decide.
func (z *Normalizer) normalizeWhole(n int) []int32 {
	before := z.Stats
	z.rows, z.starts = z.hoodBits[:copy(z.hoodBits[:], z.ix.rows)], 0
	if z.typed = z.edgeTypes(); z.typed && z.one == unknown {
		z.one = no
	}
	z.cells = z.cells[:0]
	level := z.dist[0] - 1
	for i, v := range z.hood {
		if z.dist[i] != level {
			level = z.dist[i]
			z.cells = append(z.cells, 0)
		}
		z.cells[len(z.cells)-1] |= 1 << (v & 63)
	}
	order := z.finishWords(inOrder[:n], false)
	if z.Stats.Refined != before.Refined || z.Stats.Partial != before.Partial {
		z.Stats = before
		return nil
	}
	if z.Cache != nil {
		z.whole.paused(n)
	}
	return order
}

// remember remembers the field of U, with the counts since before.
func (z *Normalizer) remember(small, cached bool, before *Stats, order []int32) {
	switch {
	case small:
		z.whole.addSmall(z, packSmall(order, before, &z.Stats))
	case cached:
		z.whole.add(z, before, order)
	}
}

// Rows writes to rows, of length K, the edges of the field that Normalize made
// last: bit j of rows[i] is set where members i and j are adjacent. It knows
// them for undirected graphs, labeling.WL and K up to 64, and reports whether it
// does. O(k + m) for m edges of the field; Edges looks them
// up in the graph instead.
func (z *Normalizer) Rows(rows []uint64) bool {
	if z.rows == nil {
		return false
	}
	place, members := &z.placeOf, z.place()
	for i, v := range z.order {
		row := uint64(0)
		for m := z.rows[v] & members; m != 0; m &= m - 1 {
			row |= 1 << (place[bits.TrailingZeros64(m)&63] & 63)
		}
		rows[i] = row
	}
	clear(rows[len(z.order):])
	return true
}

// Adjacency writes to out, (K, K) row-major, 1 for the edges of the field that
// Normalize made last and 0 elsewhere, where it knows them, as Rows says.
func (z *Normalizer) Adjacency(out []float32) bool {
	if z.rows == nil {
		return false
	}
	k := z.K
	out = out[:k*k]
	clear(out)
	place, members := &z.placeOf, z.place()
	for i, v := range z.order {
		row := out[i*k : (i+1)*k]
		for m := z.rows[v] & members; m != 0; m &= m - 1 {
			row[place[bits.TrailingZeros64(m)&63]] = 1
		}
	}
	return true
}

// place notes in placeOf where each member is in the field, and returns the members.
func (z *Normalizer) place() (members uint64) {
	for i, v := range z.order {
		z.placeOf[v&63] = uint8(i)
		members |= 1 << (v & 63)
	}
	return members
}

// subset writes the chosen nodes and their distances to z.nodes and z.distN.
func (z *Normalizer) subset(chosen []int32) {
	z.nodes, z.distN = z.nodes[:0], z.distN[:0]
	for _, v := range chosen {
		z.nodes = append(z.nodes, z.hood[v])
		z.distN = append(z.distN, z.dist[v])
	}
}

// subsetOf writes the chosen nodes to z.keep, and does what subset does.
func (z *Normalizer) subsetOf(chosen uint64) {
	z.keep, z.nodes, z.distN = resize(z.keep, z.K), resize(z.nodes, z.K), resize(z.distN, z.K)
	keep, nodes, dist := z.keep, z.nodes, z.distN
	for i := range keep {
		v := bits.TrailingZeros64(chosen) & 63
		chosen &= chosen - 1
		keep[i], nodes[i], dist[i] = int32(v), z.hood[v], z.dist[v]
	}
}

// cropWords is crop for at most 64 nodes with the given rows.
func (z *Normalizer) cropWords(rows []uint64) (keep uint64, err error) {
	z.Stats.Cropped++
	if z.wordCut.run(z, rows, z.starts) {
		return z.wordCut.chosen(), nil
	}
	w, before := &z.words, z.Stats
	w.ResetStarts(len(z.dist), z.starts)
	w.Number(rows, z.K, !z.attributed())
	if keep, ok := z.cutWords(rows); ok {
		return keep, nil
	}
	z.Stats = before
	z.numberHood()
	z.arcs = z.local.induce(z.ix, z.hood, z.arcs[:0])
	if err := z.crop(nil); err != nil {
		return 0, err
	}
	for _, v := range z.keep {
		keep |= 1 << v
	}
	return keep, nil
}

// cutWords cuts the ranking in z.words as crop does. It gives up where choices
// have to be compared.
func (z *Normalizer) cutWords(rows []uint64) (keep uint64, ok bool) {
	w := &z.words
	keep, tied := w.At(z.K)
	if bits.OnesCount64(keep) == z.K {
		return keep, true
	}
	byType := [][]uint64(nil)
	if z.edgeTypes() && !z.oneType() {
		if byType = z.rowsByType(rows); byType == nil {
			return 0, false // refinement by them is left to crop
		}
	}
	z.Stats.Ties++
	if z.nodeAttrs() {
		w.SplitLeast(func(set uint64) uint64 { return z.leastNodes(z.hood, set) })
	}
	switch {
	case byType != nil:
		w.RefineCoded(byType)
	case z.nodeAttrs():
		w.RefineAll(rows)
	}
	if z.attributed() {
		if keep, tied = w.At(z.K); bits.OnesCount64(keep) == z.K {
			return keep, true
		}
	}
	z.Stats.Searches++
	if byType != nil {
		if !w.CodedTwins(byType, z.K) {
			return 0, false
		}
		return keep | lowest(tied, z.K-bits.OnesCount64(keep)), true
	}
	for !refine.Interchangeable(rows, tied) {
		if w.Alike(rows, z.K) != refine.Alike {
			return 0, false
		}
		w.RefineFrom(rows, int32(bits.TrailingZeros64(tied)))
		if keep, tied = w.At(z.K); bits.OnesCount64(keep) == z.K {
			return keep, true
		}
	}
	return keep | lowest(tied, z.K-bits.OnesCount64(keep)), true
}

// lowest returns the n smallest nodes of a set.
func lowest(set uint64, n int) uint64 {
	rest := set
	for ; n > 0; n-- {
		rest &= rest - 1
	}
	return set &^ rest
}

// finishWords is finish for the chosen nodes, whose rows are in z.rows and whose
// levels begin where z.starts says. cropped says that they are not all. The order is in places of nodes.
func (z *Normalizer) finishWords(nodes []int32, cropped bool) []int32 {
	n, rows := len(nodes), z.rows
	before := z.Stats
	small, cached := cropped && z.smallable(n), false
	if small {
		of := nodes
		if !z.attributed() {
			of = nil
		}
		value, ok := z.inN.findSmall(z, smallFinish, 1, of, rows, cropped)
		if value != 0 {
			return z.unpackSmall(value, n)
		}
		small, cached = z.inN.small != 0, !ok && z.cacheable(nil, n)
	} else {
		cached = cropped && z.cacheable(nil, n)
	}
	if cached {
		if value := z.inN.find(z, finishField, nodes, rows); value != nil {
			z.Stats.addPacked(value[0])
			z.order = unpackOrder(z.order, value, n)
			return z.order
		}
	}
	w := &z.words
	z.rankWords()
	if !w.Discrete() && z.nodeAttrs() {
		w.SplitLeast(func(set uint64) uint64 { return z.leastNodes(nodes, set) })
	}
	z.cells = w.AppendCells(z.cells[:0])
	if w.Discrete() {
		z.orderCells()
	} else {
		z.breakTies(nodes, cropped)
	}
	switch {
	case small:
		z.inN.addSmall(z, packSmall(z.order, &before, &z.Stats))
	case cached:
		z.inN.add(z, &before, z.order)
	}
	return z.order
}

// orderCells makes z.order the nodes of z.cells, which are alone there.
func (z *Normalizer) orderCells() {
	z.order = z.order[:0]
	for _, c := range z.cells {
		z.order = append(z.order, int32(bits.TrailingZeros64(c)))
	}
}

// breakTies makes z.order the canonical order of the nodes whose rows are in z.rows,
// and whose ranking is in z.cells. cropped is as for finishWords.
func (z *Normalizer) breakTies(nodes []int32, cropped bool) {
	n, rows := len(nodes), z.rows
	z.order = z.order[:0]
	switch {
	case z.typed && !z.oneType():
		z.solver.Budget = z.CanonBudget
		order, q := z.solver.Typed(rows, z.typesAmong(nodes, rows, cropped), z.cells)
		z.countCanon(q)
		z.order = append(z.order, order...)
	case z.edgeTypes() && !z.typed:
		z.colors = resize(z.colors, n)
		for i, c := range z.cells {
			for ; c != 0; c &= c - 1 {
				z.colors[bits.TrailingZeros64(c)] = int32(i)
			}
		}
		z.arcsN = z.arcsOf(nodes, rows, z.arcsN[:0])
		z.order = append(z.order, z.canonical(n, z.arcsN)...)
	case z.CanonBudget == 0 && !z.nodeAttrs() && z.orderTree():
		z.countCanon(canon.Exact)
	default:
		z.solver.Budget = z.CanonBudget
		order, q := z.solver.Cells(rows, z.cells)
		z.countCanon(q)
		z.order = append(z.order, order...)
	}
}

func (z *Normalizer) countCanon(q canon.Quality) {
	z.Stats.Canon++
	switch q {
	case canon.Refined:
		z.Stats.Refined++
	case canon.Partial:
		z.Stats.Partial++
	}
}

// arcsOf appends the edges in the rows of some nodes, as induce does, if in
// another order.
func (z *Normalizer) arcsOf(nodes []int32, rows []uint64, arcs []arc) []arc {
	for i, row := range rows {
		for m := row & (1<<i - 1); m != 0; m &= m - 1 {
			a, b := int32(i), int32(bits.TrailingZeros64(m))
			arcs = append(arcs, arc{a, b, z.ix.entryOf(nodes[a], nodes[b])})
		}
	}
	return arcs
}
