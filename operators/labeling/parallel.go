package labeling

import (
	"cmp"
	"context"

	"github.com/sanflow/sanflow/internal/pool"
)

// piece is the number of nodes that a goroutine takes at once: few enough to
// look at the context often, enough that taking them costs nothing.
const piece = 1 << 13

// workersFor returns how many goroutines share the n nodes of a graph.
func workersFor(n int) int { return pool.Workers(0, (n+piece-1)/piece) }

// pieces calls do for all of 0 … n-1, piece by piece, on at most that many goroutines,
// and returns the error of the context, or a panic of do.
func (in Input) pieces(workers, n int, do func(begin, end int)) error {
	return in.each(workers, (n+piece-1)/piece, func(_, i int) { do(i*piece, min((i+1)*piece, n)) })
}

// each calls task with 0 to tasks-1 and the number of the goroutine, of which there are
// pool.Workers, and returns the error of the context, or a panic.
func (in Input) each(asked, tasks int, task func(worker, i int)) error {
	return pool.Each(cmp.Or(in.Context, context.Background()), asked, tasks, func(_ context.Context, worker, i int) error {
		task(worker, i)
		return nil
	})
}
