package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// maxWords is the largest number of nodes whose rows are words.
const maxWords = 64

// onWords reports whether the field is made on words: by refinement, of an
// undirected graph without edge types. What comes out is the same as without,
// bit by bit; the tests compare.
func (z *Normalizer) onWords(global []float64) bool {
	return !z.general && z.K <= maxWords && !z.ix.g.Directed && !z.edgeTypes() && !z.Uniform && z.refinement(global)
}

func (z *Normalizer) nodeAttrs() bool {
	return !z.IgnoreAttributes && z.ix.g.HasNodeAttributes()
}

func (z *Normalizer) edgeTypes() bool {
	return !z.IgnoreAttributes && z.ix.g.EdgeCats+z.ix.g.EdgeAttrs > 0
}

// rows writes to rows the neighbours of every node among the others, as sets of
// places in nodes. number must have numbered the nodes, and may have numbered
// more behind them.
func (l *local) rows(ix *Index, nodes []int32, rows []uint64) {
	clear(rows[:len(nodes)])
	for i, u := range nodes {
		own := uint64(0)
		for _, v := range ix.other[ix.off[u]:ix.off[u+1]] {
			s := l.stamp[v]
			if j := uint32(s); s>>32 == l.now && int(j) < len(nodes) {
				own |= 1 << j
				rows[j&63] |= 1 << i
			}
		}
		rows[i] |= own
	}
}

// normalizeWords is normalize for what onWords accepts.
func (z *Normalizer) normalizeWords() ([]int32, error) {
	n := len(z.hood)
	z.local.number(z.ix.g.N(), z.hood)
	if n > maxWords {
		if err := z.cropLarge(); err != nil {
			return nil, err
		}
		z.subset(z.keep)
		z.local.number(z.ix.g.N(), z.nodes)
		z.local.rows(z.ix, z.nodes, z.bits[:])
		return z.finishWords(z.keep, true), nil
	}
	z.local.rows(z.ix, z.hood, z.hoodBits[:])
	before := z.Stats
	cached := z.cacheable(nil, n)
	if cached {
		if value := z.whole.find(z, wholeField, z.hood, z.dist, z.hoodBits[:n]); value != nil {
			z.Stats.addPacked(value[0])
			z.order = unpackOrder(z.order, value, min(n, z.K))
			return z.order, nil
		}
	}
	if n > z.K {
		keep, err := z.cropWords(z.hoodBits[:n])
		if err != nil {
			return nil, err
		}
		z.keep = z.keep[:0]
		for m := keep; m != 0; m &= m - 1 {
			v := bits.TrailingZeros64(m)
			z.bits[len(z.keep)] = refine.Squeeze(z.hoodBits[v], keep)
			z.keep = append(z.keep, int32(v))
		}
	} else {
		z.keep = z.keep[:0]
		for v := range int32(n) {
			z.keep = append(z.keep, v)
		}
		z.bits = z.hoodBits
	}
	z.subset(z.keep)
	order := z.finishWords(z.keep, n > z.K)
	if cached {
		z.whole.add(z, before, order)
	}
	return order, nil
}

// subset writes the chosen nodes and their distances to z.nodes and z.distN.
func (z *Normalizer) subset(chosen []int32) {
	z.nodes, z.distN = z.nodes[:0], z.distN[:0]
	for _, v := range chosen {
		z.nodes = append(z.nodes, z.hood[v])
		z.distN = append(z.distN, z.dist[v])
	}
}

// cropWords is crop for at most 64 nodes with the given rows.
func (z *Normalizer) cropWords(rows []uint64) (keep uint64, err error) {
	z.Stats.Cropped++
	plain := !z.nodeAttrs()
	z.words.Reset(z.dist)
	z.words.Number(rows, z.K, plain)
	before, cell := z.words.At(z.K)
	rest := z.K - bits.OnesCount64(before)
	if rest == 0 {
		return before, nil
	}
	if plain && refine.Interchangeable(rows, cell) {
		z.Stats.Ties++
		z.Stats.Searches++
		for ; rest > 0; rest-- {
			before |= cell & -cell
			cell &= cell - 1
		}
		return before, nil
	}
	z.arcs = z.local.induce(z.ix, z.hood, z.arcs[:0])
	if err := z.crop(nil); err != nil {
		return 0, err
	}
	for _, v := range z.keep {
		keep |= 1 << v
	}
	return keep, nil
}

// finishWords is finish for the chosen nodes, whose rows are in z.bits. cropped
// says that they are not all.
func (z *Normalizer) finishWords(chosen []int32, cropped bool) []int32 {
	n := len(chosen)
	rows := z.bits[:n]
	before := z.Stats
	cached := cropped && z.cacheable(nil, n)
	if cached {
		if value := z.inN.find(z, finishField, z.nodes, z.distN, rows); value != nil {
			z.Stats.addPacked(value[0])
			z.order = unpackOrder(z.order, value, n)
			for i, v := range z.order {
				z.order[i] = chosen[v]
			}
			return z.order
		}
	}
	w := &z.words
	w.Reset(z.distN)
	w.Number(rows, 0, false)
	if !w.Discrete() && z.nodeAttrs() {
		w.SplitFunc(func(u, v int32) int { return refine.CompareNodes(z.ix.g, z.nodes[u], z.nodes[v]) })
	}
	z.cells = w.AppendCells(z.cells[:0])
	z.order = z.order[:0]
	if w.Discrete() {
		for _, c := range z.cells {
			z.order = append(z.order, int32(bits.TrailingZeros64(c)))
		}
	} else {
		z.solver.Budget = z.CanonBudget
		order, q := z.solver.Cells(rows, z.cells)
		z.countCanon(q)
		z.order = append(z.order, order...)
	}
	if cached {
		z.inN.add(z, before, z.order)
	}
	for i, v := range z.order {
		z.order[i] = chosen[v]
	}
	return z.order
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
