// Package fieldjob makes the receptive fields of graphs by the roots, on
// several goroutines, in order: what the examples fields and throughput share.
//
// A pipeline works row by row, a graph or a piece of one at a time. Here all
// pieces of a graph share one index, however few roots a piece has.
package fieldjob

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Job is the fields of one graph.
type Job struct {
	ID     int64
	Graph  *graph.Graph
	Roots  []int32
	Labels []float64              // of the whole graph, for -scope global; else nil
	Name   func(node int32) int32 // what a node is called; nil: by its number

	once  sync.Once
	index *field.Index
}

// ix makes the index when the first chunk needs it.
func (j *Job) ix() *field.Index {
	j.once.Do(func() { j.index = field.NewIndex(j.Graph, field.Both) })
	return j.index
}

// Runner makes fields. Its memory serves all calls of Run.
type Runner struct {
	K       int
	By      labeling.Labeling
	Workers int // at least 1
	// Encode, if set, is called with every finished chunk by the worker that
	// made it.
	Encode func(*Chunk) error
	// Emit, if set, is called with the chunks in the order of jobs and roots,
	// one at a time.
	Emit func(*Chunk) error
	// Done, if set, is called with the number of fields of each chunk.
	Done func(fields int64)

	// Stats and Seconds add up over all runs.
	Stats   field.Stats
	Seconds float64

	workers []*worker
	cache   *field.Cache // shared by the workers
	spare   sync.Pool
}

// cacheBytes bounds the finished fields that are remembered.
const cacheBytes = 64 << 20

// Run makes the fields of all roots of all jobs. No more chunks than four per
// worker exist at a time. An error, or the end of ctx, stops it within a few
// fields.
func (r *Runner) Run(ctx context.Context, jobs []*Job) error {
	start := time.Now()
	defer func() { r.Seconds += time.Since(start).Seconds() }()
	if r.cache == nil {
		r.cache = field.NewCache(cacheBytes)
	}
	for len(r.workers) < r.Workers {
		r.workers = append(r.workers, newWorker(r.K, r.By))
	}
	for _, w := range r.workers {
		w.norm.Cache = r.cache
	}
	defer func() {
		for _, w := range r.workers {
			r.Stats.Add(w.norm.Stats)
			w.norm.Stats = field.Stats{}
		}
	}()
	if r.Workers == 1 {
		return r.alone(ctx, jobs)
	}
	outer := ctx
	eg, ctx := errgroup.WithContext(ctx)
	work := make(chan *Chunk, 3*r.Workers) // nobody waits for a rendezvous
	order := make(chan *Chunk, 3*r.Workers)
	eg.Go(func() error {
		defer close(work)
		defer close(order)
		size := chunkSize(r.K)
		for _, j := range jobs {
			for lo := 0; lo < len(j.Roots); lo += size {
				c := r.chunk(j, j.Roots[lo:min(lo+size, len(j.Roots))])
				for _, to := range []chan<- *Chunk{order, work} {
					select {
					case to <- c:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
			}
		}
		return nil
	})
	for _, w := range r.workers {
		eg.Go(func() error {
			for c := range work {
				if err := w.make(ctx, c); err != nil {
					return err
				}
				if r.Encode != nil {
					if err := r.Encode(c); err != nil {
						return err
					}
				}
				close(c.ready)
			}
			return nil
		})
	}
	eg.Go(func() error {
		for c := range order {
			select {
			case <-c.ready:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if r.Emit != nil {
				if err := r.Emit(c); err != nil {
					return err
				}
			}
			if r.Done != nil {
				r.Done(int64(len(c.Roots)))
			}
			r.spare.Put(c)
		}
		return nil
	})
	err := eg.Wait()
	if err != nil && outer.Err() != nil { // whichever stage noticed first
		return context.Cause(outer)
	}
	return err
}

// Forget empties the cache, so that making the same fields once more is work and
// not a look-up.
func (r *Runner) Forget() { r.cache = nil }

// alone is Run for one worker, which needs no other goroutine.
func (r *Runner) alone(ctx context.Context, jobs []*Job) error {
	size := chunkSize(r.K)
	for _, j := range jobs {
		for lo := 0; lo < len(j.Roots); lo += size {
			c := r.chunk(j, j.Roots[lo:min(lo+size, len(j.Roots))])
			if err := r.workers[0].make(ctx, c); err != nil {
				return err
			}
			for _, then := range []func(*Chunk) error{r.Encode, r.Emit} {
				if then == nil {
					continue
				}
				if err := then(c); err != nil {
					return err
				}
			}
			if r.Done != nil {
				r.Done(int64(len(c.Roots)))
			}
			r.spare.Put(c)
		}
	}
	return nil
}

// chunkSize is the number of roots that are handed out at once: enough to be
// worth waking somebody up, and at most half a megabyte of edges, which stay in
// the nearer caches (BenchmarkWorkers). It must not depend on the workers, since
// it shows in the records of an Arrow file.
func chunkSize(k int) int { return max(1, min(512, 1<<17/(k*k))) }

func (r *Runner) chunk(j *Job, roots []int32) *Chunk {
	c, ok := r.spare.Get().(*Chunk)
	if !ok {
		c = &Chunk{K: r.K}
	}
	c.Job, c.Roots, c.ready = j, roots, make(chan struct{})
	return c
}
