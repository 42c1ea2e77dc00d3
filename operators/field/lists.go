package field

import (
	"cmp"
	"context"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
	"github.com/sanflow/sanflow/operators/labeling"
)

// lists orders problems of any size by any labeling.
type lists struct {
	by      labeling.Labeling // nil for colour refinement, which needs no labels
	global  []float64         // labels of all nodes of the graph, or nil
	context context.Context
	uniform bool

	ranking refine.Refiner // ranking of a problem that is cut
	inner   refine.Refiner // ranking of a problem that is ordered whole
	search  refine.Search
	leaves  leaves
	graph   induced
	solver  canon.Solver
	labels  []float64
	colors  []int32
	codes   []uint16
}

// refines reports whether the order is that of labeling.WL, which lists computes itself without
// labels.
func (l *lists) refines() bool { return l.by == nil && l.global == nil }

// rank sets r to the ranking of the nodes of p by distance and label. If cut is positive, only the
// set of the first cut nodes matters.
func (l *lists) rank(r *refine.Refiner, p *problem, cut int) (refine.Rows, error) {
	n := len(p.nodes)
	r.Reset(n)
	if l.refines() {
		rows := p.lists.of(p, false)
		if !l.uniform {
			r.SplitLevels(p.dist)
			r.Number(rows, 0, cut)
			return rows, nil
		}
		r.Number(rows, 0, 0)
		l.color(r, n)
		r.Reset(n)
		r.SplitLevels(p.dist)
		r.SplitFunc(func(u, v int32) int { return cmp.Compare(l.colors[v], l.colors[u]) })
		return rows, nil
	}
	l.labels = scratch.Resize(l.labels, n)
	if l.global != nil {
		for i, v := range p.nodes {
			l.labels[i] = l.global[v]
		}
	} else {
		in := labeling.Input{Graph: l.graph.of(p), Dist: p.dist, Context: l.context}
		if err := labeling.Compute(l.by, in, l.labels); err != nil {
			return refine.Rows{}, err
		}
	}
	r.SplitLevels(p.dist)
	r.SplitFunc(func(u, v int32) int { return cmp.Compare(l.labels[v], l.labels[u]) })
	return refine.Rows{}, nil
}

// color sets l.colors to the cells of r.
func (l *lists) color(r *refine.Refiner, n int) {
	l.colors = scratch.Resize(l.colors, n)
	for v := range l.colors {
		l.colors[v] = int32(r.Start(int32(v)))
	}
}

// selection is the result of a cut to k.
type selection struct {
	nodes []int32 // selected nodes, ascending, borrowed
	by    how
	// compared is the number of selections that the search compared, exact whether its budget
	// sufficed, canon the number of canonical orders of each quality.
	compared int
	exact    bool
	canon    [canon.Partial + 1]int
}

// cropBudget is the number of selections that the search at the cut compares. Beyond it the
// smallest node numbers decide.
const cropBudget = 200

// crop ranks the nodes of p and returns the first k. If the cut divides nodes of equal rank,
// structure decides; see the package comment.
func (l *lists) crop(p *problem, k int) (selection, error) {
	r := &l.ranking
	rows, err := l.rank(r, p, k)
	if err != nil {
		return selection{}, err
	}
	if cutAt(&r.Partition, k) {
		return l.first(k, byRank), nil
	}
	if types := p.nodeTypes(); types != nil {
		r.SplitFunc(func(u, v int32) int { return cmp.Compare(types[u], types[v]) })
	}
	// Refinement from distances has left a stable partition. All other rankings are refined again,
	// with the types of nodes and edges.
	if p.nodeAttrs || p.edgeAttrs || l.uniform || !l.refines() {
		rows = p.lists.of(p, true)
		r.QueueAll()
		r.Refine(rows)
		if cutAt(&r.Partition, k) {
			return l.first(k, byTypes), nil
		}
	}
	l.search.Cut, l.search.Budget = k, cropBudget
	c := &l.leaves
	c.lists, c.p, c.k = l, p, k
	c.known, c.canon, c.err = false, [len(c.canon)]int{}, nil
	visited, exact := l.search.Run(r, rows, c)
	return selection{c.chosen, bySearch, visited, exact, c.canon}, c.err
}

// cutAt reports whether a cell begins at position k.
func cutAt(p *refine.Partition, k int) bool { return p.Start(p.Elems[k]) == k }

// first returns the first k nodes of the ranking.
func (l *lists) first(k int, by how) selection {
	c := &l.leaves
	c.chosen = append(c.chosen[:0], l.ranking.Elems[:k]...)
	slices.Sort(c.chosen)
	return selection{nodes: c.chosen, by: by, exact: true}
}

// finish returns all nodes of p in normal order, borrowed. canonical reports whether package canon
// was needed, and q is the quality of its order.
func (l *lists) finish(p *problem) (order []int32, canonical bool, q canon.Quality, err error) {
	r := &l.inner
	if _, err := l.rank(r, p, 0); err != nil {
		return nil, false, 0, err
	}
	if types := p.nodeTypes(); types != nil && !r.Discrete() {
		r.SplitFunc(func(u, v int32) int { return cmp.Compare(types[u], types[v]) })
	}
	if r.Discrete() {
		return r.Elems, false, 0, nil
	}
	n := len(p.nodes)
	l.color(r, n)
	if n <= maxWords && !p.g.Directed && !p.edgeAttrs {
		p.setRows()
		order, q = l.solver.Bits(p.rows, l.colors)
		return order, true, q, nil
	}
	l.codes = scratch.Resize(l.codes, n*n)
	clear(l.codes)
	types, _ := p.arcTypes()
	for i, e := range p.arcs {
		code := uint16(types[i] + 1)
		l.codes[int(e.a)*n+int(e.b)] = code
		if !p.g.Directed {
			l.codes[int(e.b)*n+int(e.a)] = code
		}
	}
	order, q = l.solver.Matrix(n, l.codes, l.colors)
	return order, true, q, nil
}

// leaves compares selections of k nodes by their fields.
type leaves struct {
	*lists
	p      *problem
	k      int
	chosen []int32 // best selection, ascending
	keep   []int32 // selection that Compare compares with chosen, ascending
	known  bool    // best has the content of the field of chosen
	best   []int32
	other  []int32
	part   problem
	place  []int32 // by node of p: its place in the field, or -1
	canon  [canon.Partial + 1]int
	err    error
}

// Keep implements refine.Leaves. It leaves the field to Compare, which needs it only for a second
// selection.
func (c *leaves) Keep(p *refine.Partition) {
	c.chosen = append(c.chosen[:0], p.Elems[:c.k]...)
	slices.Sort(c.chosen)
	c.known = false
}

// Compare implements refine.Leaves.
func (c *leaves) Compare(p *refine.Partition) int {
	if !c.known {
		c.best = c.show(c.best[:0], c.chosen)
		c.known = true
	}
	c.keep = append(c.keep[:0], p.Elems[:c.k]...)
	slices.Sort(c.keep)
	if slices.Equal(c.keep, c.chosen) {
		return 0
	}
	c.other = c.show(c.other[:0], c.keep)
	if c.err != nil {
		return 0
	}
	return slices.Compare(c.other, c.best)
}

// show appends the content of the field of some nodes: their types in the order of the field, and
// the matrix of edges. Distances are equal for all selections.
func (c *leaves) show(to []int32, keep []int32) []int32 {
	c.part.partOf(c.p, keep, false)
	order, canonical, q, err := c.finish(&c.part)
	if err != nil {
		c.err = err
		return to
	}
	if canonical {
		c.canon[q]++
	}
	c.place = scratch.Resize(c.place, len(c.p.nodes))
	for i := range c.place {
		c.place[i] = -1
	}
	nodeTypes := c.p.nodeTypes()
	for i, v := range order {
		c.place[keep[v]] = int32(i)
		if nodeTypes != nil {
			to = append(to, nodeTypes[keep[v]])
		}
	}
	begin, k := len(to), c.k
	to = slices.Grow(to, k*k)[:begin+k*k]
	matrix := to[begin:]
	clear(matrix)
	types, _ := c.p.arcTypes()
	for i, e := range c.p.arcs {
		a, b := int(c.place[e.a]), int(c.place[e.b])
		if a < 0 || b < 0 {
			continue
		}
		matrix[a*k+b] = int32(types[i]) + 1
		if !c.p.g.Directed {
			matrix[b*k+a] = int32(types[i]) + 1
		}
	}
	return to
}
