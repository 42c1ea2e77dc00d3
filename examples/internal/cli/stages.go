package cli

import "sync"

// Stages returns a function that shows how far each of several stages of work is, one
// bar after the other. A total of -1 is unknown; the stage "" takes the
// last bar away. Any goroutine may call it.
func Stages() func(stage string, done, total int64) {
	var mu sync.Mutex
	var bar *Progress
	var now string
	return func(stage string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if stage != now {
			bar.Done()
			if bar, now = nil, stage; stage != "" {
				bar = NewProgress(stage, total)
			}
		}
		bar.Total(total)
		bar.Set(done)
	}
}
