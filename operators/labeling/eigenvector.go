package labeling

import (
	"errors"
	"math"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
)

// errNotConverged is the error of Eigenvector if the two largest eigenvalues of the graph are too
// close, as in a path of 400 nodes, and of PageRank if the damping is too close to 1.
var errNotConverged = errors.New("no convergence after 10000 rounds")

const maxRounds = 10_000

// Eigenvector labels nodes with the eigenvector of the greatest eigenvalue of the adjacency matrix,
// the largest entry scaled to 1 (Bonacich 1972); in a directed graph a node collects from the arcs
// that arrive. If there are several such vectors, it is the limit of the iteration from equal
// entries: where components, or strong components, have different greatest eigenvalues only those
// with the greatest of all, and what they reach, have labels above 0. If there is no cycle of arcs,
// or no edge, all eigenvalues are 0, and so are all labels.
//
// Power iteration on A + I, which has the same eigenvector and does not alternate on bipartite
// graphs, in fixed point, whose sums do not depend on the order. Undirected graphs jump ahead
// (Aitken's extrapolation, with the ratio of successive changes) whenever that ratio has settled.
// It ends when the error, estimated from the decay of the changes, is below 2⁻²⁶. In a directed
// graph the decay may never be geometric, where one cycle leads to another that grows as fast:
// after 1000 rounds a change of at most 2⁻²⁰ a round will do, and the error is then about 10⁻³.
// An error after 10000 rounds. O(m) a round. Package network of gonum has no eigenvector
// centrality.
var Eigenvector Labeling = eigenvector{}

type eigenvector struct{}

func (eigenvector) String() string { return "eigenvector" }

func (eigenvector) Label(in Input, labels []float64) error {
	g, n := in.Graph, len(labels)
	clear(labels)
	off, tails := g.Offsets, g.Neighbors
	if g.Directed {
		off, tails, _ = g.Transpose()
	}
	if len(tails) == 0 || g.Directed && acyclic(g, off) {
		return nil
	}
	most := int32(0)
	for v := range n {
		most = max(most, off[v+1]-off[v])
	}
	// A sum of most + 1 entries of at most one fits 62 bits.
	shift := min(50, 62-bits.Len32(uint32(most)+1))
	one := int64(1) << shift
	x, y, z := make([]int64, n), make([]int64, n), make([]int64, n) // the last three iterates
	for v := range x {
		x[v] = one
	}
	const every = 5 // rounds between two checks of the changes
	last, lastRatio := 0.0, math.NaN()
	for round := 1; round <= maxRounds; round++ {
		if err := in.Err(); err != nil {
			return err
		}
		x, y, z = z, x, y
		top := int64(0)
		for v := range x {
			sum := y[v]
			for _, u := range tails[off[v]:off[v+1]] {
				sum += y[u]
			}
			x[v] = sum
			top = max(top, sum)
		}
		scale := float64(one) / float64(top)
		for v, s := range x {
			x[v] = int64(float64(s)*scale + 0.5)
		}
		if round%every != 0 {
			continue
		}
		change := farthest(x, y) // a change of up to 4 may be rounding
		decay := math.Pow(float64(change)/last, 1./every)
		done := last > 0 && decay < 1 && float64(change)*decay/(1-decay) <= float64(one)/(1<<26)
		if change <= 4 || done || g.Directed && round >= 1000 && change <= one>>20 {
			for v, e := range x {
				labels[v] = float64(e) / float64(one)
			}
			return nil
		}
		last = float64(change)
		if g.Directed {
			continue
		}
		ratio := ratioOfChanges(x, y, z)
		if math.Abs(ratio-lastRatio) < (1-ratio)/20 {
			for v, e := range x {
				jump := float64(e-y[v]) * ratio / (1 - ratio)
				x[v] = min(max(0, e+int64(jump)), one)
			}
			last, ratio = 0, math.NaN()
		}
		lastRatio = ratio
	}
	return errNotConverged
}

// farthest returns the largest difference between entries of x and y.
func farthest(x, y []int64) int64 {
	d := int64(0)
	for v, e := range x {
		d = max(d, e-y[v], y[v]-e)
	}
	return d
}

// ratioOfChanges returns the factor that converts y - z to x - y with the least error. The changes
// are shortened to as many bits as keep the sums exact.
func ratioOfChanges(x, y, z []int64) float64 {
	keep := (62 - bits.Len(uint(len(x)))) / 2
	cut := max(0, bits.Len64(uint64(max(farthest(x, y), farthest(y, z))))-keep)
	over, under := int64(0), int64(0)
	for v, e := range x {
		now, before := (e-y[v])>>cut, (y[v]-z[v])>>cut
		over += now * before
		under += before * before
	}
	return float64(over) / float64(under)
}

// acyclic reports whether removing nodes without incoming arcs, again and again, removes all nodes
// of g. in has the offsets of incoming arcs.
func acyclic(g *graph.Graph, in []int32) bool {
	left := make([]int32, g.N()) // number of remaining incoming arcs
	var free []int32
	for v := range left {
		left[v] = in[v+1] - in[v]
		if left[v] == 0 {
			free = append(free, int32(v))
		}
	}
	for i := 0; i < len(free); i++ {
		for _, v := range g.Adj(free[i]) {
			if left[v]--; left[v] == 0 {
				free = append(free, v)
			}
		}
	}
	return len(free) == len(left)
}
