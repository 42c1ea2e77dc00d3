package pool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// Every worker works, and of two that panic the first by number is told of.
func TestTogether(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		var did atomic.Int64
		if err := Together(workers, func(worker int) { did.Add(1 << worker) }); err != nil || did.Load() != 1<<workers-1 {
			t.Errorf("%d workers: %b, %v", workers, did.Load(), err)
		}
		err := Together(workers, func(worker int) {
			if worker > 0 || workers == 1 {
				panic([]string{"a", "b", "c", "d", "e"}[worker])
			}
		})
		want := "panic: b;"
		if workers == 1 {
			want = "panic: a;"
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d workers: %v, want %q", workers, err, want)
		}
	}
}

// No more workers than tasks, nor than 64 or the processors; none is below 1.
func TestWorkers(t *testing.T) {
	most := max(64, runtime.GOMAXPROCS(0))
	for _, c := range [][3]int{
		{1, 5, 1}, {3, 5, 3}, {9, 5, 5}, {9, 0, 1}, {-1, 5, 1}, {math.MinInt, 5, 1},
		{0, 1 << 30, runtime.GOMAXPROCS(0)}, {1 << 20, 1 << 30, most}, {math.MaxInt, math.MaxInt, most},
	} {
		if got := Workers(c[0], c[1]); got != c[2] {
			t.Errorf("%d asked for, %d tasks: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// Each does every task once. Of several that fail, or panic, the lowest is told of, if
// it was not ended on account of another; and the end of the context before them all.
func TestEach(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		var did [50]atomic.Int32
		if err := Each(t.Context(), workers, len(did), func(_ context.Context, worker, i int) error {
			if did[i].Add(1); worker < 0 || worker >= workers {
				t.Errorf("worker %d of %d", worker, workers)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		for i := range did {
			if n := did[i].Load(); n != 1 {
				t.Errorf("%d workers: task %d was done %d times", workers, i, n)
			}
		}
		err := Each(t.Context(), workers, 100, func(ctx context.Context, _, i int) error {
			switch {
			case i == 20:
				return fmt.Errorf("task %d", i)
			case i == 25:
				panic("another")
			case i == 19 && workers > 1: // as long as another takes to fail
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		if err == nil || err.Error() != "task 20" {
			t.Errorf("%d workers: %v, want task 20", workers, err)
		}
		err = Each(t.Context(), workers, 100, func(_ context.Context, _, i int) error {
			if i >= 10 {
				panic(i)
			}
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), "panic: 10;") {
			t.Errorf("%d workers: %v, want the panic of task 10", workers, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("the reason")
		err = Each(ctx, workers, 100, func(ctx context.Context, _, i int) error {
			if i == 3 {
				cancel(reason)
			}
			return ctx.Err()
		})
		if err != reason {
			t.Errorf("%d workers: %v, want the cause", workers, err)
		}
	}
}
