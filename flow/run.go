package flow

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

const (
	graphID   = record.GraphID
	posColumn = record.Pos
)

// run is what the stages of one running pipeline share.
type run struct {
	caller context.Context // it ends before ctx does, which is made from it
	ctx    context.Context
	cancel context.CancelCauseFunc
	opts   Options
	track  *tracker
	tasks  sync.WaitGroup // the goroutines of a pipeline

	mu    sync.Mutex
	first error

	letters sync.Mutex // one call of Options.DeadLetters at a time
}

func newRun(caller context.Context, opts Options) *run {
	ctx, cancel := context.WithCancelCause(caller)
	return &run{caller: caller, ctx: ctx, cancel: cancel, opts: opts.withDefaults(), track: newTracker()}
}

// fail keeps the first error and ends the run: from now on every stage
// releases what it receives, until its input is closed.
func (r *run) fail(err error) {
	if err == nil || errors.Is(err, errStopped) {
		return
	}
	// A stage that gave up since the context has ended says just that; the
	// caller wants to hear why it has.
	if why := context.Cause(r.ctx); why != nil && errors.Is(err, r.ctx.Err()) && !errors.Is(err, why) {
		stage, graph := "run", int64(NoGraph)
		var e *Error
		if errors.As(err, &e) {
			stage, graph = e.Stage, e.Graph
		}
		err = &Error{Stage: stage, Graph: graph, Err: why}
	}
	r.mu.Lock()
	if r.first == nil {
		r.first = err
	}
	r.mu.Unlock()
	r.cancel(err)
}

func (r *run) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

// stopped reports whether the run has ended before its time. A caller that
// drops something because of it has lost it, so the reason is kept.
func (r *run) stopped() bool {
	// A stage may have heard of the end of the caller's context before this run has.
	if r.ctx.Err() == nil && r.caller.Err() == nil {
		return false
	}
	why := context.Cause(r.ctx)
	if why == nil {
		why = context.Cause(r.caller)
	}
	r.fail(&Error{Stage: "run", Graph: NoGraph, Err: why})
	return true
}

// guard calls f, which is code of that stage, and returns its error, or its
// panic as one. If f ends the goroutine, the run fails.
func (r *run) guard(stage string, f func() error) error {
	return at(stage, guard(f, func(err error) { r.fail(at(stage, err)) }))
}

// letter returns the letter of a row that a stage refuses, which owns its row;
// where the policy is to stop, or the stage is at fault, it returns the error.
func (r *run) letter(c *counter, rec arrow.Record, row int, err error) (Letter, error) {
	if err == nil {
		err = errors.New("the stage gave no reason")
	}
	if row < 0 || row >= int(rec.NumRows()) {
		return Letter{}, at(c.stage, fmt.Errorf("refused row %d of %d: %w", row, rec.NumRows(), err))
	}
	l := Letter{
		Stage: c.stage,
		Graph: cell(rec, graphID, row),
		Pos:   cell(rec, posColumn, row),
		Err:   err,
	}
	c.refuse(l)
	if r.opts.Refused == Stop {
		return Letter{}, &Error{Stage: l.Stage, Graph: l.Graph, Err: err}
	}
	l.Row = rec.NewSlice(int64(row), int64(row)+1)
	return l, nil
}

// deliver sends letters to the dead-letter function and releases them. done takes back the claims
// of their rows.
func (r *run) deliver(letters []Letter, done bool) {
	defer func() {
		for _, l := range letters {
			l.Row.Release()
		}
	}()
	for _, l := range letters {
		if r.opts.Refused == Keep && !r.stopped() {
			r.deadLetter(l)
		}
		if done && !r.stopped() {
			r.track.done(l.Row)
		}
	}
}

func (r *run) deadLetter(l Letter) {
	r.letters.Lock()
	defer r.letters.Unlock()
	r.fail(r.guard(deadLetters, func() error { return r.opts.DeadLetters(l) }))
}
