// Package pool runs tasks on several goroutines. It is the one place that bounds how
// many, and it turns a panic on such a goroutine, which a caller cannot recover, into
// an error.
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

// most is how many goroutines share a piece of work, if there are fewer
// processors: each has working memory of its own, and more gain nothing.
const most = 64

// Workers returns how many goroutines share so many tasks: those asked for, 0 = one
// per processor, but at most one per task, and at most 64, or one per processor where
// that is more.
func Workers(asked, tasks int) int {
	processors := runtime.GOMAXPROCS(0)
	return max(1, min(cmp.Or(asked, processors), tasks, max(most, processors)))
}

// Do calls f and returns why it panicked, if it did. A graph from a damaged file,
// which was not checked, is the usual reason.
func Do(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v; graph.Graph.Check, or operators.Check, tells what is wrong with a graph", p)
		}
	}()
	f()
	return nil
}

// Together calls work on so many goroutines, this one among them, and waits for all. Of
// several that panicked the error is that of the worker with the lowest number.
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

// Each calls task with 0 to tasks-1, begun in order, on as many goroutines as Workers
// says. If a task fails, or panics, no other begins, and the context of those that run
// ends. The error is that of ctx, or else of the lowest task that failed.
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

// one is Each on this goroutine: what is small costs no other, and no allocation.
func one(ctx context.Context, tasks int, task func(ctx context.Context, worker, i int) error) (err error) {
	panicked := Do(func() {
		for i := 0; i < tasks && err == nil && ctx.Err() == nil; i++ {
			err = task(ctx, 0, i)
		}
	})
	return cmp.Or(context.Cause(ctx), panicked, err)
}
