package field

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
	"github.com/sanflow/sanflow/operators/labeling"
)

// ErrNoRoot is returned for a neighbourhood without nodes.
var ErrNoRoot = errors.New("field: empty neighbourhood, want at least the root")

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
	// CropBudget bounds the choices that are compared at the cut to k nodes; 0
	// means 200. Beyond it the smallest node number decides.
	CropBudget int
	// CanonBudget is the budget of the canonical order; see canon.Solver.
	CanonBudget int
	// Context is handed to the labeling, so that a long one ends with it; nil
	// never ends.
	Context context.Context
	// Cache, if not nil, remembers finished fields. It changes no result, and
	// serves labeling.WL only. The Normalizer keeps small ones in a table of its
	// own then, of 256 KiB at most.
	Cache *Cache
	// Stats counts what happened.
	Stats Stats

	general bool // for tests: nothing is done on words

	hood []int32
	dist []uint8
	ix   *Index

	local    local
	numbered bool  // hood is, in local
	arcs     []arc // of G[U]
	arcsN    []arc // of G[N]
	rowsU    subgraph
	rowsN    subgraph
	ranking  refine.Refiner // of U, then of N
	inner    refine.Refiner // of N while U is being searched
	search   refine.Search
	leaves   cropLeaves
	solver   canon.Solver
	labels   []float64 // of U, then of N
	keep     []int32   // local numbers of N, ascending
	number   []int32   // new local numbers
	order    []int32
	nodes    []int32
	distN    []uint8
	colors   []int32
	bits     [maxWords]uint64
	hoodBits [maxWords]uint64
	starts   uint64   // where the levels of U, then of N begin; see refine.Starts
	rows     []uint64 // of the field made last, or nil; see Rows
	inHood   []int32
	placeOf  [maxWords]uint8 // scratch of Rows
	words    refine.Words
	cells    []uint64
	cut      cut
	wordCut  wordCut
	arcCut   arcCut
	member   []uint8
	codes    []uint16
	types    *canon.Types // of U, where typed, by the numbers of inTypes
	typesU   *canon.Types // memory of types
	ofGraph  *graphTypes
	byGraph  bool         // types are those of ofGraph
	typesN   *canon.Types // of N
	planes   []uint64     // memory of byType
	byType   [][]uint64   // rows of U by type of edge
	typed    bool         // types are known
	one      answer       // whether all edges of U have the same type; see oneType
	greatest uint32       // of the types
	whole    recall       // of U
	inN      recall       // of N
	ranks    recall       // of N without attributes
	small    small
}

// Stats counts the events of normalization that are worth knowing.
type Stats struct {
	Fields       int64 // finished fields
	Cropped      int64 // fields whose neighbourhood had more than k nodes
	Ties         int64 // of these, cuts through a class of equal rank
	Searches     int64 // of these, ties that attributes did not break
	Leaves       int64 // choices compared in the searches
	CropFallback int64 // searches that used up the budget: node numbers decided
	Canon        int64 // canonical orders computed
	Refined      int64 // of these, canon.Refined
	Partial      int64 // of these, canon.Partial: node numbers decided

	// Whatever a cache knows counts above as if it had been computed.
	CacheLookups int64 // questions to the cache: for a field, and for what a cut leaves
	CacheHits    int64 // of these, answered
}

// Add adds the counts of t.
func (s *Stats) Add(t Stats) {
	s.Fields += t.Fields
	s.Cropped += t.Cropped
	s.Ties += t.Ties
	s.Searches += t.Searches
	s.Leaves += t.Leaves
	s.CropFallback += t.CropFallback
	s.Canon += t.Canon
	s.Refined += t.Refined
	s.Partial += t.Partial
	s.CacheLookups += t.CacheLookups
	s.CacheHits += t.CacheHits
}

// Normalize writes the members of the field around hood[0] to members, which has
// length K: the nodes in rank order, then -1 for dummies (Niepert et al. 2016,
// Algorithm 4; the package comment gives the order in full). hood and dist are
// as Assemble leaves them. global, if not nil, has one label per node of the
// graph and replaces the labels of G[U] and G[N].
//
// The error is that of the labeling, or ErrNoRoot.
func (z *Normalizer) Normalize(ix *Index, hood []int32, dist []uint8, global []float64, members []int32) error {
	if z.K < 1 || z.K > MaxK {
		panic(fmt.Sprintf("field: normalize: k is %d, want 1 to %d", z.K, MaxK))
	}
	if len(members) != z.K || len(hood) != len(dist) {
		panic(fmt.Sprintf("field: normalize: %d members, %d nodes and %d distances, want %d members and a distance per node",
			len(members), len(hood), len(dist), z.K))
	}
	if global != nil && len(global) != ix.g.N() {
		panic(fmt.Sprintf("field: normalize: %d global labels, want %d", len(global), ix.g.N()))
	}
	if len(hood) == 0 {
		return ErrNoRoot
	}
	z.ix, z.hood, z.dist = ix, hood, dist
	z.Stats.Fields++
	z.numbered = false
	nodes, order, err := hood, []int32(nil), error(nil)
	if z.onWords(global) {
		nodes, order, err = z.normalizeWords()
	} else {
		z.rows = nil
		z.numberHood()
		order, err = z.normalize(global)
	}
	if z.numbered {
		z.local.forget(hood)
	}
	if err != nil {
		return err
	}
	for i, v := range order {
		members[i] = nodes[v]
	}
	for i := len(order); i < len(members); i++ {
		members[i] = -1
	}
	return nil
}

// numberHood numbers the nodes of U, once, where rows of a bound do not do.
func (z *Normalizer) numberHood() {
	if !z.numbered {
		z.local.number(z.ix.g.N(), z.hood)
		z.numbered = true
	}
}

// normalize returns the local numbers of the members, borrowed.
func (z *Normalizer) normalize(global []float64) ([]int32, error) {
	if z.cutsArcs(global) && z.cropArcs() {
		return z.finish(&z.ranking, z.keep, global)
	}
	z.arcs = z.local.induce(z.ix, z.hood, z.arcs[:0])
	cached := z.cacheable(global, len(z.hood))
	before := z.Stats
	if cached {
		if value := z.whole.findArcs(z, wholeField, z.hood, z.dist, z.arcs); value != nil {
			z.Stats.addPacked(value[0])
			z.order = unpackOrder(z.order, value, min(z.K, len(z.hood)))
			return z.order, nil
		}
	}
	order, err := z.compute(global)
	if err == nil && cached {
		z.whole.add(z, &before, order)
	}
	return order, err
}

// compute is normalize without the cache, from z.arcs.
func (z *Normalizer) compute(global []float64) ([]int32, error) {
	z.keep = z.keep[:0]
	if len(z.hood) <= z.K {
		for v := range z.hood {
			z.keep = append(z.keep, int32(v))
		}
		return z.finish(&z.ranking, z.keep, global)
	}
	z.Stats.Cropped++
	if err := z.crop(global); err != nil {
		return nil, err
	}
	return z.finish(&z.ranking, z.keep, global)
}

// refinement reports whether the labeling is the one that is computed here, by
// refinement of local rows, without going through labels.
func (z *Normalizer) refinement(global []float64) bool {
	if global != nil {
		return false
	}
	l, ok := z.By.(labeling.WeisfeilerLehman)
	return z.By == nil || ok && l == labeling.WL
}

// rank makes r the ranking of a set of nodes, by distance and label: arcs are
// the arcs between them, rows the same as refinement wants them, and nodes their
// numbers in the whole graph. If cut is positive, only the ranking's first cut
// nodes are of interest, and not their order.
func (z *Normalizer) rank(r *refine.Refiner, sub *subgraph, nodes []int32, dist []uint8, arcs []arc, global []float64, cut int) (refine.Rows, error) {
	r.Reset(len(nodes))
	if z.refinement(global) {
		rows := sub.rows(z.ix.g, len(nodes), arcs, false)
		if !z.Uniform {
			r.SplitLevels(dist)
		}
		if z.Uniform {
			cut = 0
		}
		r.Number(rows, 0, cut)
		if z.Uniform {
			z.colors = resize(z.colors, len(nodes))
			for v := range z.colors {
				z.colors[v] = int32(r.Start(int32(v)))
			}
			r.Reset(len(nodes))
			r.SplitLevels(dist)
			r.SplitFunc(func(u, v int32) int { return cmp.Compare(z.colors[v], z.colors[u]) })
		}
		return rows, nil
	}
	z.labels = resize(z.labels, len(nodes))
	if global != nil {
		for i, v := range nodes {
			z.labels[i] = global[v]
		}
	} else {
		in := labeling.Input{Graph: sub.graph(z.ix.g, nodes, arcs), Dist: dist, Context: z.Context}
		if err := labeling.Compute(z.By, in, z.labels); err != nil {
			return refine.Rows{}, err
		}
	}
	r.SplitLevels(dist)
	r.SplitFunc(func(u, v int32) int { return cmp.Compare(z.labels[v], z.labels[u]) })
	return refine.Rows{}, nil
}

// finish ranks the chosen nodes on the graph they induce and breaks the
// remaining ties. chosen ascends; the result is in rank order, in the same
// numbers, and borrowed.
func (z *Normalizer) finish(r *refine.Refiner, chosen []int32, global []float64) ([]int32, error) {
	n := len(chosen)
	arcs := z.arcs
	z.subset(chosen)
	if n < len(z.hood) {
		z.number = resize(z.number, len(z.hood))
		for i := range z.number {
			z.number[i] = -1
		}
		for i, v := range chosen {
			z.number[v] = int32(i)
		}
		z.arcsN = restrict(arcs, z.number, z.arcsN[:0])
		arcs = z.arcsN
	}
	// Where nothing was cut off, the whole problem is this one.
	cached := n < len(z.hood) && z.cacheable(global, n)
	before := z.Stats
	if cached {
		if value := z.inN.findArcs(z, finishField, z.nodes, z.distN, arcs); value != nil {
			z.Stats.addPacked(value[0])
			z.order = unpackOrder(z.order, value, n)
			for i, v := range z.order {
				z.order[i] = chosen[v]
			}
			return z.order, nil
		}
	}
	if _, err := z.rank(r, &z.rowsN, z.nodes, z.distN, arcs, global, 0); err != nil {
		return nil, err
	}
	if z.nodeAttrs() && !r.Discrete() {
		r.SplitFunc(func(u, v int32) int { return refine.CompareNodes(z.ix.g, z.nodes[u], z.nodes[v]) })
	}
	order := r.Elems
	if !r.Discrete() {
		z.colors = resize(z.colors, n)
		for v := range z.colors {
			z.colors[v] = int32(r.Start(int32(v)))
		}
		order = z.canonical(n, arcs)
	}
	if cached {
		z.inN.add(z, &before, order)
	}
	z.order = z.order[:0]
	for _, v := range order {
		z.order = append(z.order, chosen[v])
	}
	return z.order, nil
}

// canonical returns the canonical order of the graph of n nodes and the arcs with
// z.colors.
func (z *Normalizer) canonical(n int, arcs []arc) []int32 {
	g, edgeTypes := z.ix.g, z.edgeTypes()
	z.solver.Budget = z.CanonBudget
	var order []int32
	var q canon.Quality
	if n <= 64 && !g.Directed && !edgeTypes {
		rows := z.bits[:n]
		clear(rows)
		for _, e := range arcs {
			rows[e.a] |= 1 << e.b
			rows[e.b] |= 1 << e.a
		}
		order, q = z.solver.Bits(rows, z.colors)
	} else {
		if !edgeTypes || !z.rowsN.ownTypes(g, arcs) {
			z.rowsN.rankTypes(g, arcs, edgeTypes)
		}
		z.codes = resize(z.codes, n*n)
		clear(z.codes)
		for i, e := range arcs {
			code := uint16(z.rowsN.types[i] + 1)
			z.codes[int(e.a)*n+int(e.b)] = code
			if !g.Directed {
				z.codes[int(e.b)*n+int(e.a)] = code
			}
		}
		order, q = z.solver.Matrix(n, z.codes, z.colors)
	}
	z.countCanon(q)
	return order
}
