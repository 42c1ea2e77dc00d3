package theta

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// comparison is a comparison under way. Workers take pairs in any order and
// write what they find to the place of the pair.
type comparison struct {
	Options
	graphs     []*graph.Graph
	candidates []labeling.Labeling
	pairs      [][2]root
	indexes    []func() *field.Index // by graph, made when first asked for
	progress   sync.Mutex
	done       int
	results    []result // by candidate
}

// result is what the workers know of a candidate.
type result struct {
	distance []int32 // of each pair
	entries  atomic.Int64
	nanos    atomic.Int64

	mu     sync.Mutex
	stats  field.Stats
	failed atomic.Int64 // the first pair that failed so far
	err    error        // why it failed
}

func newComparison(graphs []*graph.Graph, candidates []labeling.Labeling, pairs [][2]root, o Options) *comparison {
	c := &comparison{Options: o, graphs: graphs, candidates: candidates, pairs: pairs}
	c.indexes = make([]func() *field.Index, len(graphs))
	for i, g := range graphs {
		c.indexes[i] = sync.OnceValue(func() *field.Index {
			ix := field.NewIndex(g, o.Direction)
			ix.SetBound(o.Bound)
			return ix
		})
	}
	c.results = make([]result, len(candidates))
	for i := range c.results {
		c.results[i].distance = make([]int32, len(pairs))
		c.results[i].failed.Store(int64(len(pairs)))
	}
	return c
}

// run hands the pairs to the workers. The error is that of the context, or that
// of a panic, which ends the other workers too.
func (c *comparison) run(ctx context.Context) error {
	workers := make([]*worker, pool.Workers(c.Workers, len(c.pairs)))
	err := pool.Each(ctx, c.Workers, len(c.pairs), func(ctx context.Context, at, i int) error {
		if workers[at] == nil {
			workers[at] = newWorker(ctx, c)
		}
		workers[at].pair(i)
		c.report()
		return nil
	})
	if ctx.Err() == nil && err != nil {
		err = fmt.Errorf("theta: %w", err)
	}
	for _, w := range workers {
		if w != nil {
			w.close()
		}
	}
	return err
}

func (c *comparison) report() {
	if c.Progress == nil {
		return
	}
	c.progress.Lock()
	defer c.progress.Unlock()
	c.done++
	c.Progress(c.done, len(c.pairs))
}

// fail notes that candidate l failed at pair i. Of several failures the first
// in the order of the pairs stays, whatever worker was quicker.
func (r *result) fail(i int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if int64(i) < r.failed.Load() {
		r.failed.Store(int64(i))
		r.err = err
	}
}

// worker has the working memory of one goroutine.
type worker struct {
	*comparison
	walk  field.Assembler
	norms []field.Normalizer // by candidate
	crop  *field.Normalizer  // nil where each candidate cuts for itself
	ends  [2]end
}

// end is one of the two fields of a pair.
type end struct {
	ix      *field.Index
	hood    []int32
	dist    []uint8
	members []int32
	err     error // of Options.Crop
}

func newWorker(ctx context.Context, c *comparison) *worker {
	normalizer := func(by labeling.Labeling) field.Normalizer {
		return field.Normalizer{K: c.K, By: by, IgnoreAttributes: c.IgnoreAttributes, Uniform: c.Uniform, Context: ctx}
	}
	w := &worker{comparison: c}
	for _, l := range c.candidates {
		w.norms = append(w.norms, normalizer(l))
	}
	if !c.OwnCrop {
		n := normalizer(c.Crop)
		w.crop = &n
	}
	for i := range w.ends {
		w.ends[i].members = make([]int32, c.K)
	}
	return w
}

// pair makes both fields of a pair for every candidate.
func (w *worker) pair(i int) {
	for j := range w.ends {
		w.assemble(&w.ends[j], w.pairs[i][j])
	}
	for l := range w.norms {
		r := &w.results[l]
		if int64(i) > r.failed.Load() {
			continue
		}
		start := time.Now()
		err := w.normalize(&w.norms[l], i)
		r.nanos.Add(int64(time.Since(start)))
		if err != nil {
			r.fail(i, err)
			continue
		}
		distance, entries := hamming(&w.ends[0], &w.ends[1])
		r.distance[i] = distance
		r.entries.Add(int64(entries))
	}
}

func (w *worker) normalize(norm *field.Normalizer, i int) error {
	for j := range w.ends {
		e := &w.ends[j]
		err := e.err
		if err == nil {
			err = norm.Normalize(e.ix, e.hood, e.dist, nil, e.members)
		}
		if err != nil {
			return fmt.Errorf("graph %d, root %d: %w", w.pairs[i][j].graph, w.pairs[i][j].node, err)
		}
	}
	return nil
}

// assemble gathers the neighbourhood of a root, and cuts it where one labeling
// does that for all.
func (w *worker) assemble(e *end, at root) {
	e.ix = w.indexes[at.graph]()
	hood, dist := w.walk.Assemble(e.ix, at.node, w.K)
	e.hood = append(e.hood[:0], hood...)
	e.dist = append(e.dist[:0], dist...)
	e.err = nil
	if w.crop == nil || len(hood) <= w.K {
		return
	}
	if e.err = w.crop.Normalize(e.ix, e.hood, e.dist, nil, e.members); e.err != nil {
		return
	}
	kept := make(map[int32]bool, w.K)
	for _, v := range e.members {
		kept[v] = true
	}
	// What stays keeps its order, by distance and number.
	n := 0
	for i, v := range e.hood {
		if kept[v] {
			e.hood[n], e.dist[n] = v, e.dist[i]
			n++
		}
	}
	e.hood, e.dist = e.hood[:n], e.dist[:n]
}

// close hands over the statistics.
func (w *worker) close() {
	for l := range w.norms {
		r := &w.results[l]
		r.mu.Lock()
		r.stats.Add(w.norms[l].Stats)
		r.mu.Unlock()
	}
}
