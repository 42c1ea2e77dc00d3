package graphkernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// LabelledGraph is a graph as [Walks] compares it, in compressed sparse rows.
type LabelledGraph struct {
	// Offsets has length n+1, and the neighbours of v are Neighbors[Offsets[v]:Offsets[v+1]]. An
	// undirected edge occurs in the rows of both its ends.
	Offsets, Neighbors []int32
	// Nodes has the label of each node, Edges that of each neighbour. nil: all are
	// alike.
	Nodes, Edges []uint64
	// If Directed, rows hold the heads of arcs.
	Directed bool
}

// N returns n, the number of nodes.
func (g *LabelledGraph) N() int { return max(0, len(g.Offsets)-1) }

func (g *LabelledGraph) check() error {
	n := g.N()
	switch {
	case g.Nodes != nil && len(g.Nodes) != n:
		return fmt.Errorf("%d labels of %d nodes", len(g.Nodes), n)
	case g.Edges != nil && len(g.Edges) != len(g.Neighbors):
		return fmt.Errorf("%d labels of %d neighbours", len(g.Edges), len(g.Neighbors))
	case n > 0 && (g.Offsets[0] != 0 || int(g.Offsets[n]) != len(g.Neighbors)):
		return fmt.Errorf("offsets from %d to %d, of %d neighbours", g.Offsets[0], g.Offsets[n], len(g.Neighbors))
	}
	for v := range n {
		if g.Offsets[v] > g.Offsets[v+1] {
			return fmt.Errorf("offsets fall at node %d", v)
		}
	}
	for _, u := range g.Neighbors {
		if u < 0 || int(u) >= n {
			return fmt.Errorf("a neighbour is %d, want 0 to %d", u, n-1)
		}
	}
	return nil
}

// Walks is the geometric random-walk kernel of labelled graphs (Gärtner, Flach and Wrobel, "On
// graph kernels", 2003; Vishwanathan et al., "Graph kernels", 2010): the number of pairs of
// walks, one in each graph, with equal labels of nodes and edges. Pairs of length n have weight
// Decayⁿ. With the matrix A× of the product graph, whose nodes are the pairs of nodes of one
// label, it is
//
//	k(G, H) = Σ (I − Decay · A×)⁻¹, over all entries,
//
// which is finite if Decay is below 1 over the largest eigenvalue of A×. The product graph is
// not built: a product of its matrix and a vector follows the neighbours in one graph, then in
// the other, in O(m·n' + n·m'), less if labels differ. A worker needs some vectors with a
// number for each pair of one label. Conjugate gradients solve undirected graphs, the fixed
// point x = 1 + Decay·A×x directed ones.
//
// All graphs must be directed or none, all must have labels of nodes or none, and likewise
// labels of edges. An undirected graph with an edge in one row only is an error.
//
// A sum of walks that diverges is an ErrDiverges. The solution of the system has only positive
// numbers if and only if the sum converges, which is checked.
type Walks struct {
	Decay     float64 // 0 = 1e-3; the PATCHY-SAN paper chooses one of 1e-6, 1e-5, … 1e-1
	Tolerance float64 // of the residual, over its start; 0 = 1e-9
	Rounds    int     // the most there may be of them; more are an ErrDiverges. 0 = 1000
	Workers   int     // goroutines, 0 = 1; the result does not depend on them
}

// ErrDiverges is the error if the sum over walks diverges at the decay.
var ErrDiverges = errors.New("the sum over walks diverges")

// Gram compares all graphs with each other: 8·N² bytes.
func (w Walks) Gram(ctx context.Context, graphs []LabelledGraph) (*Gram, error) {
	sorted, err := w.prepare(ctx, graphs)
	if err != nil {
		return nil, err
	}
	n := len(graphs)
	g := &Gram{N: n, K: make([]float64, n*n)}
	// No product of two graphs has a larger eigenvalue than both products of one
	// of them with itself, so where those converge all do.
	err = w.share(ctx, n, func(s *walkSolver, i int) (err error) {
		g.K[i*n+i], err = s.solve(ctx, &sorted[i], &sorted[i])
		return w.blame(err, i, i)
	})
	if err != nil {
		return nil, err
	}
	err = w.share(ctx, n, func(s *walkSolver, i int) (err error) {
		for j := range i {
			if g.K[i*n+j], err = s.solve(ctx, &sorted[i], &sorted[j]); err != nil {
				return w.blame(err, i, j)
			}
			g.K[j*n+i] = g.K[i*n+j]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (w Walks) blame(err error, i, j int) error {
	if !errors.Is(err, ErrDiverges) {
		return err
	}
	return fmt.Errorf("graphkernel: walks: graphs %d and %d: %w at a decay of %v; take a smaller one", i, j, err, w.decay())
}

func (w Walks) decay() float64 { return cmp.Or(w.Decay, 1e-3) }

// prepare checks the settings and sorts the nodes of graphs by label, until ctx ends.
// All must be of one kind: there is no walk in a graph of each otherwise.
func (w Walks) prepare(ctx context.Context, graphs []LabelledGraph) ([]walkGraph, error) {
	switch {
	case !(w.decay() > 0) || !kernel.Finite(w.decay()):
		return nil, fmt.Errorf("graphkernel: walks: Decay is %v, want a positive number", w.Decay)
	case !(w.Tolerance >= 0) || w.Tolerance >= 1:
		return nil, fmt.Errorf("graphkernel: walks: Tolerance is %v, want 0 to less than 1", w.Tolerance)
	case w.Rounds < 0:
		return nil, fmt.Errorf("graphkernel: walks: Rounds is %d, want 0 or more", w.Rounds)
	}
	var sorted []walkGraph
	var first, nodes, edges *LabelledGraph // at all, with nodes, with edges
	for i := range graphs {
		g := &graphs[i]
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("graphkernel: walks: graph %d: %w", i, err)
		}
		if first == nil {
			first = g
		}
		if nodes == nil && g.N() > 0 {
			nodes = g
		}
		if edges == nil && len(g.Neighbors) > 0 {
			edges = g
		}
		if g.Directed != first.Directed || g.N() > 0 && (g.Nodes == nil) != (nodes.Nodes == nil) || len(g.Neighbors) > 0 && (g.Edges == nil) != (edges.Edges == nil) {
			return nil, fmt.Errorf("graphkernel: walks: graph %d is not of the kind of those before, directed, with labels of nodes or with labels of edges", i)
		}
		s := sortByLabel(g)
		if !g.Directed && !s.symmetric() {
			return nil, fmt.Errorf("graphkernel: walks: graph %d is undirected, and an edge is in the row of one end alone, or has two labels", i)
		}
		sorted = append(sorted, s)
	}
	return sorted, nil
}

// symmetric reports whether each arc has one back, of the same label: conjugate
// gradients are wrong without, and do not notice.
func (g *walkGraph) symmetric() bool {
	// Of each arc that leaves or reaches v, in the rows of v: the other end, and the label.
	leaves, reaches := make([]uint64, len(g.nbr)), make([]uint64, len(g.nbr))
	next := slices.Clone(g.off)
	for v := range int32(g.n) {
		for e := g.off[v]; e < g.off[v+1]; e++ {
			u, label := g.nbr[e], uint64(g.types[e])
			if next[u] == g.off[u+1] {
				return false // more reach u than leave it
			}
			leaves[e], reaches[next[u]] = uint64(u)<<32|label, uint64(v)<<32|label
			next[u]++
		}
	}
	for v := range g.n {
		slices.Sort(leaves[g.off[v]:g.off[v+1]])
		slices.Sort(reaches[g.off[v]:g.off[v+1]])
	}
	return slices.Equal(leaves, reaches)
}

// share does a task for each row, on the workers. The error is that of the first
// row that has one.
func (w Walks) share(ctx context.Context, rows int, task func(s *walkSolver, i int) error) error {
	workers := max(1, w.Workers)
	solvers := make([]walkSolver, pool.Workers(workers, rows))
	for i := range solvers {
		solvers[i] = walkSolver{decay: w.decay(), tolerance: cmp.Or(w.Tolerance, 1e-9), rounds: cmp.Or(w.Rounds, 1000)}
	}
	return pool.Each(ctx, workers, rows, func(_ context.Context, worker, i int) error { return task(&solvers[worker], i) })
}

// walkGraph is a graph with its nodes in order of their labels.
type walkGraph struct {
	n        int
	off, nbr []int32
	types    []int32  // of nbr: number of the label in edges
	label    []uint64 // of nodes, ascending
	edges    []uint64 // labels of edges, ascending
	directed bool
}

func sortByLabel(g *LabelledGraph) walkGraph {
	n := g.N()
	label := func(v int32) uint64 {
		if g.Nodes == nil {
			return 0
		}
		return g.Nodes[v]
	}
	order, place := make([]int32, n), make([]int32, n)
	for v := range order {
		order[v] = int32(v)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(label(a), label(b)) })
	for i, v := range order {
		place[v] = int32(i)
	}
	w := walkGraph{n: n, off: make([]int32, n+1), label: make([]uint64, n), directed: g.Directed}
	if len(g.Neighbors) > 0 {
		w.edges = slices.Compact(slices.Sorted(slices.Values(g.Edges)))
	}
	for i, v := range order {
		w.label[i] = label(v)
		for e := g.Offsets[v]; e < g.Offsets[v+1]; e++ {
			w.nbr = append(w.nbr, place[g.Neighbors[e]])
			t := 0
			if g.Edges != nil {
				t, _ = slices.BinarySearch(w.edges, g.Edges[e])
			}
			w.types = append(w.types, int32(t))
		}
		w.off[i+1] = int32(len(w.nbr))
	}
	return w
}
