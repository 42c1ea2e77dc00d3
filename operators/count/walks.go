package count

import (
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

const (
	// walkSteps is the length of walks from each end of a pair, in edges. Walks from
	// one end to the other meet on the way and are up to twice as long.
	walkSteps = 3
	// walkBudget bounds the arcs of a step. A step with more of them is not taken.
	walkBudget = 1 << 17
)

// pairWalks has the walks from the two ends of a pair.
type pairWalks [2]walks

// halves returns walks from the two ends that have that many edges together, those in
// fewer places first, or false where a hub is in the way of the longer of them from
// either end: which end is first must not show.
func (w *pairWalks) halves(length int) (a, b *sparseVector, ok bool) {
	long, short := (length+1)/2, length/2
	a, b = &w[0].after[long], &w[1].after[short]
	if len(b.at) < len(a.at) {
		a, b = b, a
	}
	return a, b, w[0].after[long].known && w[1].after[long].known
}

// meet returns P^length[u, v] / degree of v, with the mean over neighbours P: the
// probability that a walk of that length from one end leads to the other, over the
// degree there, which is the same from both ends. It is that of walks to the middle
// that meet, and NaN where hubs are in the way of one.
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

// walks is where walks from a node are after 0 to walkSteps edges.
type walks struct {
	after [walkSteps + 1]sparseVector
}

// sparseVector is a number for each node, most of them 0.
type sparseVector struct {
	x     []float64
	at    []int32 // the nodes of which it is not
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

// from finds the walks from a node: the probability of each place, or, not random,
// the number of walks that end there.
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
