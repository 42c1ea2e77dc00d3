package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
)

// comparison estimates θ̂ of labelings: the mean Hamming distance of the k × k adjacency matrices
// of two receptive fields, over pairs of roots. An undirected edge has two entries, an edge of any
// type counts as 1, and fields with fewer than k nodes have rows of zeros. All candidates have the
// same pairs, so their differences have a smaller error than the estimates. The result does not
// depend on the number of workers, which process pairs in any order.
//
// The theorem compares orders of the same graphs of k nodes. Therefore one labeling, crop, chooses
// the nodes of a larger neighbourhood for all candidates. On polblogs with k = 10, clustering with a
// crop of its own keeps a third of the edges of the others, and has half their θ̂.
type comparison struct {
	k, bound, workers int
	crop              labeling.Labeling // nil: each candidate crops for itself
	bar               *cli.Progress
	graphs            []*graph.Graph
	indexes           []func() *field.Index // by graph, each made at its first use
	pairs             [][2]root
	candidates        []*candidate
}

// maxPairs bounds the pairs of a comparison.
const maxPairs = 10_000_000

// root is a node of a graph of the collection.
type root struct{ graph, node int32 }

// candidate is a labeling with the results of the workers.
type candidate struct {
	by       labeling.Labeling
	distance []int32 // of each pair

	mu             sync.Mutex
	entries        int
	spent          time.Duration // on fields, summed over workers
	fields, budget int64         // made; and searches that ended at a budget, where node numbers decided
	failed         int           // the first pair that failed; the number of pairs if none did
	err            error
}

// allLabelings are the labelings without settings, but NormalizedDegree, whose order is that of Degree.
func allLabelings() []labeling.Labeling {
	return []labeling.Labeling{
		labeling.Betweenness, labeling.Canonical, labeling.Closeness, labeling.Clustering, labeling.Core,
		labeling.Degree, labeling.Eigenvector, labeling.Harmonic, labeling.PageRank, labeling.WL,
	}
}

// choose compares labelings on all graphs of a pipeline, which it holds in memory. It returns the one with
// the smallest θ̂, of equal ones the first, and an estimate of each.
func (c *comparison) choose(ctx context.Context, in flow.Pipeline, labelings []labeling.Labeling, pairs int, seed uint64) (labeling.Labeling, []estimate, error) {
	var all sinks.Collect
	defer all.Release()
	err := in.To(&all).Run(ctx)
	if err == nil {
		err = eachGraph(ctx, all.Records(), func(g *graph.Graph) error { c.graphs = append(c.graphs, g); return nil })
	}
	if err != nil {
		return nil, nil, err
	}
	if err := c.draw(pairs, seed); err != nil {
		return nil, nil, err
	}
	if err := c.run(ctx, labelings); err != nil {
		return nil, nil, err
	}
	table, best := c.estimates()
	if best < 0 {
		return nil, table, fmt.Errorf("every labeling failed; the first: %w", c.candidates[0].err)
	}
	return labelings[best], table, nil
}

// draw draws the roots of all pairs independently and uniformly from all nodes of the collection, with
// replacement.
func (c *comparison) draw(pairs int, seed uint64) error {
	ends := make([]int64, len(c.graphs)) // cumulated numbers of nodes
	total := int64(0)
	for i, g := range c.graphs {
		total += int64(g.N())
		ends[i] = total
	}
	if total == 0 {
		return errors.New("no graph has a node")
	}
	rng := rand.New(rand.NewPCG(seed, 0x7e7a)) // a random stream of its own under the seed
	c.pairs = make([][2]root, pairs)
	for i := range c.pairs {
		for j := range c.pairs[i] {
			x := rng.Int64N(total)
			g, _ := slices.BinarySearch(ends, x+1)
			c.pairs[i][j] = root{int32(g), int32(x - ends[g] + int64(c.graphs[g].N()))}
		}
	}
	return nil
}

// run makes the fields of all pairs. The error is the cause of the end of the context. An error of one
// candidate, such as of labeling.Eigenvector, is an error of this candidate alone.
func (c *comparison) run(ctx context.Context, labelings []labeling.Labeling) error {
	for _, g := range c.graphs {
		c.indexes = append(c.indexes, sync.OnceValue(func() *field.Index {
			ix := field.NewIndex(g, field.Both)
			ix.SetBound(c.bound)
			return ix
		}))
	}
	for _, by := range labelings {
		c.candidates = append(c.candidates, &candidate{by: by, distance: make([]int32, len(c.pairs)), failed: len(c.pairs)})
	}
	workers := max(1, min(c.workers, len(c.pairs))) // more have no pair
	return each(ctx, workers, workers, func(ctx context.Context, first int) error {
		w := newPairs(ctx, c)
		for i := first; i < len(c.pairs) && ctx.Err() == nil; i += workers {
			w.pair(i)
			c.bar.Add(1)
		}
		for i, l := range c.candidates {
			l.mu.Lock()
			stats := w.norms[i].Stats
			l.fields += stats.Fields
			l.budget += stats.CropFallback + stats.Refined + stats.Partial
			l.mu.Unlock()
		}
		return nil
	})
}

// pairs is the working memory of one worker.
type pairs struct {
	*comparison
	walk  field.Assembler
	norms []field.Normalizer // by candidate
	cut   *field.Normalizer  // nil if each candidate crops for itself
	ends  [2]end
}

// end is one of the two fields of a pair.
type end struct {
	ix      *field.Index
	hood    []int32
	dist    []uint8
	members []int32
	err     error // of the crop
}

func newPairs(ctx context.Context, c *comparison) *pairs {
	w := &pairs{comparison: c}
	for _, l := range c.candidates {
		w.norms = append(w.norms, field.Normalizer{K: c.k, By: l.by, Context: ctx})
	}
	if c.crop != nil {
		w.cut = &field.Normalizer{K: c.k, By: c.crop, Context: ctx}
	}
	for i := range w.ends {
		w.ends[i].members = make([]int32, c.k)
	}
	return w
}

// pair makes both fields of a pair for every candidate.
func (w *pairs) pair(i int) {
	for j := range w.ends {
		w.assemble(&w.ends[j], w.comparison.pairs[i][j])
	}
	for at, l := range w.candidates {
		start := time.Now()
		err := w.normalize(&w.norms[at], i)
		spent := time.Since(start)
		distance, entries := 0, 0
		if err == nil {
			distance, entries = hamming(&w.ends[0], &w.ends[1])
		}
		l.mu.Lock()
		l.distance[i] = int32(distance)
		l.entries += entries
		l.spent += spent
		if err != nil && i < l.failed {
			l.failed, l.err = i, err
		}
		l.mu.Unlock()
	}
}

func (w *pairs) normalize(norm *field.Normalizer, i int) error {
	for j := range w.ends {
		e := &w.ends[j]
		err := e.err
		if err == nil {
			err = norm.Normalize(e.ix, e.hood, e.dist, nil, e.members)
		}
		if err != nil {
			return fmt.Errorf("graph %d, root %d: %w", w.comparison.pairs[i][j].graph, w.comparison.pairs[i][j].node, err)
		}
	}
	return nil
}

// assemble gathers the neighbourhood of a root, and crops it where one labeling does so for all.
func (w *pairs) assemble(e *end, at root) {
	e.ix = w.indexes[at.graph]()
	hood, dist := w.walk.Assemble(e.ix, at.node, w.k)
	e.hood, e.dist, e.err = append(e.hood[:0], hood...), append(e.dist[:0], dist...), nil
	if w.cut == nil || len(hood) <= w.k {
		return
	}
	if e.err = w.cut.Normalize(e.ix, e.hood, e.dist, nil, e.members); e.err != nil {
		return
	}
	// The nodes that stay keep their order, by distance and number.
	n := 0
	for i, v := range e.hood {
		if slices.Contains(e.members, v) {
			e.hood[n], e.dist[n] = v, e.dist[i]
			n++
		}
	}
	e.hood, e.dist = e.hood[:n], e.dist[:n]
}

// hamming returns the number of entries in which the adjacency matrices of two fields differ, and the
// number of nonzero entries of both. O(k² log degree).
func hamming(a, b *end) (distance, entries int) {
	for i := range a.members {
		for j := range a.members {
			x, y := a.joined(i, j), b.joined(i, j)
			if x != y {
				distance++
			}
			if x {
				entries++
			}
			if y {
				entries++
			}
		}
	}
	return distance, entries
}

// joined reports whether there is an edge from member i to member j.
func (e *end) joined(i, j int) bool {
	u, v := e.members[i], e.members[j]
	return u >= 0 && v >= 0 && u != v && e.ix.Graph().Entry(u, v) >= 0
}

// estimates returns an estimate of each candidate, and the index of the best, -1 if all failed. The least
// of several estimates has a negative bias.
func (c *comparison) estimates() (table []estimate, best int) {
	best = -1
	for i, l := range c.candidates {
		e := estimate{Labeling: l.by.String(), Seconds: l.spent.Seconds(), Fallback: l.budget}
		if l.err != nil {
			e.Error = l.err.Error()
		} else {
			theta, se := meanAndError(l.distance, nil)
			entries := float64(l.entries) / float64(2*len(c.pairs))
			e.Theta, e.SE, e.Entries = &theta, &se, &entries
			if best < 0 || theta < *table[best].Theta {
				best = i
			}
		}
		table = append(table, e)
	}
	for i := range table {
		if table[i].Error == "" {
			diff, se := meanAndError(c.candidates[i].distance, c.candidates[best].distance)
			table[i].Diff, table[i].DiffSE = &diff, &se
		}
	}
	return table, best
}

// meanAndError returns the mean of x − y and its standard error; a nil y is zeros. The sums are exact, so
// the result does not depend on their order.
func meanAndError(x, y []int32) (mean, se float64) {
	var sum, squares int64
	for i := range x {
		v := int64(x[i])
		if y != nil {
			v -= int64(y[i])
		}
		sum += v
		squares += v * v
	}
	n := float64(len(x))
	mean = float64(sum) / n
	return mean, math.Sqrt(max(0, (float64(squares)-mean*float64(sum))/(n-1)) / n)
}
