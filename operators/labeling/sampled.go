package labeling

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/sanflow/sanflow/flow/graph"
)

// SampledBetweenness estimates betweenness in one of two ways.
//
// By sources, the default: betweenness is a sum over all n sources, and n times the mean over a
// random sample of sources estimates it without bias (Brandes and Pich 2007, Bader et al.
// 2007). O(Sources · m) instead of O(n m). Estimate returns the standard error of each label.
//
// By shortest paths, if Epsilon is set: for each of many random pairs of nodes, a search from
// both ends draws one of the shortest paths, and the nodes on it are counted (Riondato and
// Kornaropoulos 2014; Borassi and Natale 2016 for the search). With probability 1-Delta every
// label of every node has an error of at most Epsilon times the number of pairs, n(n-1)/2, or
// n(n-1) in a directed graph. Hoeffding's bound for all nodes together limits the samples to
// ln(4n/Delta)/(2·Epsilon²). The empirical Bernstein bound (Maurer and Pontil 2009), tested
// whenever the number of samples has grown by a half, nearly always ends earlier: after about
// 40·b/Epsilon² samples, with b the largest share of shortest paths through one node.
//
// Both ways draw by node number. So this labeling, unlike the others, depends on the numbering:
// renumbering draws other sources and pairs, and changes labels within their errors. The same
// graph, settings and Seed always give the same labels.
//
// Memory for each worker: by sources 8 bytes an edge, 4 an arc of a directed graph, and 49 a
// node; by paths 12 bytes a node, 4 for each node that a search meets, and for a directed graph
// 8 an arc, once. Input.Progress counts sources or samples, with their maximum.
type SampledBetweenness struct {
	// Sources is the number of sources, drawn without replacement. The default
	// is 256. From n on, the result is exact.
	Sources int
	// Epsilon, if not 0, is the largest error as a share of all pairs, below 1. One
	// that takes longer than exact betweenness is an error, which names the least.
	Epsilon float64
	// Delta is the probability that an error is larger than Epsilon allows. The
	// default is 0.1, the least 1e-290.
	Delta float64
	// Seed decides which sources, or which paths.
	Seed uint64
	// Workers is the number of goroutines; 0 takes one per processor for graphs
	// large enough to gain from it. It does not change the result.
	Workers int
}

// String returns "betweenness-256", with the number of sources, or
// "sampled-betweenness(epsilon=0.01)", and a seed that is not 0. Workers change
// no label.
func (l SampledBetweenness) String() string {
	l.Workers = 0
	if l.Epsilon != 0 {
		return language.Describe("sampled-betweenness", SampledBetweenness{}, l)
	}
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

// Estimate returns the labels and an estimate of the error of each.
//
// By sources that is the standard error: n/√S times the sample deviation of the contributions of
// the S sources to the node, times √((n-S)/(n-1)), since no source is drawn twice; half of it in
// undirected graphs, as each pair counts once. The errors are 0 if all sources took part, and +Inf
// after a single source of several. A node to which no source of the sample contributes has an
// error of 0 as well, since the deviation is the sample deviation.
//
// By paths it is a bound, of at most Epsilon times the number of pairs: all
// labels keep theirs at once with a probability of 1-Delta. Nodes on few paths
// have a smaller one.
func (l SampledBetweenness) Estimate(in Input) (labels, errors []float64, err error) {
	n := in.Graph.N()
	labels, errors = make([]float64, n), make([]float64, n)
	if err := l.estimate(in, labels, errors); err != nil {
		return nil, nil, fmt.Errorf("labeling: %s: %w", l, err)
	}
	return labels, errors, nil
}

// leastDelta keeps the logarithm of one over Delta, times the nodes, finite.
const leastDelta = 1e-290

// estimate writes errors too if they are not nil.
func (l SampledBetweenness) estimate(in Input, labels, errors []float64) error {
	switch {
	case l.Sources < 0:
		return fmt.Errorf("%d sources, want at least 0", l.Sources)
	case l.Workers < 0:
		return fmt.Errorf("%d workers, want at least 0", l.Workers)
	case !(l.Epsilon >= 0 && l.Epsilon < 1):
		return fmt.Errorf("epsilon %v, want at least 0 and below 1", l.Epsilon)
	case l.Delta != 0 && !(l.Delta >= leastDelta && l.Delta < 1):
		return fmt.Errorf("delta %v, want 0, or at least %v and below 1", l.Delta, leastDelta)
	case l.Epsilon > 0 && l.Sources > 0:
		return fmt.Errorf("%d sources and an epsilon, want one of them", l.Sources)
	case l.Epsilon == 0 && l.Delta > 0:
		return fmt.Errorf("delta %v without an epsilon", l.Delta)
	case len(labels) == 0:
		return nil
	case l.Epsilon > 0:
		return l.byPaths(in, labels, errors)
	case l.sources() >= len(labels):
		clear(errors)
		return BetweennessCentrality{Workers: l.Workers}.Label(in, labels)
	}
	return l.bySources(in, labels, errors)
}

// bySources is estimate by fewer sources than there are nodes. All sums are of
// whole numbers, so that it does not matter which worker adds what.
func (l SampledBetweenness) bySources(in Input, labels, errors []float64) error {
	n := len(labels)
	sources := l.draw(in.Graph, l.sources())
	sums := make([]sum128, n)
	squares := make([]sum128, len(errors))
	// The square of a dependency, of at most n·2³², and S of them fit 128 bits.
	shift := max(0, (3*bits.Len(uint(n))-62)/2)
	p := whole(in.Graph)
	var mu sync.Mutex
	done := 0
	workers := workersFor(l.Workers, n)
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
		done++
		in.progress(done, len(sources))
	})
	if err != nil {
		return err
	}
	addUp(searches, sums)
	half := 1.0
	if !in.Graph.Directed {
		half = 0.5 // each pair is met from both ends
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
