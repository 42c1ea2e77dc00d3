package cli

import (
	"context"
	"sync"
	"time"

	"github.com/sanflow/sanflow/flow"
)

// Watch calls f with the statistics of a run every 100 ms, until the run ends. It does not return the
// error of the run.
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

// Run runs a pipeline with a progress bar. at returns the position of the bar from the statistics of the
// stages. Run returns the statistics at the end.
func Run(ctx context.Context, p flow.Pipeline, what string, total int64, at func([]flow.StageStats) int64) (flow.Stats, error) {
	bar := NewProgress(what, total)
	defer bar.Done()
	running := p.Start(ctx)
	Watch(running, func(s flow.Stats) { bar.Set(at(s.Stages)) })
	err := running.Wait()
	return running.Stats(), Cause(ctx, err)
}

// Last is the number of rows that reached the last stage, for Run.
func Last(stages []flow.StageStats) int64 { return stages[len(stages)-1].RowsIn }

// Cause returns the cause of the end of a context, if the context has ended, in place of err.
func Cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// shown is the bar of the stage that Stages shows.
var shown struct {
	mu    sync.Mutex
	bar   *Progress
	stage string
}

// Stages shows the progress of several stages, one bar after the other, of the whole process: a stage ends
// the bar of the one before, whoever began it, since not every source knows its end. A total of -1 is
// unknown. The stage "" removes the last bar. Any goroutine may call the function.
func Stages(stage string, done, total int64) {
	shown.mu.Lock()
	defer shown.mu.Unlock()
	if stage != shown.stage {
		shown.bar.Done()
		if shown.bar, shown.stage = nil, stage; stage != "" {
			shown.bar = NewProgress(stage, total)
		}
	}
	shown.bar.Total(total)
	shown.bar.Set(done)
}
