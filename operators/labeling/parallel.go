package labeling

import (
	"runtime"
	"sync/atomic"

	"github.com/sanflow/sanflow/operators/internal/rescue"
)

// piece is the number of nodes that a goroutine takes at once: few enough to
// look at the context often, enough that taking them costs nothing.
const piece = 1 << 13

// workersFor returns how many goroutines share the n nodes of a graph, where the
// user has said how many, or 0.
func workersFor(workers, n int) int {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return max(1, min(workers, (n+piece-1)/piece))
}

// pieces calls do for all of 0 … n-1, piece by piece, on that many goroutines,
// and returns the error of the context, or a panic of do.
func (in Input) pieces(workers, n int, do func(begin, end int)) error {
	var next atomic.Int64
	return together(workers, func(int) {
		for {
			begin := int(next.Add(piece)) - piece
			if begin >= n || in.Err() != nil {
				return
			}
			do(begin, min(begin+piece, n))
		}
	}, in.Err)
}

// together calls work on that many goroutines, this one among them, waits, and
// returns the first panic, or what end says.
func together(workers int, work func(worker int), end func() error) error {
	if workers == 1 {
		work(0)
		return end()
	}
	if err := rescue.Together(workers, work); err != nil {
		return err
	}
	return end()
}
