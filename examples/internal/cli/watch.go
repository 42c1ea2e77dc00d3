package cli

import (
	"time"

	"github.com/sanflow/sanflow/flow"
)

// Watch calls f with the statistics of a run now and then, until it ends. The
// error of the run is for the caller to ask for.
func Watch(r *flow.Running, f func(flow.Stats)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Wait()
	}()
	for {
		select {
		case <-done:
			return
		case <-time.After(100 * time.Millisecond):
			if s := r.Stats(); len(s.Stages) > 0 {
				f(s)
			}
		}
	}
}
