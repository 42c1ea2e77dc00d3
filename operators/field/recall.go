package field

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// recall asks the cache for problems and decides when that is not worth while.
type recall struct {
	key        []uint64
	hash       uint64
	small      uint64 // the key of findSmall, or 0, and what stands beside it
	smallAttrs smallAttributes
	value      []uint64
	packed     []uint64
	windows    [7]window // by the length of the number of nodes in bits
	at         *window   // of the problem at hand
}

// window counts what came of the last questions about problems of some size.
type window struct {
	lookups, hits int
	poor          int // windows with few known since one with more, or since the first
	skip          int // problems not to be looked up
}

// Asking and remembering costs some per cent of a field, so where fewer than 1 of 8
// problems of a window was known, the cache is left alone for a while, longer each
// time: 1, 3, 7, 15 windows, then 31. The first windows count for nothing, since the
// cache may still be empty. Small problems come back more often than large ones, so
// each size has windows of its own.
const (
	recallWindow = 64
	recallRatio  = 8
	recallFirst  = 4
	recallPause  = 31
)

// end ends a window.
func (w *window) end() {
	if w.hits*recallRatio >= recallWindow {
		w.poor = min(w.poor, recallFirst)
	} else if w.poor++; w.poor > recallFirst {
		w.skip = recallWindow * min(1<<min(w.poor-recallFirst, 8)-1, recallPause)
	}
	w.lookups, w.hits = 0, 0
}

// maxCached is the number of nodes up to which problems are looked up. Larger
// ones seldom come twice, and a row is one word.
const maxCached = 64

// The two kinds of problems.
const (
	wholeField  = 1 // from U to the field
	finishField = 2 // from N to the field
	listOfArcs  = 4 // added where edges are written as arcs, not as rows
)

// cacheable reports whether the field is a function of what problem writes:
// labels may be anything, and sparse attributes, which hardly ever come twice,
// are left out of it.
func (z *Normalizer) cacheable(global []float64, n int) bool {
	return z.Cache != nil && n <= maxCached && z.refinement(global) && (z.IgnoreAttributes || z.ix.g.SparseCard == 0)
}

// find looks the problem up: the nodes, whose levels begin where z.starts says, and
// the rows of the undirected edges between them. It returns the members' numbers,
// one per byte, behind a word of counts, or nil.
func (q *recall) find(z *Normalizer, kind uint64, nodes []int32, rows []uint64) []uint64 {
	if q.paused(len(nodes)) {
		return nil
	}
	q.begin(z, kind, nodes, z.starts)
	q.key = appendTriangle(q.key, rows)
	switch g := z.ix.g; {
	case z.typed:
		q.key = z.appendTypes(q.key, nodes, rows, kind == finishField)
	case z.edgeTypes():
		q.key = append(q.key, uint64(g.EdgeCats)<<32|uint64(g.EdgeAttrs))
		for i, set := range rows {
			for m := set & (1<<i - 1); m != 0; m &= m - 1 {
				e := z.ix.entryOf(nodes[i], nodes[bits.TrailingZeros64(m)])
				q.key = appendValues(q.key, row(g.EdgeCat, e, g.EdgeCats), row(g.EdgeAttr, e, g.EdgeAttrs))
			}
		}
	}
	return q.ask(z)
}

// findArcs is find for arcs of any kind.
func (q *recall) findArcs(z *Normalizer, kind uint64, nodes []int32, dist []uint8, arcs []arc) []uint64 {
	if q.paused(len(nodes)) {
		return nil
	}
	q.begin(z, kind|listOfArcs, nodes, refine.Starts(dist))
	q.appendArcs(z, arcs)
	return q.ask(z)
}

// pausing reports whether the next problem of n nodes will not be looked up.
func (q *recall) pausing(n int) bool { return q.windows[bits.Len(uint(n-1))].skip > 0 }

// paused reports whether a problem of n nodes is not looked up.
func (q *recall) paused(n int) bool {
	q.hash = 0
	q.at = &q.windows[bits.Len(uint(n-1))]
	if q.at.skip > 0 {
		q.at.skip--
		return true
	}
	return false
}

// ask looks up the problem in q.key.
func (q *recall) ask(z *Normalizer) []uint64 {
	q.hash = hashOf(q.key)
	z.Stats.CacheLookups++
	value := z.Cache.find(q.hash, q.key)
	if value != nil {
		z.Stats.CacheHits++
		q.at.hits++
	}
	if q.at.lookups++; q.at.lookups == recallWindow {
		q.at.end()
	}
	return value
}

// unpackOrder writes to order the n numbers of a value.
func unpackOrder(order []int32, value []uint64, n int) []int32 {
	order = order[:0]
	for i := range n {
		order = append(order, int32(uint8(value[1+i/8]>>(i%8*8))))
	}
	return order
}

// begin writes to q.key all that the members depend on, but for the edges. Levels
// begin where starts says.
func (q *recall) begin(z *Normalizer, kind uint64, nodes []int32, starts uint64) {
	g, n := z.ix.g, len(nodes)
	nodeAttrs, edgeTypes := z.nodeAttrs(), z.edgeTypes()
	settings := kind | uint64(n)<<8 | uint64(z.K)<<16
	for i, on := range [...]bool{z.Uniform, g.Directed, nodeAttrs, edgeTypes, z.typed && kind&listOfArcs == 0, z.CropBudget|z.CanonBudget != 0} {
		if on {
			settings |= 1 << (32 + i)
		}
	}
	// levels has a bit where the distance grows; it fits behind the settings of
	// most problems.
	levels := starts >> 1
	q.key = append(q.key[:0], 0) // the settings, which tell how to read what follows
	bytes := nodeAttrs && q.appendBytes(g, nodes)
	if bytes {
		settings |= 1 << 38
	}
	if n <= shortLevels {
		settings |= levels << (65 - shortLevels)
	} else {
		q.key = append(q.key, levels)
	}
	q.key[0] = settings
	if z.CropBudget|z.CanonBudget != 0 {
		q.key = append(q.key, uint64(z.CropBudget), uint64(z.CanonBudget))
	}
	if nodeAttrs && !bytes {
		q.key = append(q.key, uint64(g.NodeCats)<<32|uint64(g.NodeAttrs))
		for _, v := range nodes {
			q.key = appendValues(q.key, row(g.NodeCat, v, g.NodeCats), row(g.NodeAttr, v, g.NodeAttrs))
		}
	}
}

// shortLevels is the number of nodes up to which the levels share a word with the
// settings, of which 39 bits are in use.
const shortLevels = 26

// appendTriangle appends the lower triangle of a symmetric matrix without a
// diagonal, bit by bit.
func appendTriangle(key, rows []uint64) []uint64 {
	word, used := uint64(0), 0
	for i, row := range rows {
		row &= 1<<i - 1
		word |= row << (used & 63)
		if used += i; used >= 64 {
			key = append(key, word)
			used -= 64
			word = row >> ((i - used) & 63)
		}
	}
	return append(key, word)
}

// appendBytes appends the only attribute of the nodes where it is discrete and
// small, a byte each, and reports whether it is so.
func (q *recall) appendBytes(g *graph.Graph, nodes []int32) bool {
	if g.NodeCats != 1 || g.NodeAttrs > 0 {
		return false
	}
	begin := len(q.key)
	word, all := uint64(0), uint32(0)
	for i, v := range nodes {
		c := uint32(g.NodeCat[v])
		all |= c
		word = word<<8 | uint64(c)
		if i%8 == 7 {
			q.key = append(q.key, word)
			word = 0
		}
	}
	if all > 255 {
		q.key = q.key[:begin]
		return false
	}
	if len(nodes)%8 != 0 {
		q.key = append(q.key, word)
	}
	return true
}

// appendArcs writes the edges to q.key.
func (q *recall) appendArcs(z *Normalizer, arcs []arc) {
	g, edgeTypes := z.ix.g, z.edgeTypes()
	// The arcs come in an order that depends on the rest of the graph.
	q.packed = q.packed[:0]
	for _, e := range arcs {
		a, b := e.a, e.b
		if !g.Directed {
			a, b = max(a, b), min(a, b)
		}
		q.packed = append(q.packed, uint64(a)<<48|uint64(b)<<32|uint64(e.entry))
	}
	slices.Sort(q.packed)
	q.key = append(q.key, uint64(g.EdgeCats)<<32|uint64(g.EdgeAttrs), uint64(len(arcs)))
	for _, x := range q.packed {
		q.key = append(q.key, x>>32)
		if edgeTypes {
			e := int32(uint32(x))
			q.key = appendValues(q.key, row(g.EdgeCat, e, g.EdgeCats), row(g.EdgeAttr, e, g.EdgeAttrs))
		}
	}
}

// add remembers the field of the problem that find did not know, with the counts
// since before.
func (q *recall) add(z *Normalizer, before *Stats, order []int32) {
	if q.hash == 0 {
		return
	}
	counts, ok := packCounts(before, &z.Stats)
	if !ok {
		return
	}
	q.value = append(q.value[:0], counts)
	for i, v := range order {
		if i%8 == 0 {
			q.value = append(q.value, 0)
		}
		q.value[len(q.value)-1] |= uint64(v) << (i % 8 * 8)
	}
	z.Cache.add(q.hash, q.key, q.value)
}

// appendValues appends attribute values bit by bit: equal values that differ in
// bits, as 0 and -0, only make two problems out of one.
func appendValues(key []uint64, cats []int32, attrs []float32) []uint64 {
	for _, c := range cats {
		key = append(key, uint64(uint32(c)))
	}
	for _, a := range attrs {
		key = append(key, uint64(math.Float32bits(a)))
	}
	return key
}
