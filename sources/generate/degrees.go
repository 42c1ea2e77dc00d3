package generate

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// RandomDegrees returns a graph of n nodes whose degrees are drawn one by one:
// degree d with a chance proportional to weight[d]. With weights 0, 1, 1/2, 1/3
// this is the random graph of Niepert et al. 2016, section "Runtime Analysis",
// P(d) ∝ 1/d up to 3.
//
// Each node has as many half-edges as its degree. They are joined in random pairs (the
// configuration model); a self-loop or a repeated edge swaps an end with a random edge until it is
// neither. If the number of ends is odd, or no swap is found in 1000 tries, as in graphs of few
// nodes, ends are left over and some degrees smaller than drawn.
func RandomDegrees(n int, weight []float64, seed uint64) (*graph.Graph, error) {
	sum := 0.0
	for d, w := range weight {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("generate: random degrees: the weight of degree %d is %g, want at least 0", d, w)
		}
		sum += w
	}
	switch {
	case sum == 0 || math.IsInf(sum, 0):
		return nil, fmt.Errorf("generate: random degrees: the weights add up to %g", sum)
	case n < 0 || n > maxNodes/max(1, len(weight)):
		return nil, fmt.Errorf("generate: random degrees: %d nodes, want 0 to %d", n, maxNodes/max(1, len(weight)))
	}
	rng, s := NewRand(seed), newEdgeSet()
	var ends []int32
	for v := int32(0); v < int32(n); v++ {
		at := rng.Float64() * sum
		d := 0
		for d < len(weight)-1 && at >= weight[d] {
			at -= weight[d]
			d++
		}
		for range d {
			ends = append(ends, v)
		}
	}
	rng.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	var bad []int32
	for i := 0; i+1 < len(ends); i += 2 {
		if !s.add(ends[i], ends[i+1]) {
			bad = append(bad, ends[i], ends[i+1])
		}
	}
	for i := 0; i < len(bad); i += 2 {
		u, v := bad[i], bad[i+1]
		for range 1000 {
			if len(s.list) == 0 || s.add(u, v) {
				break
			}
			// Swap: u–v and a–b become u–a and v–b.
			at := rng.IntN(len(s.list))
			a, b := s.list[at].U, s.list[at].V
			if rng.IntN(2) == 1 {
				a, b = b, a
			}
			if u != a && v != b && pair(u, a) != pair(v, b) && !s.has[pair(u, a)] && !s.has[pair(v, b)] {
				s.set(at, u, a)
				s.add(v, b)
				break
			}
		}
	}
	return s.graph(n)
}
