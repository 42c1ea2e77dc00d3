// Package pool runs tasks on several goroutines. It bounds their number in one place, and converts a
// panic on such a goroutine, which a caller cannot recover, to an error.
package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// most bounds the goroutines of one computation, unless there are more processors. Each goroutine has its own
// memory, and more of them gain nothing.
const most = 64

// Workers returns the number of goroutines for tasks: asked, 0 = one per processor, but at most one per task,
// and at most 64, or one per processor if that is more.
func Workers(asked, tasks int) int {
	processors := runtime.GOMAXPROCS(0)
	return max(1, min(cmp.Or(asked, processors), tasks, max(most, processors)))
}

// Do calls f and converts a panic to an error. The usual cause is a damaged graph that was not checked.
func Do(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v; graph.Graph.Check, or operators.Check, tells what is wrong with a graph", p)
		}
	}()
	f()
	return nil
}

// Together calls work on that many goroutines, the calling one included, and waits for all. If several panic,
// the error is that of the lowest worker.
func Together(workers int, work func(worker int)) error {
	failed := make([]error, workers)
	var others sync.WaitGroup
	for i := range workers - 1 {
		others.Go(func() { failed[i] = Do(func() { work(i) }) })
	}
	failed[workers-1] = Do(func() { work(workers - 1) })
	others.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// Each calls task with 0 to tasks-1, begun in order, on Workers(asked, tasks) goroutines. If a task fails or
// panics, no other task begins, and the context of the running tasks ends. The error is that of ctx, or of
// the lowest failed task.
func Each(ctx context.Context, asked, tasks int, task func(ctx context.Context, worker, i int) error) error {
	workers := Workers(asked, tasks)
	if workers == 1 {
		return one(ctx, tasks, task)
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	lowest := tasks
	fail := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if i < lowest && (failed == nil || !errors.Is(err, context.Canceled)) {
			lowest, failed = i, err
		}
		stop()
	}
	_ = Together(workers, func(worker int) {
		for work.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= tasks {
				return
			}
			var err error
			if panicked := Do(func() { err = task(work, worker, i) }); panicked != nil || err != nil {
				fail(i, cmp.Or(panicked, err))
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failed
}

// one is Each on the calling goroutine, without allocations.
func one(ctx context.Context, tasks int, task func(ctx context.Context, worker, i int) error) (err error) {
	panicked := Do(func() {
		for i := 0; i < tasks && err == nil && ctx.Err() == nil; i++ {
			err = task(ctx, 0, i)
		}
	})
	return cmp.Or(context.Cause(ctx), panicked, err)
}
