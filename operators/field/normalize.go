package field

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
	"github.com/sanflow/sanflow/operators/labeling"
)

// errNoRoot is the error of a neighbourhood without nodes.
var errNoRoot = errors.New("field: empty neighbourhood, want at least the root")

// Normalizer puts neighbourhoods into normal order. The fields are settings and
// may be changed between calls; a Normalizer is not safe for concurrent use.
type Normalizer struct {
	// K is the field size, 1 to MaxK.
	K int
	// By is the labeling ℓ. The default is labeling.WL.
	By labeling.Labeling
	// IgnoreAttributes leaves node attributes and edge types out of the order,
	// as the paper's use of nauty does. Nodes that differ in attributes only are
	// then ordered by number.
	IgnoreAttributes bool
	// Uniform starts colour refinement from one colour instead of the hop
	// distances, the paper read literally.
	Uniform bool
	// Context is handed to the labeling, so that a long one ends with it; nil
	// never ends.
	Context context.Context
	// Cache, if not nil, remembers finished fields. It changes no result, and
	// serves labeling.WL only.
	Cache *Cache
	// Stats counts the fields and their fallbacks.
	Stats Stats

	general bool // tests set it; lists then order all problems

	numbers numbering
	cut     cut
	whole   problem // problem of the whole neighbourhood
	part    problem // problem of the first K nodes
	words   words
	lists   lists
	memo    memo
	made    *problem // problem of the last field; order has indices of its nodes
	order   []int32
}

// Stats counts events of normalization.
type Stats struct {
	Fields       int64 // finished fields
	Searches     int64 // cuts through a class of equal rank that attributes did not break
	Leaves       int64 // choices compared in the searches
	CropFallback int64 // searches that used up the budget: node numbers decided
	Canon        int64 // canonical orders computed
	Refined      int64 // of these, canon.Refined
	Partial      int64 // of these, canon.Partial: node numbers decided

	// A result from the cache counts above as if it had been computed.
	CacheLookups int64 // lookups in the cache: for a field, and for the nodes that a cut keeps
	CacheHits    int64 // of these, answered
}

// Normalize writes the members of the field around hood[0] to members, which has
// length K: the nodes in rank order, then -1 for dummies (Niepert et al. 2016,
// Algorithm 4; the package comment gives the order in full). hood and dist are
// as Assemble leaves them. global, if not nil, has one label per node of the
// graph and replaces the labels of G[U] and G[N].
//
// The error comes from the labeling, or is errNoRoot.
func (z *Normalizer) Normalize(ix *Index, hood []int32, dist []uint8, global []float64, members []int32) error {
	if z.K < 1 || z.K > MaxK {
		panic(fmt.Sprintf("field: normalize: k is %d, want 1 to %d", z.K, MaxK))
	}
	if len(members) != z.K || len(hood) != len(dist) {
		panic(fmt.Sprintf("field: normalize: %d members, %d nodes and %d distances, want %d members and a distance per node",
			len(members), len(hood), len(dist), z.K))
	}
	if global != nil && len(global) != ix.N() {
		panic(fmt.Sprintf("field: normalize: %d global labels, want %d", len(global), ix.N()))
	}
	if len(hood) == 0 {
		return errNoRoot
	}
	z.Stats.Fields++
	z.begin(global)
	p, k := &z.whole, z.K
	words := !z.general && k <= maxWords && !ix.g.Directed && !z.Uniform && z.lists.refines()
	if len(hood) > maxWords && z.cutLarge(ix, hood, dist, words) {
		p = &z.part
	} else {
		z.numbers.gather(p, ix, hood, dist, words, z.IgnoreAttributes)
	}
	if err := z.solve(p, words); err != nil {
		return err
	}
	for i, v := range z.order {
		members[i] = z.made.nodes[v]
	}
	for i := len(z.order); i < len(members); i++ {
		members[i] = -1
	}
	return nil
}

// begin copies the settings to the lists.
func (z *Normalizer) begin(global []float64) {
	l := &z.lists
	l.by, l.global, l.context, l.uniform = z.By, global, z.Context, z.Uniform
	if wl, ok := z.By.(labeling.WeisfeilerLehman); ok && wl == labeling.WL {
		l.by = nil
	}
}

// cutLarge cuts a neighbourhood of more than 64 nodes to K nodes without gathering it, and sets
// z.part to the problem of these. It returns false if cut does not decide.
func (z *Normalizer) cutLarge(ix *Index, hood []int32, dist []uint8, words bool) bool {
	if z.K > maxWords || z.general || z.Uniform || !z.lists.refines() {
		return false
	}
	z.numbers.number(ix.N(), hood)
	c, p := &z.cut, &z.part
	if !c.run(ix, hood, dist, z.numbers.place, z.K, z.IgnoreAttributes) {
		z.numbers.forget(hood)
		return false
	}
	z.countCut(c.by)
	p.keep = append(p.keep[:0], hood[:c.base]...)
	slices.Sort(c.taken)
	for _, j := range c.taken {
		p.keep = append(p.keep, hood[c.base+int(j)])
	}
	dist = dist[:z.K] // the missing nodes are all of the last level
	p.begin(ix.g, z.IgnoreAttributes)
	if words && !p.edgeAttrs {
		p.nodes, p.onWords, p.starts, p.rows = p.keep, true, refine.Starts(dist), p.rowMemory[:z.K]
		c.rows(p.rows)
		z.numbers.forget(hood)
		return true
	}
	z.numbers.forget(hood)
	z.numbers.gather(p, ix, p.keep, dist, words, z.IgnoreAttributes)
	return true
}

// solve sets z.order to the first K nodes of p in normal order, in numbers of z.made.
func (z *Normalizer) solve(p *problem, words bool) error {
	n := len(p.nodes)
	z.made = p
	if value := z.memo.find(z, p, z.K); value != nil {
		z.Stats.addPacked(value[0])
		z.order = unpackOrder(z.order, value, min(n, z.K))
		return nil
	}
	var before Stats
	if p.hash != 0 {
		before = z.Stats
	}
	if n <= z.K {
		if err := z.finish(p); err != nil {
			return err
		}
		z.memo.add(z, p, &before, z.order)
		return nil
	}
	if err := z.crop(p, words); err != nil {
		return err
	}
	if err := z.solve(&z.part, words); err != nil || p.hash == 0 {
		return err
	}
	var inWhole [maxWords]int32 // only problems of at most 64 nodes have a hash
	for i, v := range z.order {
		inWhole[i] = z.part.keep[v]
	}
	z.memo.add(z, p, &before, inWhole[:len(z.order)])
	return nil
}

// crop sets z.part to the problem of the first K nodes of p, and z.part.keep to these nodes,
// ascending.
func (z *Normalizer) crop(p *problem, words bool) error {
	if p.onWords {
		if keep, by, ok := z.words.crop(p, z.K); ok {
			z.countCut(by)
			z.partOf(p, keep)
			return nil
		}
		p.list()
	}
	s, err := z.lists.crop(p, z.K)
	if err != nil {
		return err
	}
	z.countCut(s.by)
	z.Stats.Leaves += int64(s.compared)
	if !s.exact {
		z.Stats.CropFallback++
	}
	for q, n := range s.canon {
		z.countCanon(canon.Quality(q), n)
	}
	if p.onWords {
		keep := uint64(0)
		for _, v := range s.nodes {
			keep |= 1 << v
		}
		z.partOf(p, keep)
		return nil
	}
	z.part.keep = append(z.part.keep[:0], s.nodes...)
	z.part.partOf(p, s.nodes, words)
	return nil
}

// partOf sets z.part to the problem of a set of nodes of p, and z.part.keep to the set if p is to
// be stored.
func (z *Normalizer) partOf(p *problem, keep uint64) {
	z.part.part(p, keep)
	if p.hash == 0 {
		return
	}
	z.part.keep = z.part.keep[:0]
	for ; keep != 0; keep &= keep - 1 {
		z.part.keep = append(z.part.keep, int32(bits.TrailingZeros64(keep)))
	}
}

// finish sets z.order to the normal order of all nodes of p.
func (z *Normalizer) finish(p *problem) (err error) {
	var canonical bool
	var q canon.Quality
	if p.onWords {
		z.order, canonical, q = z.words.finish(p)
	} else {
		z.order, canonical, q, err = z.lists.finish(p)
	}
	if canonical {
		z.countCanon(q, 1)
	}
	return err
}

// countCut counts a cut that a search decided.
func (z *Normalizer) countCut(by how) {
	if by == bySearch {
		z.Stats.Searches++
	}
}

// countCanon counts n canonical orders of a quality.
func (z *Normalizer) countCanon(q canon.Quality, n int) {
	z.Stats.Canon += int64(n)
	switch q {
	case canon.Refined:
		z.Stats.Refined += int64(n)
	case canon.Partial:
		z.Stats.Partial += int64(n)
	}
}

// Rows writes the edges of the last field to rows, of length K: bit j of rows[i] is set if
// members i and j are adjacent. It returns false if it does not know them: it needs an
// undirected graph, labeling.WL and K up to 64. O(k + m) for m edges of the field; an
// EdgeFinder looks them up in the graph instead.
func (z *Normalizer) Rows(rows []uint64) bool {
	if z.made == nil || !z.made.onWords {
		return false
	}
	var place [maxWords]uint8
	members := z.place(&place)
	for i, v := range z.order {
		row := uint64(0)
		for m := z.made.rows[v] & members; m != 0; m &= m - 1 {
			row |= 1 << (place[bits.TrailingZeros64(m)&63] & 63)
		}
		rows[i] = row
	}
	clear(rows[len(z.order):])
	return true
}

// Adjacency writes to out, (K, K) row-major, 1 for the edges of the last field and 0 elsewhere.
// It returns false if it does not know them; see Rows.
func (z *Normalizer) Adjacency(out []float32) bool {
	if z.made == nil || !z.made.onWords {
		return false
	}
	k := z.K
	out = out[:k*k]
	clear(out)
	var place [maxWords]uint8
	members := z.place(&place)
	for i, v := range z.order {
		row := out[i*k : (i+1)*k]
		for m := z.made.rows[v] & members; m != 0; m &= m - 1 {
			row[place[bits.TrailingZeros64(m)&63]] = 1
		}
	}
	return true
}

// place stores for each member, a node of z.made, its index in the field. It returns the set of the members.
func (z *Normalizer) place(place *[maxWords]uint8) (members uint64) {
	for i, v := range z.order {
		place[v&63] = uint8(i)
		members |= 1 << (v & 63)
	}
	return members
}
