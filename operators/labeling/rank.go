package labeling

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// Budgets of the search for an order of nodes that refinement leaves tied: the number of branches,
// each of at least n steps, and the number of steps.
const (
	rankBranches = 2000
	rankSteps    = 1 << 24
)

// Rank returns the nodes of g sorted by falling label, and whether the order
// depends on structure alone. labels has length n, as Labeling.Label wrote it.
//
// Nodes with equal labels are ordered by structure, in this order:
//  1. by colour refinement of the whole graph that starts from the labels and
//     sees the direction of arcs, in the order of package refine: more
//     neighbours in the first class come first;
//  2. by attributes, ascending: discrete ones, continuous ones, and the sparse
//     one as a list;
//  3. by colour refinement that starts from what 1 and 2 have told apart and
//     sees edge types too;
//  4. by individualising and refining: among all ways to continue the one with
//     the greatest trace, and of those the greatest adjacency lists;
//  5. nodes that are tied still are images of each other under an automorphism
//     of the attributed graph: smallest number first.
//
// Step 4 costs little in the common case that the tied nodes are provably alike:
// by their cells, or by automorphisms that exchange a few nodes. It is given up after 2000 branches, or 2²⁴/n
// branches in large graphs; then the smallest number is taken and canonical is
// false. A label that is NaN is an error.
//
// In a graph of a million edges Rank may take a minute; the end of ctx ends it, with its cause.
func Rank(ctx context.Context, g *graph.Graph, labels []float64) (order []int32, canonical bool, err error) {
	n := g.N()
	if len(labels) != n {
		panic(fmt.Sprintf("labeling: rank: %d labels, want %d", len(labels), n))
	}
	for v, x := range labels {
		if x != x {
			return nil, false, fmt.Errorf("labeling: rank: the label of node %d is not a number", v)
		}
	}
	s := rankPool.Get().(*rankScratch)
	defer rankPool.Put(s)
	r := &s.refiner
	r.Stop = func() bool { return ctx.Err() != nil }
	defer func() { r.Stop = nil }()
	r.Reset(n)
	r.SplitFunc(func(u, v int32) int { return cmp.Compare(labels[v], labels[u]) })
	rows := s.rows.Rows(g, false)
	r.QueueAll()
	r.Refine(rows)
	nodeAttrs, edgeAttrs := g.HasNodeAttributes(), g.EdgeCats+g.EdgeAttrs > 0
	if nodeAttrs || edgeAttrs {
		if nodeAttrs {
			r.SplitFunc(func(u, v int32) int { return refine.CompareNodes(g, u, v) })
		}
		rows = s.rows.Rows(g, true)
		r.QueueAll()
		r.Refine(rows)
	}
	s.search.Budget = max(1, min(rankBranches, rankSteps/max(1, n)))
	s.leaves.rows = rows
	_, canonical = s.search.Run(r, rows, &s.leaves)
	s.leaves.rows = refine.Rows{}
	if err := context.Cause(ctx); err != nil {
		return nil, false, err
	}
	return slices.Clone(s.leaves.order), canonical, nil
}

type rankScratch struct {
	refiner refine.Refiner
	rows    refine.Builder
	search  refine.Search
	leaves  rankLeaves
}

var rankPool = sync.Pool{New: func() any { return new(rankScratch) }}

// rankLeaves compares orders of all nodes by their adjacency lists.
type rankLeaves struct {
	rows  refine.Rows
	order []int32
	best  []uint64
	lists []uint64
}

func (l *rankLeaves) Compare(p *refine.Partition) int {
	if len(l.best) == 0 {
		l.best = l.write(l.best, l.order)
	}
	l.lists = l.write(l.lists, p.Elems)
	return slices.Compare(l.lists, l.best)
}

// Keep implements refine.Leaves. Compare writes the lists when a second leaf comes.
func (l *rankLeaves) Keep(p *refine.Partition) {
	l.order = append(l.order[:0], p.Elems...)
	l.best = l.best[:0]
	for i := 0; i < len(l.order); {
		size := p.Size(p.Elems[i])
		slices.Sort(l.order[i : i+size]) // twins ascend by number
		i += size
	}
}

// write appends the entries of each row as (position of the neighbour, relation), sorted.
func (l *rankLeaves) write(lists []uint64, order []int32) []uint64 {
	place := make([]uint64, len(order))
	for i, v := range order {
		place[v] = uint64(i)
	}
	lists = lists[:0]
	for _, v := range order {
		begin := len(lists)
		for i := l.rows.Off[v]; i < l.rows.Off[v+1]; i++ {
			x := place[l.rows.Nbr[i]] << 32
			if l.rows.Code != nil {
				x |= uint64(l.rows.Code[i])
			}
			lists = append(lists, x)
		}
		slices.Sort(lists[begin:])
		lists = append(lists, ^uint64(0))
	}
	return lists
}
