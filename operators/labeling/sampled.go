package labeling

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
)

// SampledBetweenness estimates betweenness from some of the sources: what
// Betweenness labels a node with is a sum over all n sources, and the mean over
// a random sample of them, times n, has that sum as its expectation (Brandes and
// Pich 2007, Bader et al. 2007). O(Sources · m) instead of O(n m).
//
// The sources are drawn by node number, so unlike every other labeling here this
// one depends on the numbering: renumbering draws other sources, and orders of
// nodes that are close to each other change. The same graph, Sources and Seed
// always give the same labels.
type SampledBetweenness struct {
	// Sources is the number of sources, drawn without replacement. The default
	// is 256. From n on, the result is exact.
	Sources int
	// Seed decides which.
	Seed uint64
}

// String returns "betweenness-256", with the number of sources, and a seed that
// is not 0.
func (l SampledBetweenness) String() string {
	return describe(fmt.Sprintf("betweenness-%d", l.sources()), SampledBetweenness{Sources: l.Sources}, l)
}

func (l SampledBetweenness) sources() int {
	if l.Sources == 0 {
		return 256
	}
	return l.Sources
}

// Label implements Labeling.
func (l SampledBetweenness) Label(in Input, labels []float64) error {
	return l.estimate(in, labels, nil)
}

// Estimate returns the labels and the standard error of each: n/√S times the
// sample deviation of what the S sources contribute to the node, times
// √((n-S)/(n-1)), since no source is drawn twice; half of it in undirected
// graphs, as each pair counts once. The errors are 0 where all sources took
// part, and +Inf after a single source of several. A node that a few sources
// alone contribute to, and none of the sample, has an error of 0 as well: the
// deviation is that of the sample.
func (l SampledBetweenness) Estimate(in Input) (labels, errors []float64, err error) {
	n := in.Graph.N()
	labels, errors = make([]float64, n), make([]float64, n)
	if err := l.estimate(in, labels, errors); err != nil {
		return nil, nil, fmt.Errorf("labeling: %s: %w", l, err)
	}
	return labels, errors, nil
}

// estimate writes errors too where they are not nil.
func (l SampledBetweenness) estimate(in Input, labels, errors []float64) error {
	if l.Sources < 0 {
		return fmt.Errorf("%d sources, want at least 0", l.Sources)
	}
	g := in.Graph
	n := g.N()
	if n == 0 {
		return nil
	}
	count := min(l.sources(), n)
	if count == n {
		clear(errors)
		return Betweenness.Label(in, labels)
	}
	b := brandesPool.Get().(*brandes)
	defer b.put()
	b.reset(whole(g), func() bool { return in.Err() != nil })
	squares := make([]float64, len(errors))
	for _, s := range l.draw(g, count) {
		met := b.source(s, 1)
		if err := in.Err(); err != nil {
			return err
		}
		for _, v := range met {
			if errors != nil {
				x := float64(b.delta[v]) / (1 << 32)
				squares[v] += x * x
			}
		}
	}
	half := 1.0
	if !g.Directed {
		half = 0.5 // each pair is met from both ends
	}
	scale := half * float64(n) / float64(count)
	for v := range labels {
		sum := b.sums[v].float()
		labels[v] = scale * sum
		switch {
		case errors == nil:
		case count == 1:
			errors[v] = math.Inf(1)
		default:
			variance := max(0, squares[v]-sum*sum/float64(count)) / float64(count-1)
			left := float64(n-count) / float64(n-1)
			errors[v] = half * float64(n) * math.Sqrt(variance/float64(count)*left)
		}
	}
	return nil
}

// draw returns count different nodes: the beginning of a random permutation.
func (l SampledBetweenness) draw(g *graph.Graph, count int) []int32 {
	rng := rand.New(rand.NewPCG(l.Seed, 0xbe7))
	nodes := make([]int32, g.N())
	for v := range nodes {
		nodes[v] = int32(v)
	}
	for i := range count {
		j := i + rng.IntN(len(nodes)-i)
		nodes[i], nodes[j] = nodes[j], nodes[i]
	}
	return nodes[:count]
}
