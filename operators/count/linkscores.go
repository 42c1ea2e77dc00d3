package count

import (
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// LinkScores are scores of a pair of nodes without learning, the baseline of link prediction. A
// higher score means a more likely link.
type LinkScores struct {
	Common     float64 // number of common neighbours
	AdamicAdar float64 // sum of 1/log(degree) over the common neighbours (Adamic and Adar, Social Networks 2003)
	// Katz is Σ βˡ · (walks of length l between the two), β = 0.001 (Katz, Psychometrika
	// 1953), over lengths up to 6. A step of more than 131072 arcs beside a hub ends the
	// sum earlier. An inverse of 1 − βA in float64 loses walks of more than 5 edges in its rounding:
	// on the first of SEAL's splits of the power grid the inverse has AUC 0.655, this sum 0.724.
	Katz    float64
	Degrees float64 // product of the degrees, as in preferential attachment
}

const katzBeta = 0.001

// LinkScorer scores pairs of nodes. The zero value is ready. It keeps 8 numbers for each
// node of the largest graph, and serves one goroutine.
type LinkScorer struct{ walks pairWalks }

// Score scores two nodes of an undirected graph. O(deg(u) + deg(v)) and the arcs within
// three steps of each, at most 131072 a step.
func (s *LinkScorer) Score(g *graph.Graph, u, v int32) LinkScores {
	all := LinkScores{Degrees: float64(g.Degree(u)) * float64(g.Degree(v))}
	all.Common, all.AdamicAdar = common(g, u, v)
	if g.Entry(u, v) >= 0 {
		all.Katz = katzBeta
	}
	s.walks[0].from(g, u, false)
	s.walks[1].from(g, v, false)
	for length, weight := 2, katzBeta*katzBeta; length <= 2*walkSteps; length, weight = length+1, weight*katzBeta {
		a, b, ok := s.walks.halves(length)
		if !ok {
			break
		}
		for _, w := range a.at {
			all.Katz += weight * a.x[w] * b.x[w]
		}
	}
	return all
}

// common returns the number of common neighbours and the index of Adamic and Adar.
func common(g *graph.Graph, u, v int32) (count, adamicAdar float64) {
	shared(g.Adj(u), g.Adj(v), func(w int32) {
		count++
		adamicAdar += 1 / math.Log(float64(g.Degree(w))) // a common neighbour has degree 2 or more
	})
	return count, adamicAdar
}

// shared calls each with the common elements of two ascending lists.
func shared(a, b []int32, each func(x int32)) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			each(a[0])
			a, b = a[1:], b[1:]
		}
	}
}
