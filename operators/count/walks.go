package count

import (
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

const (
	// walkSteps is the length of walks from each end of a pair, in edges. Walks between the ends
	// meet on the way, so they are up to twice as long.
	walkSteps = 3
	// walkBudget bounds the arcs of a step. A step with more is not computed.
	walkBudget = 1 << 17
)

// pairWalks has the walks from both ends of a pair.
type pairWalks [2]walks

// halves returns walks from both ends whose lengths add up to length, those with fewer end nodes
// first. ok is false if the longer half is unknown from either end, so the result does not depend
// on the order of the ends.
func (w *pairWalks) halves(length int) (a, b *sparseVector, ok bool) {
	long, short := (length+1)/2, length/2
	a, b = &w[0].after[long], &w[1].after[short]
	if len(b.at) < len(a.at) {
		a, b = b, a
	}
	return a, b, w[0].after[long].known && w[1].after[long].known
}

// meet returns P^length[u, v] / degree of v, where P is the mean over neighbours: the probability
// that a walk of that length from one end ends at the other, over the degree there. It is
// symmetric. It is computed from walks of both ends that meet, and is NaN if one is unknown.
func (w *pairWalks) meet(g *graph.Graph, length int) (sum float64) {
	a, b, ok := w.halves(length)
	if !ok {
		return math.NaN()
	}
	for _, v := range a.at {
		sum += a.x[v] * b.x[v] / float64(g.Degree(v))
	}
	return sum
}

// walks has the end nodes of walks from a node after 0 to walkSteps edges.
type walks struct {
	after [walkSteps + 1]sparseVector
}

// sparseVector has a number for each node, mostly 0.
type sparseVector struct {
	x     []float64
	at    []int32 // nodes with a number other than 0
	known bool
}

func (s *sparseVector) add(v int32, x float64) {
	if s.x[v] == 0 {
		s.at = append(s.at, v)
	}
	s.x[v] += x
}

func (s *sparseVector) reset(n int) {
	for _, v := range s.at {
		s.x[v] = 0
	}
	if len(s.x) < n {
		s.x = make([]float64, n)
	}
	s.at, s.known = s.at[:0], false
}

// from computes the walks from a node: the probability of each end node if random, else the number
// of walks.
func (w *walks) from(g *graph.Graph, from int32, random bool) {
	for i := range w.after {
		w.after[i].reset(g.N())
	}
	w.after[0].add(from, 1)
	w.after[0].known = true
	for i := range walkSteps {
		now, next := &w.after[i], &w.after[i+1]
		arcs := 0
		for _, v := range now.at {
			arcs += g.Degree(v)
		}
		if arcs > walkBudget {
			return
		}
		for _, v := range now.at {
			x := now.x[v]
			if random {
				x /= float64(g.Degree(v))
			}
			for _, u := range g.Adj(v) {
				next.add(u, x)
			}
		}
		next.known = true
	}
}
