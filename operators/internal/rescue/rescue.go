// Package rescue turns panics on goroutines of our own into errors: nobody else
// could recover them, and the process would end.
package rescue

import (
	"fmt"
	"sync"
)

// Do calls f and returns why it panicked, if it did. A graph from a damaged file,
// which nobody has checked, is the usual reason.
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
