package labeling

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/sanflow/sanflow/flow/graph"
)

// SampledBetweenness estimates betweenness: it is a sum over all n sources, and n times the mean
// over a random sample of sources estimates it without bias (Brandes and Pich 2007, Bader et al.
// 2007). O(Sources · m) instead of O(n m). Estimate returns the standard error of each label.
//
// Sources are drawn by node number. So this labeling, unlike the others, depends on the numbering:
// renumbering draws other sources, and changes labels within their errors. The same graph, settings
// and Seed always give the same labels.
//
// Memory for each worker: 8 bytes an edge, 4 an arc of a directed graph, and 49 a node.
type SampledBetweenness struct {
	// Sources is the number of sources, drawn without replacement. The default
	// is 256. From n on, the result is exact.
	Sources int
	// Seed decides which sources.
	Seed uint64
}

// String returns "betweenness-256", with the number of sources, and a seed that is not 0.
func (l SampledBetweenness) String() string {
	return language.Describe(fmt.Sprintf("betweenness-%d", l.sources()), SampledBetweenness{Sources: l.Sources}, l)
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

// Estimate returns the labels and the standard error of each: n/√S times the sample deviation of
// the contributions of the S sources to the node, times √((n-S)/(n-1)), since no source is drawn
// twice; half of it in undirected graphs, as each pair counts once. The errors are 0 if all sources
// took part, and +Inf after a single source of several. A node to which no source of the sample
// contributes has an error of 0 as well, since the deviation is the sample deviation.
func (l SampledBetweenness) Estimate(in Input) (labels, errors []float64, err error) {
	n := in.Graph.N()
	labels, errors = make([]float64, n), make([]float64, n)
	if err := l.estimate(in, labels, errors); err != nil {
		return nil, nil, fmt.Errorf("labeling: %s: %w", l, err)
	}
	return labels, errors, nil
}

// estimate sets labels, and errors unless errors is nil.
func (l SampledBetweenness) estimate(in Input, labels, errors []float64) error {
	switch {
	case l.Sources < 0:
		return fmt.Errorf("%d sources, want at least 0", l.Sources)
	case len(labels) == 0:
		return nil
	case l.sources() >= len(labels):
		clear(errors)
		return Betweenness.Label(in, labels)
	}
	return l.bySources(in, labels, errors)
}

// bySources is estimate for fewer sources than nodes. All sums are integers, so the distribution of
// sources to workers does not matter.
func (l SampledBetweenness) bySources(in Input, labels, errors []float64) error {
	n := len(labels)
	sources := l.draw(in.Graph, l.sources())
	sums := make([]sum128, n)
	squares := make([]sum128, len(errors))
	// The square of a dependency, of at most n·2³², and a sum of S of them fit 128 bits.
	shift := max(0, (3*bits.Len(uint(n))-62)/2)
	p := whole(in.Graph)
	var mu sync.Mutex
	workers := workersFor(n)
	searches := make([]*brandes, workers)
	err := in.each(workers, len(sources), func(worker, i int) {
		b := searches[worker]
		if b == nil {
			b = brandesPool.Get().(*brandes)
			b.reset(p, func() bool { return in.Err() != nil })
			searches[worker] = b
		}
		met := b.source(sources[i], 1)
		mu.Lock()
		defer mu.Unlock()
		if errors != nil {
			for _, v := range met {
				squares[v].add(b.delta[v]>>shift, b.delta[v]>>shift)
			}
		}
	})
	if err != nil {
		return err
	}
	addUp(searches, sums)
	half := 1.0
	if !in.Graph.Directed {
		half = 0.5 // the searches from both ends count each pair
	}
	count := float64(len(sources))
	for v := range labels {
		sum := sums[v].float()
		labels[v] = half * float64(n) / count * sum
		switch {
		case errors == nil:
		case count == 1:
			errors[v] = math.Inf(1)
		default:
			square := math.Ldexp(squares[v].float(), 2*shift-32)
			variance := max(0, square-sum*sum/count) / (count - 1)
			left := (float64(n) - count) / float64(n-1)
			errors[v] = half * float64(n) * math.Sqrt(variance/count*left)
		}
	}
	return nil
}

// draw returns count distinct nodes, the start of a random permutation.
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
