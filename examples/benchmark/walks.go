package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators/count"
)

// errDiverges is the error of a sum over walks that diverges at the decay.
var errDiverges = errors.New("the sum over walks diverges")

// walkGram compares graphs by the geometric random-walk kernel of labelled graphs (Gärtner, Flach
// and Wrobel, "On graph kernels", 2003; Vishwanathan et al., "Graph kernels", 2010): the number of
// pairs of walks, one in each graph, with equal labels of nodes and edges. Pairs of length n have
// weight decayⁿ. With the matrix A× of the product graph, whose nodes are the pairs of nodes of
// one label, it is
//
//	k(G, H) = Σ (I − decay · A×)⁻¹, over all entries,
//
// which is finite if decay is below 1 over the largest eigenvalue of A×; else walkGram returns
// errDiverges. The product graph is not built: the product of its matrix and a vector sums over the
// neighbours in one graph, then in the other, in O(m·n' + n·m'), less if labels differ.
func walkGram(ctx context.Context, graphs []*walkGraph, decay float64, workers int) (*graphkernel.Gram, error) {
	n := len(graphs)
	g := &graphkernel.Gram{N: n, K: make([]float64, n*n)}
	fill := func(s *walkSolver, i, j int) (err error) {
		g.K[i*n+j], err = s.solve(ctx, graphs[i], graphs[j])
		if errors.Is(err, errDiverges) {
			return fmt.Errorf("graphs %d and %d: %w at a decay of %v; take a smaller one", i, j, err, decay)
		}
		g.K[j*n+i] = g.K[i*n+j]
		return err
	}
	// The largest eigenvalue of a product of two graphs is at most the larger of the two products of a
	// graph with itself. If these converge, all do.
	err := each(ctx, workers, n, func(_ context.Context, i int) error { return fill(&walkSolver{decay: decay}, i, i) })
	if err != nil {
		return nil, err
	}
	err = each(ctx, workers, n, func(_ context.Context, i int) error {
		s := &walkSolver{decay: decay}
		for j := range i {
			if err := fill(s, i, j); err != nil {
				return err
			}
		}
		return nil
	})
	return g, err
}

// walkGraph is an undirected graph whose nodes are in the order of their labels.
type walkGraph struct {
	off, nbr []int32
	types    []int32  // of nbr: the index of the label in edges
	label    []uint64 // of nodes, ascending: see count.LabelsOf
	edges    []uint64 // distinct labels of edges, ascending
}

func newWalkGraph(g *graph.Graph) (*walkGraph, error) {
	if g.Directed {
		return nil, errors.New("walks of directed graphs are not compared")
	}
	nodes, edges := count.LabelsOf(g)
	n := g.N()
	if nodes == nil {
		nodes = make([]uint64, n) // without labels all are equal
	}
	if edges == nil {
		edges = make([]uint64, len(g.Neighbors))
	}
	order, place := make([]int32, n), make([]int32, n)
	for v := range order {
		order[v] = int32(v)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(nodes[a], nodes[b]) })
	for i, v := range order {
		place[v] = int32(i)
	}
	w := &walkGraph{off: []int32{0}, edges: slices.Compact(slices.Sorted(slices.Values(edges)))}
	for _, v := range order {
		w.label = append(w.label, nodes[v])
		for e := g.Offsets[v]; e < g.Offsets[v+1]; e++ {
			t, _ := slices.BinarySearch(w.edges, edges[e])
			w.nbr, w.types = append(w.nbr, place[g.Neighbors[e]]), append(w.types, int32(t))
		}
		w.off = append(w.off, int32(len(w.nbr)))
	}
	return w, nil
}

// walkSolver solves the linear system of two graphs. A vector has an element for each pair of nodes with
// equal labels: the pairs of node i of a are from base[i] to base[i+1], in the order of the nodes of b,
// where equal labels are adjacent.
type walkSolver struct {
	decay      float64
	a, b       *walkGraph
	from       []int32 // of each node of a: the first node of b with its label
	base       []int   // of each node of a: its first pair; then the number of pairs
	types      []int32 // of each label of edges of a: its index in b, or -1
	sums       []float64
	x, r, p, q []float64
}

// solve returns the sum of the solution of (I − decay·A×) x = 1.
func (s *walkSolver) solve(ctx context.Context, a, b *walkGraph) (float64, error) {
	s.match(a, b)
	size := s.base[len(a.label)]
	for _, v := range []*[]float64{&s.x, &s.r, &s.p, &s.q} {
		*v = slices.Grow((*v)[:0], size)[:size]
	}
	if err := s.gradients(ctx); err != nil {
		return 0, err
	}
	// A positive solution is the limit of the sum: if decay times the largest eigenvalue λ were 1 or more,
	// its left eigenvector w ≥ 0 would have (1 − decay·λ)·w·x = w·1 > 0, and so w·x < 0.
	sum := 0.0
	for _, x := range s.x {
		if !(x > 0.5) || x-x != 0 { // an element is at least 1 without rounding
			return 0, errDiverges
		}
		sum += x
	}
	return sum, nil
}

// match sets the pairs of nodes with equal labels.
func (s *walkSolver) match(a, b *walkGraph) {
	s.a, s.b = a, b
	s.from, s.base, s.types = s.from[:0], append(s.base[:0], 0), s.types[:0]
	at, end := 0, 0
	for i, l := range a.label {
		if i == 0 || l != a.label[i-1] {
			for at = end; at < len(b.label) && b.label[at] < l; at++ {
			}
			for end = at; end < len(b.label) && b.label[end] == l; end++ {
			}
		}
		s.from, s.base = append(s.from, int32(at)), append(s.base, s.base[i]+end-at)
	}
	for _, l := range a.edges {
		t, ok := slices.BinarySearch(b.edges, l)
		if !ok {
			t = -1
		}
		s.types = append(s.types, int32(t))
	}
	size := len(b.edges) * len(b.label)
	s.sums = slices.Grow(s.sums[:0], size)[:size]
}

// times sets out to A×·v. It sums over the neighbours in a for each label of edges, then over those in b.
func (s *walkSolver) times(v, out []float64) {
	a, b, n := s.a, s.b, len(s.b.label)
	for i := range a.label {
		row := out[s.base[i]:s.base[i+1]]
		if len(row) == 0 {
			continue
		}
		clear(s.sums)
		for e := a.off[i]; e < a.off[i+1]; e++ {
			t, k := s.types[a.types[e]], a.nbr[e]
			if t < 0 {
				continue
			}
			x := v[s.base[k]:s.base[k+1]]
			to := s.sums[int(t)*n+int(s.from[k]):]
			for j, y := range x {
				to[j] += y
			}
		}
		for j := range row {
			v := int(s.from[i]) + j
			sum := 0.0
			for e := b.off[v]; e < b.off[v+1]; e++ {
				sum += s.sums[int(b.types[e])*n+int(b.nbr[e])]
			}
			row[j] = sum
		}
	}
}

// gradients solves the symmetric system by conjugate gradients (Hestenes and Stiefel 1952). It reports
// divergence at a direction without positive curvature, which shows that the matrix is not positive
// definite, and after 1000 rounds.
func (s *walkSolver) gradients(ctx context.Context) error {
	for i := range s.r {
		s.r[i], s.p[i], s.x[i] = 1, 1, 0
	}
	square := float64(len(s.r))
	end := square * 1e-9 * 1e-9 // bound on the squared residual
	for round := 0; square > end; round++ {
		if round == 1000 {
			return errDiverges
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.times(s.p, s.q)
		curve := 0.0
		for i, p := range s.p {
			s.q[i] = p - s.decay*s.q[i]
			curve += p * s.q[i]
		}
		if !(curve > 0) {
			return errDiverges
		}
		step, next := square/curve, 0.0
		for i, p := range s.p {
			s.x[i] += step * p
			s.r[i] -= step * s.q[i]
			next += s.r[i] * s.r[i]
		}
		turn := next / square
		for i, r := range s.r {
			s.p[i] = r + turn*s.p[i]
		}
		square = next
	}
	return nil
}
