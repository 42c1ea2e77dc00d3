package labeling

import "github.com/sanflow/sanflow/flow/graph"

// Closeness labels a node that reaches r others, Σd hops away in all, with
// (r / (n-1)) · (r / Σd): the inverse of its mean distance, weighted by the share
// of nodes it reaches, so that small components do not win (Wasserman and Faust
// 1994). 0 for a node that reaches none. Arcs are followed. O(n m).
var Closeness Labeling = closeness{}

// Harmonic labels a node with Σ 1/d(v, u) over all nodes u that it reaches
// (Marchiori and Latora 2000). Arcs are followed. O(n m).
var Harmonic Labeling = harmonic{}

type closeness struct{}

func (closeness) String() string { return "closeness" }

func (closeness) Label(in Input, labels []float64) error {
	var s levels
	for v := range labels {
		if err := in.Err(); err != nil {
			return err
		}
		reached, total := 0, 0
		for d, count := range s.count(in.Graph, int32(v)) {
			reached += count
			total += d * count
		}
		reached-- // v is at distance 0 from itself
		labels[v] = 0
		if reached > 0 {
			labels[v] = float64(reached) / float64(len(labels)-1) * float64(reached) / float64(total)
		}
	}
	return nil
}

type harmonic struct{}

func (harmonic) String() string { return "harmonic" }

func (harmonic) Label(in Input, labels []float64) error {
	var s levels
	for v := range labels {
		if err := in.Err(); err != nil {
			return err
		}
		labels[v] = 0
		// Levels are added from the nearest, so the sum does not depend on the numbering.
		for d, count := range s.count(in.Graph, int32(v)) {
			if d > 0 {
				labels[v] += float64(count) / float64(d)
			}
		}
	}
	return nil
}

// levels is a breadth-first search that counts the nodes at each distance.
type levels struct {
	seen   []bool
	order  []int32
	counts []int
}

// count returns the number of nodes at distance 0, 1, 2, … from root, borrowed.
func (s *levels) count(g *graph.Graph, root int32) []int {
	if len(s.seen) < g.N() {
		s.seen = make([]bool, g.N())
	}
	s.order = append(s.order[:0], root)
	s.seen[root] = true
	s.counts = s.counts[:0]
	for begin := 0; begin < len(s.order); {
		end := len(s.order)
		s.counts = append(s.counts, end-begin)
		for _, u := range s.order[begin:end] {
			for _, v := range g.Adj(u) {
				if !s.seen[v] {
					s.seen[v] = true
					s.order = append(s.order, v)
				}
			}
		}
		begin = end
	}
	for _, v := range s.order {
		s.seen[v] = false
	}
	return s.counts
}
