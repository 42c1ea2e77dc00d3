package main

import "github.com/sanflow/sanflow/flow/graph"

const (
	// steps is how long walks from each end get: those from one to the other that
	// meet on the way are twice as long.
	steps = 3
	// budget bounds the arcs that are looked at in a step; where there are more it
	// is not taken.
	budget = 1 << 17
)

// walks is where walks from a node are after 0 to steps edges.
type walks struct {
	after [steps + 1]sparse
}

// sparse is a number for each node, most of them 0.
type sparse struct {
	x     []float64
	at    []int32 // the nodes of which it is not
	known bool
}

func (s *sparse) add(v int32, x float64) {
	if s.x[v] == 0 {
		s.at = append(s.at, v)
	}
	s.x[v] += x
}

func (s *sparse) reset(n int) {
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
	for i := range steps {
		now, next := &w.after[i], &w.after[i+1]
		arcs := 0
		for _, v := range now.at {
			arcs += g.Degree(v)
		}
		if arcs > budget {
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
