package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// scored is a pair of nodes with what is thought of it.
type scored struct {
	score float64
	link  bool
}

// auc is the area under the ROC curve: the share of pairs of a link and a
// non-link of which the link has the higher score, ties counting half. It is the
// rank sum of Mann and Whitney with mean ranks for ties, which is exact.
// O(n log n). It is NaN unless there are both links and others.
func auc(pairs []scored) float64 {
	pairs = ascending(pairs)
	var links, others, won float64
	for i := 0; i < len(pairs); {
		j, tiedLinks := i, 0.
		for ; j < len(pairs) && pairs[j].score == pairs[i].score; j++ {
			if pairs[j].link {
				tiedLinks++
			}
		}
		tiedOthers := float64(j-i) - tiedLinks
		won += tiedLinks * (others + tiedOthers/2)
		links, others = links+tiedLinks, others+tiedOthers
		i = j
	}
	return won / (links * others)
}

// averagePrecision is Σ (Rᵢ - Rᵢ₋₁)·Pᵢ over the distinct scores from the highest
// on, with recall R and precision P among the pairs that score that much or
// more. Tied pairs enter together, so their order does not matter. O(n log n).
func averagePrecision(pairs []scored) float64 {
	pairs = ascending(pairs)
	slices.Reverse(pairs)
	links := 0.
	for _, p := range pairs {
		if p.link {
			links++
		}
	}
	var found, sum float64
	for i := 0; i < len(pairs); {
		j, more := i, 0.
		for ; j < len(pairs) && pairs[j].score == pairs[i].score; j++ {
			if pairs[j].link {
				more++
			}
		}
		found += more
		sum += more / links * found / float64(j)
		i = j
	}
	return sum
}

func ascending(pairs []scored) []scored {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	return pairs
}

// common scores a pair by its common neighbours: their number, and the sum of
// 1/log(degree) (Adamic and Adar, Social Networks 2003). O(deg(u) + deg(v)).
func common(g *graph.Graph, u, v int32) (count, adamicAdar float64) {
	a, b := g.Adj(u), g.Adj(v)
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			count++
			adamicAdar += 1 / math.Log(float64(g.Degree(a[0]))) // at least 2
			a, b = a[1:], b[1:]
		}
	}
	return count, adamicAdar
}

// katz scores a pair by the walks between its ends, Σ βˡ · (walks of length l), β =
// 0.001 (Katz, Psychometrika 1953), of up to 2·steps edges; hubs may end it earlier,
// see budget. meet finds their number.
func (s *surroundings) katz(g *graph.Graph, p pair) (sum float64) {
	if g.Entry(p.u, p.v) >= 0 {
		sum = beta
	}
	for i, end := range [2]int32{p.u, p.v} {
		s.walks[i].from(g, end, false)
	}
	for length, weight := 2, beta*beta; length <= 2*steps; length, weight = length+1, weight*beta {
		a, b, ok := s.halves(length)
		if !ok {
			break
		}
		for _, w := range a.at {
			sum += weight * a.x[w] * b.x[w]
		}
	}
	return sum
}

const beta = 0.001
