package labeling

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// byPaths is estimate by shortest paths.
func (l SampledBetweenness) byPaths(in Input, labels, errors []float64) error {
	n := len(labels)
	clear(labels)
	clear(errors)
	if n < 2 {
		return in.Err()
	}
	between := 0 // nodes that a path may pass through
	for v := range n {
		if in.Graph.Degree(int32(v)) > 1 || in.Graph.Directed {
			between++
		}
	}
	between = max(1, between)
	delta := cmp.Or(l.Delta, 0.1)
	if least := leastEpsilon(between, len(in.Graph.Neighbors), delta); l.Epsilon < least {
		return fmt.Errorf("epsilon %v takes up to %.2g samples of a graph of %d nodes, longer than betweenness, which is exact; want at least %.2g",
			l.Epsilon, hoeffding(between, l.Epsilon, delta), n, 1.05*least)
	}
	plan := l.plan(between, delta)
	counts := make([]atomic.Int32, n)
	ends := newEnds(in.Graph)
	workers := workersFor(l.Workers, n)
	samplers := make([]*pathSampler, workers)
	for i := range samplers {
		samplers[i] = newPathSampler(in, ends, counts)
	}
	var mu sync.Mutex
	most := plan.looks[len(plan.looks)-1]
	drawn := 0
	for _, look := range plan.looks {
		begin := drawn
		err := in.each(workers, look-begin, func(worker, i int) {
			i += begin
			samplers[worker].sample(rand.New(rand.NewPCG(l.Seed, uint64(i))))
			if in.Progress != nil && i%64 == 0 {
				mu.Lock()
				defer mu.Unlock()
				drawn = max(drawn, i)
				in.progress(drawn, most)
			}
		})
		if err != nil {
			return err
		}
		drawn = look
		if plan.enough(counts, drawn) {
			break
		}
	}
	pairs := float64(n) * float64(n-1)
	if !in.Graph.Directed {
		pairs /= 2
	}
	for v := range labels {
		c := int(counts[v].Load())
		labels[v] = float64(c) / float64(drawn) * pairs
		if errors != nil {
			errors[v] = pairs * min(l.Epsilon, plan.radius(c, drawn))
		}
	}
	in.progress(most, most)
	return nil
}

// samplePlan says when samples are enough.
type samplePlan struct {
	epsilon float64
	looks   []int   // numbers of samples after which the error is looked at
	log     float64 // of 2 over the probability that one bound of one look fails
}

// hoeffding is how many samples bound the errors of all nodes by epsilon.
func hoeffding(nodes int, epsilon, delta float64) float64 {
	return math.Log(4*float64(nodes)/delta) / (2 * epsilon * epsilon)
}

// leastEpsilon is the Epsilon from which on samples, of some 64 steps each, take no more
// steps than exact betweenness, or are 2²⁴ at most, which take seconds. Counts have 32
// bits.
func leastEpsilon(nodes, arcs int, delta float64) float64 {
	samples := min(max(1<<24, float64(nodes)*float64(nodes+arcs)/64), math.MaxInt32)
	return math.Sqrt(math.Log(4*float64(nodes)/delta) / (2 * samples))
}

// plan divides Delta: one half for the bound of Hoeffding at the end, the other
// for that of Bernstein at each look, in both directions for each node.
func (l SampledBetweenness) plan(nodes int, delta float64) samplePlan {
	p := samplePlan{epsilon: l.Epsilon}
	most := math.Ceil(hoeffding(nodes, l.Epsilon, delta))
	// Below the first look not even a node without paths has a bound of epsilon.
	first := 1 + math.Ceil(7*math.Log(8*float64(nodes)/delta)/(3*l.Epsilon))
	for at := min(first, most); at < most; at = math.Ceil(at * 1.5) {
		p.looks = append(p.looks, int(at))
	}
	p.looks = append(p.looks, int(most))
	p.log = math.Log(8 * float64(nodes) * float64(len(p.looks)) / delta)
	return p
}

// radius is Bernstein's empirical bound for a node on count of the paths (Maurer
// and Pontil 2009, Theorem 4).
func (p *samplePlan) radius(count, drawn int) float64 {
	if drawn < 2 {
		return 1
	}
	n := float64(drawn)
	mean := float64(count) / n
	variance := mean * (1 - mean) * n / (n - 1)
	return math.Sqrt(2*variance*p.log/n) + 7*p.log/(3*(n-1))
}

// enough reports whether the bound of every node is epsilon.
func (p *samplePlan) enough(counts []atomic.Int32, drawn int) bool {
	worst := 0 // the count nearest to half of the samples has the largest bound
	for v := range counts {
		c := int(counts[v].Load())
		worst = max(worst, min(c, drawn-c))
	}
	return p.radius(worst, drawn) <= p.epsilon
}
